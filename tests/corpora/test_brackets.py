from __future__ import annotations

import io
import os
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from treewright.corpora import brackets
from treewright.corpora.brackets import clean_label, clean_tree, format_ptb, parse_ptb, read_ptb, write_ptb
from treewright.corpora.builtin import generate
from treewright.corpora.trees import Tree
from treewright.corpora.types import Sentence, Token
from treewright.errors import CorpusError

DEEP = 100_000
REAL = [
    f"{corpus}/{part}.ptb"
    for corpus, parts in {
        "ptb-wsj-sample": ("train", "dev", "test"),
        "masc-ptb": ("train", "dev", "test", "wsj"),
        "craft-ptb": ("train", "dev", "test"),
    }.items()
    for part in parts
]


def read(text):
    return list(read_ptb(io.BytesIO(text.encode())))


def tree(text):
    [sentence] = read(text)
    return sentence.tree


def cleaned(text, **options):
    found = clean_tree(tree(text), **options)
    return None if found is None else str(found)


EXAMPLE = """\
((S (NP-SBJ-1 (-LRB- -LRB-) (NNS Prices)) (VP (VBD were) (VP (VBN cut) (NP (-NONE- *-1)))) (. .)))
(NN Xpd TTD)
(S=2 (ADVP|PRT-TMP (RB=1 up)) (X (Y (-NONE- 0))))
"""


def test_tree_as_it_is_and_words_without_traces():
    first, second, third = read(EXAMPLE)
    assert first.tree.label == ""
    [clause] = first.tree.children
    assert [child.label for child in clause.children] == ["NP-SBJ-1", "VP", "."]
    assert first.tree.leaves() == ("-LRB-", "Prices", "were", "cut", "*-1", ".")
    assert first.tokens == (
        Token("-LRB-", xpos="-LRB-"), Token("Prices", xpos="NNS"), Token("were", xpos="VBD"), Token("cut", xpos="VBN"),
        Token(".", xpos="."),
    )  # fmt: skip
    assert second == Sentence((Token("Xpd TTD", xpos="NN"),), tree=Tree("NN", ("Xpd TTD",)))
    assert third.tokens == (Token("up", xpos="RB"),)
    assert third.tree.tags() == ("RB=1", "-NONE-")
    assert [(s.path, s.line) for s in (first, second, third)] == [("<stream>", 1), ("<stream>", 2), ("<stream>", 3)]


def test_a_tree_of_traces_has_no_words():
    [sentence] = read("(S (NP (-NONE- *)))")
    assert sentence.tokens == ()
    assert format_ptb(sentence) == "(S (NP (-NONE- *)))\n"


def test_writing_gives_back_what_was_read():
    assert "".join(map(format_ptb, read(EXAMPLE))) == EXAMPLE


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_treebanks_byte_for_byte(real_data, tmp_path, name):
    path = real_data(name)
    write_ptb(read_ptb(path), tmp_path / "again.ptb")
    assert (tmp_path / "again.ptb").read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_real_words(real_data):
    sentences = list(read_ptb(real_data("ptb-wsj-sample/train.ptb")))
    assert sentences[0].forms[:4] == ("Pierre", "Vinken", ",", "61")
    assert sentences[-1].line == len(sentences) == 3068
    for sentence in sentences:
        clean = clean_tree(sentence.tree)
        assert clean.leaves() == sentence.forms
        assert clean.tags() == sentence.column("xpos")
        assert clean_tree(clean) is clean
        labels = {each.label for each in clean.subtrees()}
        assert not [label for label in labels if re.fullmatch(r"[^-].*[-=].*|-NONE-", label)]


@pytest.mark.slow
def test_several_words_under_a_tag_in_a_real_treebank(real_data):
    leaves = [leaf for s in read_ptb(real_data("craft-ptb/train.ptb")) for leaf in s.forms if " " in leaf]
    leaves += [leaf for s in read_ptb(real_data("craft-ptb/test.ptb")) for leaf in s.forms if " " in leaf]
    assert set(leaves) == {"Xpd TTD", "† XPCS", "Xpd †XPCS", "Xpd †XP"}


def test_the_built_in_corpus_comes_back():
    for sentence in generate(50):
        [again] = read(format_ptb(sentence))
        assert again.tree == sentence.tree
        assert again.forms == sentence.forms
        assert again.column("xpos") == sentence.column("xpos")


