from __future__ import annotations

from treewright.corpora import Token
from treewright.dependency.templates import WORD_ATTRIBUTES
from treewright.dependency.words import NOTHING_ROW, ROOT_ROW, WordTable

KNOWN = {"dog", "bark"}


def seen(table, token, attribute):
    [row] = table.numbers([token])
    return table.array()[row, WORD_ATTRIBUTES.index(attribute)]


def test_a_word_has_a_row_for_each_annotation():
    table = WordTable(KNOWN)
    noun, verb = Token("dog", upos="NOUN"), Token("dog", upos="VERB")
    assert table.numbers([noun, verb, noun]) == [2, 3, 2]
    assert len(table) == 4
    assert seen(table, noun, "w") == seen(table, verb, "w")
    assert seen(table, noun, "u") != seen(table, verb, "u")
    assert seen(table, noun, "wt") != seen(table, verb, "wt")


def test_rows_for_the_root_and_for_nothing():
    table = WordTable(KNOWN)
    assert {NOTHING_ROW, ROOT_ROW} == {0, 1}
    assert (table.array()[NOTHING_ROW] != table.array()[ROOT_ROW]).all()


def test_rare_words_look_the_same_but_for_suffix_and_capitals():
    table = WordTable(KNOWN)
    cat, frog = Token("cat", "cat"), Token("FROG", "frog")
    assert seen(table, cat, "w") == seen(table, frog, "w") != seen(table, Token("Dog"), "w")
    assert seen(table, cat, "m") == seen(table, frog, "m")
    assert seen(table, cat, "s") != seen(table, frog, "s")
    assert seen(table, cat, "c") != seen(table, frog, "c")


def test_the_tag_is_xpos_or_else_upos():
    table = WordTable(KNOWN)
    assert seen(table, Token("dog", upos="NOUN"), "t") == seen(table, Token("dog", upos="X", xpos="NOUN"), "t")
    assert seen(table, Token("dog", upos="NOUN", xpos="NN"), "t") != seen(table, Token("dog", upos="NOUN"), "t")


def test_head_and_relation_do_not_matter():
    table = WordTable(KNOWN)
    assert table.numbers([Token("dog", head=1, deprel="obj"), Token("dog", head=2, deprel="nsubj")]) == [2, 2]


def test_the_table_grows():
    table = WordTable(KNOWN)
    numbers = table.numbers([Token(str(k)) for k in range(3000)])
    assert numbers == list(range(2, 3002))
    assert len(table.array()) == 3002
