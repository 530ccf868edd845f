from __future__ import annotations

from treewright.corpora import Token
from treewright.dependency.templates import WORD_ATTRIBUTES
from treewright.dependency.words import NOTHING_ROW, ROOT_ROW, word_rows

KNOWN = {"dog", "bark"}


def seen(token, attribute):
    [row], table = word_rows([token], KNOWN)
    return table[row, WORD_ATTRIBUTES.index(attribute)]


def test_a_word_has_a_row_for_each_annotation():
    noun, verb = Token("dog", upos="NOUN"), Token("dog", upos="VERB")
    rows, table = word_rows([noun, verb, noun], KNOWN)
    assert rows.tolist() == [2, 3, 2]
    assert table.shape == (4, len(WORD_ATTRIBUTES))
    assert seen(noun, "w") == seen(verb, "w")
    assert seen(noun, "u") != seen(verb, "u")
    assert seen(noun, "wt") != seen(verb, "wt")


def test_rows_for_the_root_and_for_nothing():
    _, table = word_rows([], KNOWN)
    assert {NOTHING_ROW, ROOT_ROW} == {0, 1}
    assert (table[NOTHING_ROW] != table[ROOT_ROW]).all()
    assert table.flags.writeable, "compiled code has another version for arrays that cannot be written"


def test_rare_words_look_the_same_but_for_suffix_and_capitals():
    cat, frog = Token("cat", "cat"), Token("FROG", "frog")
    assert seen(cat, "w") == seen(frog, "w") != seen(Token("Dog"), "w")
    assert seen(cat, "m") == seen(frog, "m")
    assert seen(cat, "s") != seen(frog, "s")
    assert seen(cat, "c") != seen(frog, "c")


def test_the_tag_is_xpos_or_else_upos():
    assert seen(Token("dog", upos="NOUN"), "t") == seen(Token("dog", upos="X", xpos="NOUN"), "t")
    assert seen(Token("dog", upos="NOUN", xpos="NN"), "t") != seen(Token("dog", upos="NOUN"), "t")


def test_head_and_relation_do_not_matter():
    rows, _ = word_rows([Token("dog", head=1, deprel="obj"), Token("dog", head=2, deprel="nsubj")], KNOWN)
    assert rows.tolist() == [2, 2]


def test_many_words():
    rows, table = word_rows([Token(str(k)) for k in range(3000)], KNOWN)
    assert rows.tolist() == list(range(2, 3002))
    assert len(table) == 3002
