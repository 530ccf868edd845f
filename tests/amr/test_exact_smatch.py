from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.amr import naive
from tests.amr.perturbed import perturbed
from tests.examples import examples
from treewright.amr import HillClimbing, match
from treewright.amr.exact_smatch import best_assignment, make_relaxation
from treewright.amr.packed import Packer
from treewright.corpora import Graph, read_amr
from treewright.search.compiling import interpreted

WORST = HillClimbing(starts=1, start="greedy", moves=1)


@examples(40)
@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.floats(-5, 5), min_size=n * n, max_size=n * n)))
def test_assignment(values):
    side = round(len(values) ** 0.5)
    nodes = Graph("x0", tuple((f"x{k}", "node") for k in range(side)))
    packed = Packer().pack([nodes])
    relaxation = make_relaxation(packed, packed, 0)
    relaxation.value[: side * side] = values
    total = interpreted(best_assignment)(relaxation, side)
    matrix = np.array(values).reshape(side, side)
    assert sorted(relaxation.assigned[:side]) == list(range(side))
    assert total == pytest.approx(matrix[np.arange(side), relaxation.assigned[:side]].sum())
    assert total == pytest.approx(
        max(matrix[np.arange(side), order].sum() for order in map(list, permutations(range(side))))
    )


@examples(60)
@given(naive.PAIRS)
def test_no_mapping_is_better(pairs):
    """Also where it begins with next to nothing."""
    gold, predicted = zip(*pairs, strict=True)
    found = match(gold, predicted, search=WORST, exact=True)
    assert found.proved.all()
    for k, (right, guessed) in enumerate(pairs):
        assert found.matched[k] == naive.score(right, guessed, found.mapping(k)) == naive.best(right, guessed)


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "limit"), [(9, 1), pytest.param(150, 100, marks=pytest.mark.jit)])
def test_what_is_not_proved_is_said(nodes, limit):
    """All nodes are alike, and only edges tell them apart: one node of the search is too few, and large graphs
    do not get many.
    """
    rng = np.random.default_rng(0)
    gold, predicted = (
        Graph("x0", tuple((f"x{k}", "a") for k in range(nodes)), tuple({(f"x{i}", ":r", f"x{k}") for i, k in ends}))
        for ends in rng.integers(0, nodes, (2, 3 * nodes - 2, 2)).tolist()
    )
    found = match([gold], [predicted], exact=True, limit=limit)
    assert not found.proved[0]
    assert found.matched[0] == naive.score(gold, predicted, found.mapping(0))


@pytest.mark.jit
def test_hill_climbing_finds_the_best_nearly_always(real_data):
    gold = [sentence.graph for sentence in read_amr(real_data("amr-little-prince/train.txt"))]
    for rate in (0.1, 0.25):
        predicted = [perturbed(graph, seed, gold, rate) for seed, graph in enumerate(gold)]
        climbed, best = match(gold, predicted), match(gold, predicted, exact=True)
        assert best.proved.mean() >= 0.99
        assert (climbed.matched == best.matched).mean() >= 0.99
        assert (climbed.matched <= best.matched).all()