@pytest.mark.parametrize(
    "text",
    [
        "((S (NP (DT the) (NN cat)) (VP (VBD sat))))",
        "( (S (NP (DT the) (NN cat)) (VP (VBD sat))))",
        "\n\n(\n(S\n(NP\n(DT\nthe\n)\n(NN\ncat\n)\n)\n(VP\n(VBD\nsat\n)\n)\n)\n)\n",
        "(\t( S\t( NP (DT  the )( NN cat))( VP(VBD sat))) ) ",
        "\ufeff((S (NP (DT the) (NN cat))\r\n\t(VP (VBD sat))))\r\n",
        "((S(NP(DT the)(NN cat))(VP(VBD sat))))",
    ],
)
def test_white_space_does_not_matter(text):
    [sentence] = read(text)
    assert format_ptb(sentence) == "((S (NP (DT the) (NN cat)) (VP (VBD sat))))\n"
    assert sentence.line == (3 if text.startswith("\n") else 1)


def test_several_trees_on_a_line():
    sentences = read("(A a)(S (B b)\n (C c)) (D d)\n\n(E e)")
    assert [s.line for s in sentences] == [1, 1, 2, 4]
    assert [str(s.tree) for s in sentences] == ["(A a)", "(S (B b) (C c))", "(D d)", "(E e)"]


def test_sentences_come_as_soon_as_they_are_complete():
    def lines():
        yield "(S (A a)"
        yield "(B b)) (S"
        raise AssertionError("asked for more lines than needed")

    assert next(parse_ptb(lines())).forms == ("a", "b")


@pytest.mark.parametrize(
    "label", ["", "-", "=", "--", "NP-", "@NP^S[1]", "é", "\u3000", "\u2028", "`", '"', "\\/", "#"]
)
def test_labels_may_be_odd(label):
    text = f"({label}{' ' if label else ''}(NN w))\n"
    if label:
        text = text.replace("(NN", f"({label}")
    [sentence] = read(text)
    assert format_ptb(sentence) == text
    assert sentence.tree.label == label


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (A a))\n\n(A a))", "<stream>:3: a closing bracket too many"),
        (")", ":1: a closing bracket too many"),
        ("(A a)\n\n(S (A a)\n(B b)\n", ":3: the tree that begins here has no end: 1 closing bracket(s) missing"),
        ("(S (NP (A a)", ":1: the tree that begins here has no end: 2 closing"),
        ("(A a) (S\n", ":1: the tree that begins here has no end: 1 closing"),
        ("(A a)\n()", ":2: an empty tree, ()"),
        ("(A a)\n(S)", ":2: an empty tree, (S)"),
        ("(S\n())", ":2: an empty tree, ()"),
        ("(" + "S" * 50 + ")", ":1: an empty tree, (" + "S" * 40 + "…)"),
        ("(A a)\nb (C c)", ":2: 'b' stands outside of all brackets"),
        ("# text\n(A a)", ":1: '#' stands outside of all brackets"),
        ("(NP the\n(NN cat))", ":2: a word, 'the', beside a tree under 'NP'; give the word brackets"),
        ("(NP the ((NN cat)))", ":1: a word, 'the', beside a tree under 'NP'"),
        ("(NP (NN cat)\nthe)", ":2: a word, 'the', beside a tree under 'NP'"),
        ("( (NN cat) the)", ":1: a word, 'the', beside a tree under ''"),
        ("(NP (X (NN cat)) " + "b" * 50, ":1: a word, '" + "b" * 40 + "…', beside"),
        ("(A a)\n(A \0)", ":2: a zero byte"),
        ("", "no tree in it: it is empty"),
        ("\n \n", "no tree in it: only blank lines"),
    ],
)
def test_errors_say_what_and_where(text, message):
    with pytest.raises(CorpusError, match=re.escape(message)):
        read(text)


