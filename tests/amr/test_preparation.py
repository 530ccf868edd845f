from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.amr.little_corpus import SENTENCES, read
from tests.amr.transition_twin import trees
from tests.examples import examples
from treewright.amr.preparation import gold_tree, inverse, map_words, signs_of, tree_words
from treewright.corpora import Graph, Sentence, Token
from treewright.errors import CorpusError


def sentence(text):
    return read(text)[0]


def shown(sentence):
    return [(word.form, word.head) for word in tree_words(sentence)]


def numbers(sentence):
    return {word.form: word.number for word in tree_words(sentence) if word.number}


# ---- words


def test_punctuation_is_left_out():
    assert shown(SENTENCES[0]) == [("The", 1), ("boy", 2), ("wants", -1), ("to", 4), ("go", 2)]


def test_what_hangs_on_punctuation_hangs_on_what_that_hung_on():
    of = sentence("a a NOUN 2 dep\n, , PUNCT 3 punct\nb b VERB 0 root\nc c NOUN 2 dep")
    assert shown(of) == [("a", 1), ("b", -1), ("c", 1)]


def test_punctuation_as_root_leaves_one_root():
    of = sentence("a a NOUN 2 dep\n: : PUNCT 0 root\nb b NOUN 2 dep\nc c NOUN 3 dep")
    assert shown(of) == [("a", -1), ("b", 0), ("c", 1)]


def test_nothing_but_punctuation_stays():
    assert shown(sentence("! ! PUNCT 0 root\n? ? PUNCT 1 punct")) == [("!", -1), ("?", 0)]


def test_marks_without_tags_are_punctuation_if_they_look_like_it():
    assert [word.form for word in tree_words(Sentence.from_words(["Why", "?", "50%", "..."]))] == ["Why", "50%"]
    assert [word.form for word in tree_words(Sentence.from_words(["5", "%", "–"]))] == ["5", "%"]


def test_a_second_root_hangs_on_the_first():
    of = sentence("a a NOUN 0 root\nb b NOUN 0 root\nc c NOUN 2 dep")
    assert shown(of) == [("a", -1), ("b", 0), ("c", 1)]


def test_numbers_of_several_words():
    of = sentence("about about ADV 4 advmod\ntwo two NUM 4 c\nhundred hundred NUM 4 c\nmillion million NUM 5 n\n"
                  "stars star NOUN 0 root")  # fmt: skip
    assert shown(of) == [("about", 1), ("two hundred million", 2), ("stars", -1)]
    assert numbers(of) == {"two hundred million": "200000000"}
    assert [word.positions for word in tree_words(of)] == [(0,), (1, 2, 3), (4,)]


def test_words_of_a_number_that_do_not_hang_together_stay_apart():
    of = sentence("two two NUM 3 nummod\nhundred hundred NUM 4 nummod\ncats cat NOUN 4 nsubj\nrun run VERB 0 root")
    assert [word.form for word in tree_words(of)] == ["two", "hundred", "cats", "run"]


@pytest.mark.parametrize(
    ("words", "number"),
    [("third", "3"), ("1,000", "1000"), ("half", "0.5"), ("3.5", "3.5"), ("12", "12")],
)
def test_numbers_in_words_and_figures(words, number):
    assert numbers(sentence(f"{words} {words} NUM 0 root")) == {words: number}


def test_large_numbers_with_a_fraction_are_written_out():
    of = sentence("1.5 1.5 NUM 2 c\nmillion million NUM 0 root")
    assert numbers(of) == {"1.5 million": "1500000"}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("25-12-1943", ["12", "25", "1943"]),
        ("25/12/43", ["12", "25", "2043"]),
        ("01.02.97", ["2", "1", "1997"]),
        ("251243", ["12", "25", "2043"]),
    ],
)
def test_dates_are_three_nodes(text, parts):
    words = tree_words(sentence(f"on on ADP 2 case\n{text} {text} NUM 0 root"))
    assert [word.number for word in words[1:]] == parts
    assert [(word.relation, word.head) for word in words[2:]] == [("day", 1), ("year", 1)]
    assert {word.positions for word in words[1:]} == {(1,)}


def test_a_number_that_is_no_date():
    assert numbers(sentence("100000 100000 NUM 0 root")) == {"100000": "100000"}


