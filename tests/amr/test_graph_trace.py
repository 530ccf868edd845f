"""Steps for people."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

from tests.amr.little_corpus import SENTENCES, read
from tests.amr.transition_twin import expert_trajectory
from treewright.amr import AMRParser
from treewright.amr.alignment import with_alignment
from treewright.amr.rule_aligner import RuleAligner
from treewright.amr.trace import ANY
from treewright.corpora import Graph, Sentence
from treewright.errors import CorpusError
from treewright.policies import LinearPolicy
from treewright.reports.trace_columns import graph_text
from treewright.search import decode


@pytest.fixture(scope="module")
def parser():
    """One that has seen the expert at work, but learned nothing from it: so nothing needs to be compiled."""
    found = AMRParser(aligner="given")
    found.lemmas_, found.encoder_, examples = found._encoded([aligned(sentence) for sentence in SENTENCES])
    packed, _ = found.encoder_.pack(examples, found._options(open_to_gold=True))
    found.encoder_.collect(packed, (expert_trajectory(packed, i) for i in range(len(examples))))
    weights = np.random.default_rng(0).normal(size=(1, 256, 1)).astype(np.float32)
    found.policy_ = LinearPolicy(weights)
    found.card_, found.replacements_ = {}, {}
    return found


def decode_interpreted(packed, policy):
    return decode(packed.plain(), policy)


def aligned(sentence):
    return with_alignment(sentence, RuleAligner().align(sentence))


def words(step, name):
    """The nodes of σ or β by their labels."""
    labels = {node["node"]: node["label"] for node in step.state["nodes"]}
    return tuple(labels[node] for node in step.state[name])


def test_steps(parser):
    trace = parser.trace(replace(SENTENCES[0], graph=None))
    assert len(trace.steps) > 5
    first = trace.steps[0]
    assert words(first, "stack") == ("wants", "go", "to", "boy", "The")
    assert first.state["buffer"] == ()
    assert first.state["focus"] == first.state["stack"][-1]
    assert graph_text(first.state).startswith("(n2 / wants\n   ~nsubj (n1 / boy\n      ~det (n0 / The))")
    assert [node["words"] for node in first.state["nodes"]] == [(k,) for k in range(5)]
    for step in trace.decisions:
        assert step.expert == ()
        assert step.choice.cost is None
        assert step.action == step.best[0].action
        assert sum(candidate.probability for candidate in step.candidates) == pytest.approx(1.0)
    assert any(step.state["buffer"] for step in trace.steps)
    assert any(step.state["pending"] == "NextNode" and step.action.startswith("NextNode(") for step in trace.decisions)


@pytest.mark.slow
def test_the_graph_is_that_of_the_parser(parser):
    for sentence in SENTENCES:
        trace = parser.trace(replace(sentence, graph=None))
        example = parser._unknown([sentence])
        packed, own = parser.encoder_.pack(example, parser._options())
        [graph] = parser._graphs(decode_interpreted(packed, parser.policy_), example, own)
        assert trace.result["graph"] == graph.to_penman()
        assert trace.result["alignments"] == dict(graph.alignments)
        aligned_too = aligned(sentence)
        assert parser.trace(aligned_too, aligned_too).actions == trace.actions  # the gold graph changes nothing


def test_the_last_step_is_the_finished_graph(parser):
    last = parser.trace(replace(SENTENCES[0], graph=None)).steps[-1]
    assert (last.state["stack"], last.state["buffer"], last.action, last.candidates) == ((), (), None, ())
    text = graph_text(last.state)
    Graph.from_penman(text).validate()
    assert "~" not in text
    assert all(node["is_concept"] for node in last.state["nodes"])


def test_the_expert_is_there_where_there_is_a_gold_graph(parser):
    gold = aligned(SENTENCES[0])
    trace = parser.trace(gold, gold)
    assert trace.has_gold
    assert all(step.expert for step in trace.decisions)
    assert trace.steps[-1].expert == ()
    assert trace.steps[0].expert == ("Delete",)  # an article
    for step in trace.decisions:
        assert step.correct == (step.action in step.expert or step.expert == (ANY,))
    assert trace.steps[-1].measures["loss"] > 0.0


def test_the_expert_is_followed(parser):
    for sentence in map(aligned, SENTENCES):
        trace = parser.trace(sentence, sentence, follow="gold")
        assert trace.first_error is None
        assert trace.steps[-1].measures["loss"] == 0.0


def test_an_edge_whose_role_is_new_has_no_name(parser):
    new = aligned(read("boys boy NOUN 2 nsubj\nsleep sleep VERB 0 root\n= (s / sleep-01 :brand-new (b / boy))")[0])
    trace = parser.trace(new, new)
    experts = {expert for step in trace.decisions for expert in step.expert}
    assert not any("brand" in expert for expert in experts)
    for step in trace.decisions:
        if step.expert == (ANY,):
            assert {candidate.cost for candidate in step.candidates} == {0.0}
    assert ANY in experts


def test_bad_input(parser):
    with pytest.raises(CorpusError, match="a sentence without words"):
        parser.trace(Sentence(()))
    with pytest.raises(CorpusError, match="has no graph"):
        parser.trace(SENTENCES[0], replace(SENTENCES[0], graph=None))


def with_weights(parser, weights):
    """The same parser with another policy."""
    found = copy.copy(parser)
    found.policy_ = LinearPolicy(weights.astype(np.float32))
    return found


@pytest.mark.slow
def test_edges_of_the_second_phase_are_in_the_graph(parser):
    seen = 0
    for seed in range(20):
        wild = with_weights(parser, np.random.default_rng(seed).normal(size=(1, 256, 1)))
        trace = wild.trace(replace(SENTENCES[0], graph=None))
        further = [edge for edge in trace.steps[-1].state["edges"] if not edge["in_tree"]]
        assert bool(further) == any(
            action.startswith("Target") for action in trace.actions if "Reentrance" in trace.actions
        )
        if further:
            seen += 1
            graph = Graph.from_penman(graph_text(trace.steps[-1].state))
            assert len(graph.edges) >= len(graph.variables)
    assert seen


def test_lemmas_are_made_up_as_in_parsing(parser):
    """With weights of zero, every word has its first concept."""
    plain = with_weights(parser, np.zeros((1, 2, 1)))
    sentence = replace(SENTENCES[0], graph=None)
    bare = sentence.with_column("lemma", ["_"] * len(sentence))
    assert plain.trace(bare).result == plain.trace(sentence).result