def test_what_comes_before_an_error_is_given():
    sentences = read_ptb(io.StringIO("(A a)\n(B b))"))
    assert [next(sentences).forms, next(sentences).forms] == [("a",), ("b",)]
    with pytest.raises(CorpusError, match=":2: a closing"):
        next(sentences)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (None, "cannot be written as a tree: it has none"),
        (Tree("NP", ("the", "cat")), "the word 'the' has no tag of its own"),
        (Tree("NP", (Tree("DT", ("the",)), "cat")), "the word 'cat' has no tag of its own"),
        (Tree("", ("cat",)), "the tag of the word 'cat' is empty"),
        (Tree("S", (Tree("N N", ("a",)),)), "the label 'N N' has a space"),
        (Tree("(", ("a",)), "the label '(' has"),
        (Tree("N\n", ("a",)), "the label 'N\\n' has"),
        (Tree("NN", ("",)), "the word '' is empty"),
        (Tree("NN", (")",)), "the word ')' is empty, or has a bracket"),
        (Tree("NN", ("a  b",)), "the word 'a  b'"),
        (Tree("NN", (" a",)), "the word ' a'"),
        (Tree("NN", ("a\0",)), "the word 'a\\x00'"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(bad, message, tmp_path):
    good = Sentence((), tree=Tree("A", ("a",)))
    with pytest.raises(CorpusError, match="^x.ptb:7: .*" + re.escape(message)):
        write_ptb([good, Sentence((), tree=bad, path="x.ptb", line=7)], tmp_path / "a.ptb")
    assert os.listdir(tmp_path) == []


characters = st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\0()")
labels = st.sampled_from(["S", "NP-SBJ", "NP=1", "-LRB-", "", "TOP", "X|Y"]) | st.text(characters, max_size=4)
tags = st.sampled_from(["NN", "-NONE-", "NN-TMP", "-RRB-"]) | st.text(characters, min_size=1, max_size=4)
words = st.lists(st.text(characters, min_size=1, max_size=4), min_size=1, max_size=2).map(" ".join)
trees = st.recursive(
    st.builds(lambda tag, word: Tree(tag, (word,)), tags, words),
    lambda children: st.builds(Tree, labels, st.lists(children, min_size=1, max_size=4).map(tuple)),
    max_leaves=15,
)


@given(st.lists(trees, min_size=1, max_size=3))
@example([Tree("", (Tree("", (Tree("", (Tree("A", ("a",)), Tree("", (Tree("A", ("a",)),)))),)),))])
def test_any_tree_that_is_written_is_read_back_equal(corpus):
    target = io.BytesIO()
    write_ptb([Sentence((), tree=each) for each in corpus], target)
    again = read(target.getvalue().decode())
    assert [s.tree for s in again] == corpus
    for sentence in again:
        kept = [p for p in sentence.tree.preterminals() if p.label != "-NONE-"]
        assert sentence.tokens == tuple(Token(p.children[0], xpos=clean_label(p.label)) for p in kept)


@given(trees, st.randoms())
def test_any_white_space_gives_the_same_tree(tree, random):
    pieces = re.findall(r"\([^ ()]*|\)|[^ ()]+", format_ptb(Sentence((), tree=tree)).strip("\n"))
    text = ""
    for piece, after in zip(pieces, [*pieces[1:], ")"], strict=True):
        needed = piece not in "()" and after not in "()" and after[0] != "("
        text += piece + random.choice([" ", "\n", "\t", "  ", "\n\n "] + ([] if needed else [""]))
    assert [sentence.tree for sentence in read(text)] == [tree]


def naive(tree, traces, functions):
    """The slow, obvious twin: the cleaned tree, without regard of the top."""
    label = re.match(r"-.*|=.*|[^-=]*", tree.label, re.DOTALL)[0] if functions else tree.label
    if tree.is_preterminal:
        return None if traces and tree.label == "-NONE-" else Tree(label, tree.children)
    children = tuple(child for child in (naive(child, traces, functions) for child in tree.children) if child)
    return Tree(label, children) if children else None


@given(trees, st.booleans(), st.booleans(), st.booleans())
def test_cleaning_equals_its_recursive_twin(tree, traces, functions, top):
    expected = naive(tree, traces, functions)
    while top and expected and not expected.is_preterminal and len(expected.children) == 1:
        if expected.label not in ("", "TOP", "ROOT", "S1"):
            break
        [expected] = expected.children
    assert clean_tree(tree, traces=traces, functions=functions, top=top) == expected


def test_cleaning():
    text = EXAMPLE.splitlines()[0]
    assert cleaned(text) == "(S (NP (-LRB- -LRB-) (NNS Prices)) (VP (VBD were) (VP (VBN cut))) (. .))"
    assert cleaned(text, top=False, functions=False) == (
        "( (S (NP-SBJ-1 (-LRB- -LRB-) (NNS Prices)) (VP (VBD were) (VP (VBN cut))) (. .)))"
    )
    assert cleaned(text, traces=False).endswith("(VP (VBN cut) (NP (-NONE- *-1)))) (. .))")
    assert cleaned("(S=2 (ADVP|PRT-TMP (RB=1 up)) (X (Y (-NONE- 0))))") == "(S (ADVP|PRT (RB up)))"
    assert clean_tree(tree(text), traces=False, functions=False, top=False) is not None


def test_nothing_left():
    assert cleaned("((S (NP (-NONE- *)) (-NONE- 0)))") is None
    assert cleaned("(-NONE- *)") is None
    assert cleaned("(-NONE- *)", traces=False) == "(-NONE- *)"


@pytest.mark.parametrize("label", ["", "TOP", "ROOT", "S1"])
def test_the_top_is_dropped_where_one_tree_is_in_it(label):
    assert cleaned(f"({label} (S (A a)))") == "(S (A a))"
    assert cleaned(f"({label} (S (A a)) (-NONE- *))") == "(S (A a))"
    assert cleaned(f"( ({label} (S (A a))))") == "(S (A a))"
    assert cleaned(f"({label} (A a) (B b))") == f"({label} (A a) (B b))"
    assert cleaned(f"({label} (A a))", top=False) == f"({label} (A a))"
    assert cleaned(f"(S ({label or 'X'} (A a)))") == f"(S ({label or 'X'} (A a)))"


def test_trees_that_could_not_be_read_can_be_cleaned():
    mixed = Tree("TOP", (Tree("NP-1", ("the", Tree("NN-2", ("cat",)), "sat")),))
    assert clean_tree(mixed) == Tree("NP", ("the", Tree("NN", ("cat",)), "sat"))
    assert clean_tree(Tree("TOP", ("word",))) == Tree("TOP", ("word",))


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("NP-TTL=2", "NP"), ("NP", "NP"), ("-LRB-", "-LRB-"), ("-NONE-", "-NONE-"),
        ("-RRB--1", "-RRB--1"), ("-", "-"), ("=", "="), ("", ""), ("ADVP|PRT", "ADVP|PRT"), ("PRP$", "PRP$"),
        ("NP-\n", "NP"), ("X--", "X"),
    ],
)  # fmt: skip
def test_labels_without_functions(label, expected):
    assert clean_label(label) == expected