def test_lemmas_are_in_small_letters_and_american():
    of = sentence("Colour Colour NOUN 0 root\nNaïve _ ADJ 1 amod")
    assert [word.lemma for word in tree_words(of)] == ["color", "naive"]


@pytest.mark.parametrize(
    ("words", "signs"), [("Go home .", 0), ("Why ?", 1), ("Go !", 2), ("“ Go ! ”", 6), ("`` Why ! ? ''", 7)]
)
def test_what_punctuation_says_is_kept(words, signs):
    assert signs_of(Sentence.from_words(words.split())) == signs


@pytest.mark.parametrize(
    ("misc", "entity"),
    [("_", ""), ("NER=B-PER", "PER"), ("start_char=0|ner=S-GPE|end_char=3", "GPE"), ("ner=O", ""), ("Winner=ORG", "")],
)
def test_named_entities_that_the_file_says(misc, entity):
    of = Sentence((Token("Paris", "Paris", "PROPN", head=0, deprel="root", misc=misc),))
    assert [word.entity for word in tree_words(of)] == [entity]


def test_without_a_tree_each_word_hangs_on_the_one_before():
    assert shown(Sentence.from_words(["a", "b", "c"])) == [("a", -1), ("b", 0), ("c", 1)]
    assert tree_words(Sentence(())) == []


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([5, 1], r"book\.conllu:3: the head of word 1 is word 5"),
        pytest.param(
            [2, 5],
            r"book\.conllu:3: the head of word 2 is word 5",
        ),
        ([2, 1], r"book\.conllu:3: .*word 1 form a cycle"),
        ([0, 2], r"book\.conllu:3: .*word 2 form a cycle"),
    ],
)
def test_bad_trees(heads, message):
    tokens = tuple(Token(f"w{k}", head=head, deprel="dep") for k, head in enumerate(heads))
    with pytest.raises(CorpusError, match=message):
        tree_words(Sentence(tokens, path="book.conllu", line=3))


FORMS = st.sampled_from(["cat", "two", "hundred", ",", ":", "25-12-1943", "Tom", "3.5"])
TAGS = st.sampled_from(["NOUN", "NUM", "PUNCT", "_", "SYM"])


@examples(150)
@given(trees(8), st.data())
def test_what_comes_of_any_tree_is_a_tree(heads, data):
    tokens = tuple(Token(data.draw(FORMS), upos=data.draw(TAGS), head=head + 1, deprel="dep") for head in heads)
    words = tree_words(Sentence(tokens))
    assert words
    assert [word.head for word in words].count(-1) == 1
    for k in range(len(words)):
        steps = 0
        while words[k].head >= 0:
            k, steps = words[k].head, steps + 1
            assert steps < len(words)
    positions = [k for word in words for k in word.positions if word.relation not in ("day", "year")]
    assert len(set(positions)) == len(positions)
    assert set(positions) <= set(range(len(tokens)))


# ---- graphs


def tree_of(text):
    return gold_tree(Graph.from_penman(text))


def test_inverse_edges_are_above_what_they_point_from():
    gold = tree_of("(g / girl :ARG0-of (s / sleep-01 :consist-of (d / dream)))")
    assert (gold.labels, gold.parents) == (["girl", "sleep-01", "dream"], [-1, 0, 1])
    assert gold.roles == ["", ":ARG0-of", ":consist-of"]
    assert gold.further == []


def test_reentrant_edges_are_further_ones_in_their_normal_direction():
    gold = tree_of("(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b :ARG1-of (s / see-01 :ARG0 b)))")
    assert gold.parents == [-1, 0, 0, 2]
    assert sorted(gold.further) == [(2, ":ARG0", 1), (3, ":ARG0", 1)]


def test_attributes_are_nodes_but_for_wiki():
    gold = tree_of('(p / person :wiki "Tom_Thumb" :name (n / name :op1 "Tom" :op2 "Thumb") :polarity -)')
    assert gold.labels == ["person", "name", '"Tom"', '"Thumb"', "-"]
    assert gold.parents == [-1, 0, 1, 1, 0]
    assert gold.roles == ["", ":name", ":op", ":op", ":polarity"]
    assert gold.nodes[2] == ("n", ":op1", '"Tom"')


