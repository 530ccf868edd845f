"""The figures 4.3 to 4.9 of Goodman (2015): the expert takes the action that each of them shows, without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from treewright.amr import AMRParser, join_trees, score_smatch
from treewright.corpora import Graph, read_amr, read_conllu

DOCS = Path(__file__).resolve().parents[2] / "docs"
SENTENCES = join_trees(list(read_amr(DOCS / "thesis.amr")), list(read_conllu(DOCS / "thesis.conllu")))


@pytest.mark.parametrize(
    ("number", "actions"),
    [
        (0, ["Delete", "NextNode(center, lemma)", "NextEdge(:ARG0)", "NextNode(bolster-01, lemma-01)"]),
        (1, ["Swap", "Reattach(and)"]),
        (2, ["ReplaceHead"]),
        (3, ["Insert(name)", "Insert(military)"]),
        (4, ["InsertLeaf(:polarity -)"]),
        (5, ["Reentrance(police)", "NextEdge(:ARG0)"]),
    ],
    ids=["4.3", "4.4 and 4.5", "4.6", "4.7", "4.8", "4.9"],
)
def test_the_action_of_each_figure(number, actions):
    trace = AMRParser(joint=True).trace_expert(SENTENCES[number])
    taken = [step.action for step in trace.steps if step.action]
    rest = iter(taken)
    assert all(action in rest for action in actions), taken  # in this order
    assert score_smatch([SENTENCES[number]], [Graph.from_penman(trace.result["graph"])]).f1 == 1.0
