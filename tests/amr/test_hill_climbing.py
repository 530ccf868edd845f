import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.amr import naive
from tests.examples import examples
from treewright.amr import PACKAGE, VANILLA, HillClimbing, match
from treewright.amr import hill_climbing as climbing
from treewright.amr.packed import Packer
from treewright.errors import ConfigError
from treewright.search.compiling import interpreted

prepare, judge, gain, give, clear = map(
    interpreted, (climbing.prepare, climbing.judge, climbing.gain, climbing.give, climbing.clear)
)
SEARCHES = [
    HillClimbing(),
    HillClimbing(satisficing=True),
    VANILLA,
    PACKAGE,
    HillClimbing(starts=1, start="improved"),
    HillClimbing(starts=2, start="greedy", satisficing=True, moves=4),
    HillClimbing(starts=1, start="improved", moves=5),
]


def as_mapping(gold, predicted, space):
    columns = space.mapping[: len(predicted.variables)].tolist()
    return {p: gold.variables[j] for p, j in zip(predicted.variables, columns, strict=True) if j >= 0}


@examples(60)
@given(naive.graphs("g"), naive.graphs("p"), st.data())
def test_gains_are_differences_of_scores(gold, predicted, data):
    """After every move, what is kept says what all triples, counted one by one, say."""
    packer = Packer()
    one, two = packer.pack([predicted]), packer.pack([gold])
    space = climbing.make_space(one, two)
    prepare(space, one, two, 0)
    clear(space)
    score = judge(space)
    assert score == 0
    for _ in range(6):
        i = data.draw(st.integers(0, len(predicted.variables) - 1))
        j = data.draw(st.integers(0, len(gold.variables) - 1))
        if space.mapping[i] == j:
            continue
        score += gain(space, i, j)
        give(space, i, j)
        assert score == naive.score(gold, predicted, as_mapping(gold, predicted, space))
        worth = space.worth.copy()
        assert judge(space) == score
        assert (space.worth == worth).all()
    assert score <= space.shape[2]


@examples(40)
@given(naive.PAIRS, st.sampled_from(SEARCHES), st.integers(0, 3))
def test_what_is_found_is_what_is_said(pairs, search, seed):
    gold, predicted = zip(*pairs, strict=True)
    found = match(gold, predicted, search=search, seed=seed)
    assert found.proved is None
    for k, (right, guessed) in enumerate(pairs):
        mapping = found.mapping(k)
        assert len(set(mapping.values())) == len(mapping)
        assert found.matched[k] == naive.score(right, guessed, mapping) <= naive.best(right, guessed)
        assert (found.gold[k], found.predicted[k]) == (len(naive.triples(right)), len(naive.triples(guessed)))


@examples(30)
@given(naive.graphs("g"), naive.graphs("p"), st.booleans())
def test_at_the_end_no_move_is_any_good(gold, predicted, satisficing):
    found = match([gold], [predicted], search=HillClimbing(starts=1, start="greedy", satisficing=satisficing))
    mapping, score = found.mapping(0), found.matched[0]
    for i in predicted.variables:
        for j in gold.variables:
            owner = next((k for k, to in mapping.items() if to == j), None)
            moved = {k: to for k, to in mapping.items() if k not in (i, owner)} | {i: j}
            if owner is not None and owner != i and i in mapping:
                moved[owner] = mapping[i]
            assert naive.score(gold, predicted, moved) <= score


@pytest.mark.jit
@examples(5)
@given(naive.PAIRS, st.sampled_from(SEARCHES))
def test_compiled_and_interpreted_agree(pairs, search):
    gold, predicted = zip(*pairs, strict=True)
    packer = Packer()
    two, one = packer.pack(gold), packer.pack(predicted)
    results = []
    for run in (climbing.climbing_pass, interpreted(climbing.climbing_pass)):
        matched, mappings = np.zeros(len(pairs), np.int64), np.zeros(one.node_at[-1], np.int32)
        control, space = np.zeros(2, np.int64), climbing.make_space(one, two)
        how = (search.plan(), search.satisficing, search.moves or 0, 7)
        run(one, two, 0, len(pairs), *how, space, matched, mappings, control, 1)
        results.append((matched.tolist(), mappings.tolist(), control.tolist()))
    assert results[0] == results[1]


@examples(10)
@given(naive.PAIRS)
def test_the_number_of_threads_changes_nothing(pairs):
    gold, predicted = zip(*pairs, strict=True)
    one, two = (match(gold, predicted, seed=3, jobs=jobs) for jobs in (1, 3))
    assert all(one.mapping(k) == two.mapping(k) for k in range(len(pairs)))


def test_improved_initialisation_heeds_the_neighbours():
    """Two nodes have the same concept; only their neighbours tell them apart, and the first free one is wrong."""
    from treewright.corpora import Graph

    gold = Graph.from_penman("(a / and :op1 (x / dog :mod (r / red)) :op2 (y / dog :mod (g / green)))")
    predicted = Graph.from_penman("(a / and :op2 (y / dog :mod (g / green)) :op1 (x / dog :mod (r / red)))")
    packer = Packer()
    one, two = packer.pack([predicted]), packer.pack([gold])
    space = climbing.make_space(one, two)
    prepare(space, one, two, 0)
    begin = interpreted(climbing.begin)
    space.random[:] = 1
    greedy, improved = (begin(space, one, two, 0, start) for start in (climbing.GREEDY, climbing.IMPROVED))
    assert greedy < improved == len(naive.triples(gold))


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"starts": 0}, "starts"), ({"moves": 0}, "moves"), ({"start": "best"}, "there is no start 'best'")],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ConfigError, match=message):
        HillClimbing(**settings)