@pytest.mark.slow
def test_nesting_deeper_than_the_stack():
    text = "(X" * DEEP + "(Y (A a)) (-NONE- *)" + ")" * DEEP
    [sentence] = read(text)
    assert sentence.forms == ("a",)
    assert format_ptb(sentence) == "(X " * DEEP + "(Y (A a)) (-NONE- *)" + ")" * DEEP + "\n"
    clean = clean_tree(sentence.tree)
    assert len(list(clean.subtrees())) == DEEP + 2
    assert clean_tree(tree("(" * DEEP + "(A a)" + ")" * DEEP)) == Tree("A", ("a",))
    assert cleaned("(X" * DEEP + "(-NONE- *)" + ")" * DEEP) is None
    with pytest.raises(CorpusError, match="100001 closing"):
        read("(" * (DEEP + 1))


def test_words_are_shared_and_forgotten(monkeypatch):
    one, two = read("(S (NN a) (NN a)) (NN a)")
    assert one.tree.children[0] is one.tree.children[1] is two.tree
    monkeypatch.setattr(brackets, "_WORDS_TO_REMEMBER", 2)
    text = "".join(f"(S (A a) (N w{k}))\n" for k in range(20))
    assert "".join(map(format_ptb, read(text))) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["(" * 500_001, "(a " * 500_001, "(S " + "(a b)" * 500_001 + ")", "(a" + " b" * 500_002]
)
def test_what_has_no_end_is_refused(text: str) -> None:  # found by `python -m campaign readers.large`
    with pytest.raises(CorpusError, match="500,000 words"):
        list(read_ptb(io.StringIO(text)))