def test_an_edge_to_itself_is_left_out():
    gold = gold_tree(Graph("a", (("a", "x"), ("b", "y")), (("a", ":ARG0", "a"), ("a", ":ARG1", "b"))))
    assert (gold.parents, gold.further) == ([-1, 0], [])


def test_a_graph_in_two_parts():
    graph = Graph("a", (("a", "x"), ("b", "y"), ("c", "z")), (("b", ":ARG0", "c"),))
    with pytest.raises(CorpusError, match=r"'b'.*not connected"):
        gold_tree(graph)


def test_a_variable_with_two_concepts():
    with pytest.raises(CorpusError):
        gold_tree(Graph("a", (("a", "x"), ("a", "y"))))


@examples(80)
@given(st.data())
def test_a_gold_tree_has_every_edge_of_its_graph_once(data):
    n = data.draw(st.integers(1, 6))
    names = [f"v{k}" for k in range(n)]
    role = st.sampled_from([":ARG0", ":mod", ":op1", ":consist-of"])
    edges = {}
    for k in range(1, n):
        pair = [names[k], names[data.draw(st.integers(0, k - 1))]]
        source, target = data.draw(st.permutations(pair))
        edges[source, data.draw(role), target] = None
    if n > 1:
        for source, target in data.draw(
            st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=4)
        ):
            edges[source, data.draw(role), target] = None
    graph = Graph("v0", tuple((name, f"c{name}") for name in names), tuple(edges))
    gold = gold_tree(graph)
    assert gold.parents.count(-1) == 1
    assert gold.parents[0] == -1
    found = list(gold.further)
    for node, (parent, role_of) in enumerate(zip(gold.parents, gold.roles, strict=True)):
        if parent >= 0:
            up = role_of.endswith("-of") and role_of != ":consist-of"
            found.append((node, inverse(role_of), parent) if up else (parent, role_of, node))
    wanted = [(int(s[1:]), ":op" if r == ":op1" else r, int(t[1:])) for s, r, t in edges if s != t]
    assert sorted(found) == sorted(wanted)


# ---- which word stands for which node


def test_each_word_has_one_node_and_each_node_one_word():
    graph = Graph.from_penman("(p / person :ARG0-of (e / explore-01) :ARG0-of (t / teach-01))")
    words = tree_words(sentence("explorers explorer NOUN 0 root\nteach teach VERB 1 acl\nteach teach VERB 1 acl"))
    gold = gold_tree(graph)
    alignment = {"p": (0,), "e": (0,), "t": (1, 2)}
    assert map_words(words, gold, alignment, graph) == [1, 2, -1]  # explore is more like explorers than person is


def test_numbers_are_known_by_their_value():
    graph = Graph.from_penman("(s / star :quant 200)")
    words = tree_words(sentence("two two NUM 2 c\nhundred hundred NUM 3 n\nstars star NOUN 0 root"))
    assert map_words(words, gold_tree(graph), {("s", ":quant", "200"): (0, 1), "s": (2,)}, graph) == [1, 0]


@examples(60)
@given(st.dictionaries(st.sampled_from(["w", "b", "g"]), st.sets(st.integers(0, 5), min_size=1, max_size=4)))
def test_any_alignment_becomes_one_to_one(alignment):
    of = SENTENCES[0]
    gold = gold_tree(of.graph)
    words = tree_words(of)
    found = map_words(words, gold, {node: tuple(sorted(at)) for node, at in alignment.items()}, of.graph)
    mapped = [node for node in found if node >= 0]
    assert len(set(mapped)) == len(mapped)
    for k, node in enumerate(found):
        if node >= 0:
            assert set(words[k].positions) & alignment[gold.nodes[node]]


def test_each_part_of_a_date_stands_for_its_own_node():
    graph = Graph.from_penman("(d / date-entity :day 25 :month 12 :year 1943)")
    words = tree_words(sentence("25-12-1943 25-12-1943 NUM 0 root"))
    gold = gold_tree(graph)
    alignment = dict.fromkeys(gold.nodes[1:], (0,))
    found = map_words(words, gold, alignment, graph)
    assert [gold.labels[node] for node in found] == ["12", "25", "1943"]


def test_nodes_aligned_with_nothing_here_stand_for_nothing():
    of = replace(SENTENCES[0])
    assert map_words(tree_words(of), gold_tree(of.graph), {"b": (5,), "z": (1,)}, of.graph) == [-1] * 5
