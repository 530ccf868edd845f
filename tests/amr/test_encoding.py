"""From sentences to arrays and from final states to graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.amr.little_corpus import SENTENCES, read
from tests.amr.transition_twin import LABELS, ROLES, expert_trajectory, generous_encoder, options, words_of, world
from treewright.amr import RuleAligner
from treewright.amr.concepts import FORMS, Forms
from treewright.amr.encoding import Encoder, Example
from treewright.amr.preparation import gold_tree, map_words, tree_words
from treewright.amr.task import GraphParsing
from treewright.amr.transitions import (
    DONE,
    INSERT_LEAF,
    LEMMA,
    NEXT_EDGE,
    NEXT_NODE,
    REENTRANCE,
    TARGET,
    action_of,
)
from treewright.corpora import Graph
from treewright.search import interpreted

action_of = interpreted(action_of)


def example_of(sentence):
    words, gold = tree_words(sentence), gold_tree(sentence.graph)
    return Example(words, gold, map_words(words, gold, RuleAligner().align(sentence), sentence.graph))


@pytest.fixture(scope="module")
def learned():
    """An encoder that has seen the expert at work, and its examples."""
    forms = Forms(["see-01", "see-03"], {"meditation": ("meditate",), "proof": ("prove", "proof")})
    encoder = Encoder(forms)
    examples = [example_of(sentence) for sentence in SENTENCES]
    encoder.learn(examples)
    packed, _ = encoder.pack(examples, options(open_to_gold=1))
    encoder.collect(packed, (expert_trajectory(packed, i) for i in range(len(examples))))
    return encoder, examples


def shown(encoder, table, lemma):
    """The parameters that a table has for a lemma."""
    return getattr(encoder.parameters, table).get(encoder.keys[lemma], {})


def test_parameters_are_those_of_the_expert(learned):
    encoder, _ = learned
    role, label = encoder.role_number, encoder.labels
    assert shown(encoder, "forms", "boy") == {FORMS.index("lemma"): 3}
    assert set(shown(encoder, "forms", "see")) == {FORMS.index("lemma-01")}
    assert set(shown(encoder, "forms", "can")) == {len(FORMS) + label["possible-01"]}
    assert set(shown(encoder, "forms", "Tom".lower())) == {FORMS.index("quoted")}
    assert set(shown(encoder, "inserts", "tom")) == {label["name"]}
    assert set(shown(encoder, "inserts", "\tname")) == {label["person"]}  # an inserted node has its concept for a lemma
    assert set(shown(encoder, "roles_out", "see")) >= {role(":ARG0"), role(":ARG1")}
    assert role(":ARG0") in shown(encoder, "roles_in", "boy")
    assert shown(encoder, "forms", "the") == {}


def test_leaves_that_are_never_inserted_are_forgotten(learned):
    encoder, _ = learned
    names = list(encoder.labels)
    pairs = {(encoder.role_name(role), names[label]) for role, label in encoder.leaf_pairs}
    assert pairs == {(":mode", "imperative"), (":ARG0", "you")}
    found = shown(encoder, "leaves", "go")
    assert {encoder.leaf_pairs[pair] for pair in found} == set(encoder.leaf_pairs)


def test_arrays_and_back(learned):
    """The same candidates, the same tables, the same packed arrays: also for words and graphs that are new."""
    encoder, examples = learned
    again = Encoder.from_arrays(encoder.to_arrays())
    new = [example_of(one) for one in read("Zorg zorg PROPN 2 nsubj\nmeditates meditate VERB 0 root\n"
                                           "= (m / meditate-01 :new-role (z / zorg))")]  # fmt: skip
    one, own = encoder.pack([*examples, *new], options())
    two, same = again.pack([*examples, *new], options())
    assert own == same
    for name, value in one.arrays._asdict().items():
        assert np.array_equal(value, getattr(two.arrays, name)), name
    assert (again.leaf_pairs, again.labels, again.roles) == (encoder.leaf_pairs, encoder.labels, encoder.roles)
    arrays, repeated = encoder.to_arrays(), again.to_arrays()
    assert arrays.keys() == repeated.keys()
    assert all(np.array_equal(arrays[name], repeated[name]) for name in arrays)


def test_an_encoder_that_has_seen_nothing():
    encoder = Encoder.from_arrays(Encoder(Forms()).to_arrays())
    packed, [own] = encoder.pack([Example(words_of([-1]))], options())
    assert len(packed) == 1
    assert "word0" in own
    packed, own = encoder.pack([], options())
    assert (len(packed), own) == (0, [])


def test_every_array_of_the_task_is_there(learned):
    encoder, examples = learned
    packed, _ = encoder.pack(examples[:1], options())
    fields = packed.arrays._fields
    assert set(GraphParsing.instance) | set(GraphParsing.shared) <= set(fields)


def candidates(encoder, example, word):
    """The concepts offered for a word."""
    packed, [own] = encoder.pack([example], options())
    x, names = packed.instance(0), [*encoder.labels, *own]
    forms = x.candidates[x.candidate_edges[word] : x.candidate_edges[word + 1]].tolist()
    realised = x.realised.reshape(-1, len(FORMS))
    return [names[realised[word][form] if form < len(FORMS) else form - len(FORMS)] for form in forms]


def test_candidates_of_words_seen_and_unseen(learned):
    encoder, _ = learned
    rows = ["dogs dog NOUN 2 nsubj", "glimpse glimpse VERB 0 root", "Bob bob PROPN 2 obj", "six six NUM 3 nummod"]
    example = Example(tree_words(read("\n".join(rows))[0]))
    assert candidates(encoder, example, 0)[0] == "dog"
    assert candidates(encoder, example, 1) == ["glimpse", "glimpse-01"]
    assert candidates(encoder, example, 2) == ['"Bob"', "bob", "bob-01"]
    assert candidates(encoder, example, 3)[0] == "6"
    often = replace_counts(encoder, "dog", 100)
    assert candidates(often, example, 0) == ["dog"]  # frequent words have what was seen, and their lemma


def replace_counts(encoder, lemma, count):
    again = Encoder.from_arrays(encoder.to_arrays())
    again.lemma_counts[lemma] = count
    return again


def test_concepts_of_one_sentence_have_numbers_of_their_own(learned):
    encoder, _ = learned
    example = Example(words_of([-1], ["glimpse"]))
    packed, [own] = encoder.pack([example], options())
    x = packed.instance(0)
    assert own[0] == "glimpse"
    assert int(x.realised[LEMMA]) == len(encoder.labels)
    assert x.keys.tolist() == [0]


def test_labels_and_roles_that_training_never_had(learned):
    """A gold graph may have them; the loss then counts what cannot be found."""
    encoder, _ = learned
    gold = gold_tree(Graph.from_penman("(z / zork :strange (y / yak) :strange-of (x / xi))"))
    example = Example(words_of([-1, 0]), gold, [0, 1])
    packed, [own] = encoder.pack([example], options())
    x = packed.instance(0)
    assert {"zork", "yak", "xi"} <= set(own)
    assert x.gold_role.tolist() == [-1, -1, -1]
    assert encoder.role_number(":strange") == -1
    assert len(x.gold_entries) == 5


def test_roles_and_their_inverses(learned):
    encoder, _ = learned
    number = encoder.role_number(":ARG0")
    assert encoder.role_number(":ARG0-of") == number + 1
    assert (encoder.role_name(number), encoder.role_name(number + 1)) == (":ARG0", ":ARG0-of")
    seen = Encoder(Forms())
    seen.learn([Example([], gold_tree(Graph.from_penman("(a / ring :consist-of (b / gold))")), [])])
    assert seen.role_name(seen.role_number(":consist-of")) == ":consist-of"
    assert seen.role_name(seen.role_number(":consist-of-of")) == ":consist-of-of"


# ---- graphs


def chosen(kind, param):
    return action_of(kind, 0), action_of(kind, param + 1)


def graph_after(heads, *actions, labels=LABELS):
    example = Example(words_of(heads))
    encoder = generous_encoder([example], labels=labels)
    task, x, state, _, graph_of = world(heads, example=example, encoder=encoder)
    for action in actions:
        task.step(x, state, action)
    assert task.is_final(x, state)
    return graph_of(state)


def edge(role, inverse=0):
    return chosen(NEXT_EDGE, 2 * ROLES.index(role) + inverse)


def concept(label):
    return chosen(NEXT_NODE, len(FORMS) + LABELS.index(label))


END = action_of(DONE, 0)


def test_a_constant_is_an_attribute_where_it_can_be_one():
    forward, inverse = edge(":ARG0"), edge(":ARG0", 1)
    graph = graph_after([-1, 0], *concept("7"), *forward, *concept("thing"), END, END)
    assert graph.to_penman() == "(n0 / thing\n    :ARG0 7)"
    graph = graph_after([-1, 0], *concept("7"), *inverse, *concept("thing"), END, END)
    assert graph.instances == (("n0", "thing"), ("n1", "7"))
    graph = graph_after([-1, 0], *concept('"Tom"'), *inverse, *concept("-"), END, END)
    assert graph.instances == (("n0", "-"), ("n1", "Tom"))


def test_lists_are_numbered_and_words_aligned():
    op = edge(":op")
    graph = graph_after([-1, 0, 0], *concept("thing"), *concept('"Tom"'), *op, *op, *concept("name"), *[END] * 3)
    assert graph.edges == (("n0", ":op1", "n1"),)
    assert graph.attributes == (("n0", ":op2", '"Tom"'),)
    assert dict(graph.alignments) == {"n0": (0,), "n1": (1,)}


def test_further_edges_and_leaves():
    arg = edge(":ARG0")
    reenter = (action_of(REENTRANCE, 0), action_of(TARGET, 3), arg[1])
    graph = graph_after(
        [-1, 0, 0], *concept("thing"), *chosen(INSERT_LEAF, 4), *concept("name"), *arg, *arg, *concept("see-01"),
        END, *reenter, END, END, END,
    )  # fmt: skip
    assert ("n1", ":ARG0", "n2") in graph.edges
    assert len(graph.edges) == 3
    assert [value for *_, value in graph.attributes] == ["-"]
    graph.validate()


def test_a_list_may_have_a_member_twice():
    op = edge(":op")
    graph = graph_after([-1, 0, 0], *concept('"Tom"'), *concept('"Tom"'), *op, *op, *concept("name"), *[END] * 3)
    assert [role for _, role, _ in graph.attributes] == [":op1", ":op2"]


def test_a_gold_graph_counts_once_in_training_and_not_at_all_in_parsing(learned):
    encoder, examples = learned
    bare = replace(SENTENCES[0], graph=None)
    packed, _ = encoder.pack([Example(tree_words(bare)), examples[0]], options())
    assert packed.instance(0).gold_of.tolist() == [-1] * 5
    assert len(packed.instance(0).gold_entries) == 0
    assert len(packed.instance(1).gold_entries) == 3 + 3
