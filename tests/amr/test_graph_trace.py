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
from treewright.amr.trace import trace_graph
from treewright.corpora import Graph, Sentence
from treewright.errors import CorpusError
from treewright.policies import LinearPolicy


@pytest.fixture(scope="module")
def parser():
    """One that has seen the expert at work, but learned nothing from it: so nothing needs to be compiled."""
    found = AMRParser(aligner="given")
    found.lemmas_, found.encoder_, examples = found._encoded([aligned(sentence) for sentence in SENTENCES])
    packed, _ = found.encoder_.pack(examples, found._options(open_to_gold=True))
    found.encoder_.collect(packed, (expert_trajectory(packed, i) for i in range(len(examples))))
    weights = np.random.default_rng(0).normal(size=(1, 256, 1)).astype(np.float32)
    found.policy_ = LinearPolicy(weights)
    found.card_ = {}
    return found


def aligned(sentence):
    return with_alignment(sentence, RuleAligner().align(sentence))


def test_steps(parser):
    steps = parser.trace(replace(SENTENCES[0], graph=None))
    assert len(steps) > 5
    assert steps[0].stack == ("wants", "go", "to", "boy", "The")
    assert steps[0].buffer == ()
    assert steps[0].graph.startswith("(n2 / wants\n   ~nsubj (n1 / boy\n      ~det (n0 / The))")
    for step in steps[:-1]:
        assert step.action
        assert step.expert is None
        assert len(step.scores) <= 3
        if step.scores:
            assert step.action == max(step.scores, key=step.scores.get)
    assert any(step.buffer for step in steps)


def test_the_last_step_is_the_finished_graph(parser):
    last = parser.trace(replace(SENTENCES[0], graph=None))[-1]
    assert (last.stack, last.buffer, last.action, last.scores) == ((), (), "", {})
    graph = Graph.from_penman(last.graph)
    graph.validate()
    assert "~" not in last.graph


def test_the_expert_is_there_where_there_is_a_gold_graph(parser):
    steps = parser.trace(aligned(SENTENCES[0]), top=0)
    assert all(step.expert for step in steps[:-1])
    assert steps[-1].expert is None
    assert steps[0].expert == "Delete"  # an article
    assert all(step.scores == {} for step in steps)


def test_an_edge_whose_role_is_new_has_no_name(parser):
    new = read("boys boy NOUN 2 nsubj\nsleep sleep VERB 0 root\n= (s / sleep-01 :brand-new (b / boy))")[0]
    experts = {step.expert for step in parser.trace(aligned(new))}
    assert not any("brand" in (expert or "") for expert in experts)


def test_bad_input(parser):
    with pytest.raises(CorpusError, match="a sentence without words"):
        trace_graph(parser, Sentence(()))
    with pytest.raises(Exception, match="top must be"):
        trace_graph(parser, SENTENCES[0], top=-1)


def with_weights(parser, weights):
    """The same parser with another policy."""
    found = copy.copy(parser)
    found.policy_ = LinearPolicy(weights.astype(np.float32))
    return found


def test_edges_of_the_second_phase_are_in_the_graph(parser):
    for seed in range(20):
        wild = with_weights(parser, np.random.default_rng(seed).normal(size=(1, 256, 1)))
        steps = wild.trace(replace(SENTENCES[0], graph=None))
        if any(step.action == "Reentrance" for step in steps):
            graph = Graph.from_penman(steps[-1].graph)
            assert len(graph.edges) >= len(graph.variables)


def test_lemmas_are_made_up_as_in_parsing(parser):
    """With weights of zero, every word has its first concept."""
    plain = with_weights(parser, np.zeros((1, 2, 1)))
    sentence = replace(SENTENCES[0], graph=None)
    bare = sentence.with_column("lemma", ["_"] * len(sentence))
    assert plain.trace(bare)[-1].graph == plain.trace(sentence)[-1].graph
