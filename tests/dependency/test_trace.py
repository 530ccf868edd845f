"""Traces against the tables of the lectures, typed in by hand, and against the tree they should build."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dependency import naive
from tests.dependency.helpers import sentence
from treewright.corpora import Sentence, load_corpus
from treewright.corpora.builtin import builtin_corpus
from treewright.dependency import DependencyParser, find_system, system_names
from treewright.dependency.trace import DONE, trace, trace_gold
from treewright.errors import ConfigError, CorpusError

LECTURES = Path(__file__).resolve().parents[2] / "docs" / "lectures.conllu"
SYSTEMS = system_names()

# The UMD lecture, Fig. 14.8. Where the word list is empty, the text of the slides has lost the brackets.
FIG_14_8 = """
0  | root                                | book the flight through houston | SHIFT
1  | root book                           | the flight through houston      | SHIFT
2  | root book the                       | flight through houston          | SHIFT
3  | root book the flight                | through houston                 | LEFTARC
4  | root book flight                    | through houston                 | SHIFT
5  | root book flight through            | houston                         | SHIFT
6  | root book flight through houston    |                                 | LEFTARC
7  | root book flight houston            |                                 | RIGHTARC
8  | root book flight                    |                                 | RIGHTARC
9  | root book                           |                                 | RIGHTARC
10 | root                                |                                 | Done
"""

# Boyd-Graber's first example. The slides after the twelfth are pictures.
NEWS = """
1  | root                           | economic news had little effect on financial markets . | Shift
2  | root economic                  | news had little effect on financial markets .          | Left
3  | root                           | news had little effect on financial markets .          | Shift
4  | root news                      | had little effect on financial markets .               | Left
5  | root                           | had little effect on financial markets .               | Shift
6  | root had                       | little effect on financial markets .                   | Shift
7  | root had little                | effect on financial markets .                          | Left
8  | root had                       | effect on financial markets .                          | Shift
9  | root had effect                | on financial markets .                                 | Shift
10 | root had effect on             | financial markets .                                    | Shift
11 | root had effect on financial   | markets .                                              | Left
12 | root had effect on             | markets .                                              | Right
"""

# His second one: the number and the next action of each slide, and the edge that the action adds.
GENERAL = """
1  | root                                 | I am the very model of a modern major general | Shift |
2  | root I                               | am the very model of a modern major general   | Left  | I ← am
3  | root                                 | am the very model of a modern major general   | Shift |
4  | root am                              | the very model of a modern major general      | Shift |
5  | root am the                          | very model of a modern major general          | Shift |
6  | root am the very                     | model of a modern major general               | Left  | very ← model
7  | root am the                          | model of a modern major general               | Left  | the ← model
8  | root am                              | model of a modern major general               | Shift |
9  | root am model                        | of a modern major general                     | Shift |
10 | root am model of                     | a modern major general                        | Shift |
11 | root am model of a                   | modern major general                          | Shift |
12 | root am model of a modern            | major general                                 | Shift |
13 | root am model of a modern major      | general                                       | Left  | major ← general
14 | root am model of a modern            | general                                       | Left  | modern ← general
15 | root am model of a                   | general                                       | Left  | a ← general
16 | root am model of                     | general                                       | Right | of → general
17 | root am model                        | of                                            | Right | model → of
18 | root am                              | model                                         | Right | am → model
19 | root                                 | am                                            | Right | root → am
20 |                                      | root                                          | Shift |
21 | root                                 |                                               | Done  |
"""

# His table of actions.
CAT = """
Shift |   |      |   |
Shift |   |      |   |
Left  | 3 | cat  | 2 | fat
Left  | 3 | cat  | 1 | the
Shift |   |      |   |
Left  | 4 | sat  | 3 | cat
Shift |   |      |   |
Shift |   |      |   |
Shift |   |      |   |
Left  | 7 | mat  | 6 | the
Right | 5 | on   | 7 | mat
Right | 4 | sat  | 5 | on
Right | 0 | root | 4 | sat
Shift |   |      |   |
"""

# The exercise of the UMD lecture: two ways to the same tree.
LATE = "SH LA_SBJ RA_PRD RA_IOBJ SH LA_DET RE RA_DOBJ RE RA_P"
EARLY = "SH LA_SBJ RA_PRD RA_IOBJ RE SH LA_DET RA_DOBJ RE RA_P"


def table(text):
    return [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]


def lecture(name):
    [found] = [s for s in load_corpus(LECTURES) if f"# sent_id = {name}" in s.comments]
    return found


def configuration(step):
    return [" ".join(step.stack), " ".join(step.buffer), step.action]


def built(steps, n):
    """The heads that a trace gives."""
    heads = {step.dependent: step.head for step in steps if step.head is not None}
    return tuple(heads[word] for word in range(1, n + 1))


def test_book_the_flight_through_houston():
    steps = trace_gold(lecture("flight"), "arc-standard")
    assert [[str(step.number), *configuration(step)] for step in steps] == table(FIG_14_8)


def test_economic_news():
    steps = trace_gold(lecture("news"), "arc-standard-buffer")
    assert [[str(step.number + 1), *configuration(step)] for step in steps[:12]] == table(NEWS)
    assert len(steps) == 19
    assert built(steps, 9) == (2, 3, 0, 5, 3, 5, 8, 6, 3)


def test_the_very_model_of_a_modern_major_general():
    steps = trace_gold(lecture("general"), "arc-standard-buffer")
    assert [[str(step.number + 1), *configuration(step), step.edge] for step in steps] == table(GENERAL)


def test_the_fat_cat():
    *steps, done = trace_gold(lecture("cat"), "arc-standard-buffer")
    columns = [(s.action, s.head, s.head_word, s.dependent, s.dependent_word) for s in steps]
    assert [["" if value is None else str(value) for value in row] for row in columns] == table(CAT)
    assert done.action == DONE


class TestHeWroteHerALetter:
    """The UMD lecture on arc-eager and its dynamic oracle."""

    gold = (2, 0, 2, 5, 2, 2)

    @pytest.mark.parametrize("moves", [LATE, EARLY])
    def test_both_sequences_build_the_tree(self, moves):
        steps = trace_gold(lecture("letter"), "arc-eager", moves=moves.split())
        assert built(steps, 6) == self.gold
        assert steps[-1].errors == 0
        assert all(step.costs[step.action] == 0 for step in steps[:-1])

    @pytest.mark.parametrize("oracle", ["static", "dynamic"])
    def test_algorithm_1_produces_the_first(self, oracle):
        *steps, _ = trace_gold(lecture("letter"), "arc-eager", oracle=oracle)
        assert " ".join(step.transition for step in steps) == LATE

    def test_zero_costs(self):
        *steps, _ = trace_gold(lecture("letter"), "arc-eager")
        assert [" ".join(step.zero_cost) for step in steps] == [
            "SH", "LA", "RA", "RA", "SH RE", "LA", "RE", "RA", "RE", "RA",
        ]  # fmt: skip

    @pytest.mark.parametrize(("oracle", "loss"), [("static", 3), ("dynamic", 1)])
    def test_after_a_wrong_shift(self, oracle, loss):
        """The 4th transition is SHIFT: the static oracle ends with three errors, the dynamic one with one."""
        steps = trace_gold(lecture("letter"), "arc-eager", oracle=oracle, moves=["SH", "LA", "RA", "SH"])
        assert steps[3].costs == {"SH": 1, "RA": 0}
        assert steps[4].costs == {"SH": 0, "LA": 0, "RA": 1}
        assert steps[-1].errors == loss


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_tree_is_built(system, n):
    trees = naive.all_trees(n) if system == "swap" else naive.projective_trees(n)
    for heads in trees:
        words = sentence([f"w{k}" for k in range(1, n + 1)], heads)
        for oracle in ("static",) if system == "swap" else ("static", "dynamic"):
            steps = trace_gold(words, system, oracle=oracle)
            assert built(steps, n) == heads
            assert steps[-1].errors == 0
            assert all(step.costs.get(step.action, 0) == 0 for step in steps)


@pytest.mark.parametrize("system", SYSTEMS)
def test_moves_are_those_of_the_naive_twin(system):
    names = find_system(system).move_names
    for heads in naive.projective_trees(4):
        config = naive.start(4)
        for step in trace_gold(sentence(["a", "b", "c", "d"], heads), system):
            words = ["root", "a", "b", "c", "d"]
            assert step.stack == tuple(words[node] for node in config[0])
            assert step.buffer == tuple(words[node] for node in config[1])
            possible = naive.moves(system, config)
            if system != "swap":
                assert sorted(step.costs) == sorted(names[move] for move in possible)
            if step.action != DONE:
                config = naive.after(system, config, names.index(step.action))


def test_crossing_arcs_are_lifted_unless_there_is_swap():
    crossing = sentence(["a", "b", "c", "d"], [3, 4, 0, 3], ["x", "y", "root", "z"])
    swapped = trace_gold(crossing, "swap")
    assert "SWAP" in [step.action for step in swapped]
    assert built(swapped, 4) == (3, 4, 0, 3)
    lifted = trace_gold(crossing, "arc-hybrid")
    assert built(lifted, 4) == (3, 3, 0, 3)
    assert "y↑z" in [step.label for step in lifted]
    assert lifted[-1].errors == 0


def test_unlabelled():
    steps = trace_gold(lecture("letter"), "arc-eager", labelled=False)
    assert [step.transition for step in steps][:3] == ["SH", "LA", "RA"]
    assert {step.label for step in steps} == {None}


def test_a_wrong_label_is_an_error():
    moves = ["SH", "LA_OBJ"]
    assert trace_gold(lecture("letter"), "arc-eager", moves=moves)[-1].errors == 1
    assert trace_gold(lecture("letter"), "arc-eager", moves=moves, labelled=False)[-1].errors == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"system": "arc-lazy"}, "system cannot be 'arc-lazy'"),
        ({"oracle": "delphi"}, "oracle cannot be 'delphi'"),
        ({"system": "swap", "oracle": "dynamic"}, "has no dynamic oracle"),
        ({"moves": ["JUMP"]}, "there is no move 'JUMP' in arc-standard; there are: SHIFT, LEFTARC, RIGHTARC"),
        ({"moves": ["SHIFT_x"]}, "SHIFT makes no arc"),
        ({"moves": ["SHIFT", "LEFTARC"]}, "move 2, LEFTARC, is not possible there; choose from: SHIFT"),
        ({"moves": ["SHIFT", "SHIFT", "LEFTARC", "RIGHTARC", "SHIFT"]}, "after 4 of them the tree is complete"),
    ],
)
def test_mistakes(settings, said):
    with pytest.raises(ConfigError, match=said):
        trace_gold(sentence(["a", "b"], [2, 0]), **settings)


def test_no_tree():
    with pytest.raises(CorpusError, match="a cycle"):
        trace_gold(sentence(["a", "b", "c"], [2, 1, 0]))
    with pytest.raises(CorpusError, match="has no head"):
        trace("arc-eager", ["a", "b"])
    with pytest.raises(CorpusError, match="without words"):
        trace_gold(Sentence(()))


@pytest.mark.jit
@pytest.mark.parametrize("mode", ["accurate", "fast"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_steps_of_a_parser_build_what_it_predicts(system, mode):
    corpus = builtin_corpus(train=60, dev=0, test=8)
    learner = {"name": "exploration", "passes": 2}
    parser = DependencyParser(system, mode=mode, bits=12, learner=learner).fit(corpus.train)
    for one, (heads, labels) in zip(corpus.test, parser.predict(corpus.test), strict=True):
        steps = trace(parser, one)
        arcs = {step.dependent: (step.head, step.label) for step in steps if step.head is not None}
        assert [arcs[word] for word in range(1, len(one) + 1)] == list(zip(heads, labels, strict=True))
        wrong = sum((t.head, t.deprel) != arcs[k] for k, t in enumerate(one, 1))
        assert steps[-1].errors == wrong or system == "arc-eager"  # where late arcs are errors even if right
        for step in steps[:-1]:
            if step.scores:
                best = step.action if mode == "fast" else step.transition
                assert best == next(iter(step.scores))
                assert len(step.scores) <= 3
            if step.label_scores:
                assert step.label == next(iter(step.label_scores))
            if step.costs:
                assert min(step.costs.values()) == 0


@pytest.mark.jit
def test_without_gold_trees_there_are_no_costs():
    corpus = builtin_corpus(train=60, dev=0, test=1)
    parser = DependencyParser(bits=12, learner={"name": "exploration", "passes": 2}).fit(corpus.train)
    bare = trace(parser, corpus.test[0].forms, labelled=False, top=1)
    assert all(not step.costs and step.errors is None and step.label is None for step in bare)
    assert all(len(step.scores) <= 1 for step in bare)
    assert all(not step.costs for step in trace(parser, corpus.test[0], gold=False))
    with pytest.raises(CorpusError, match="has no head"):
        trace(parser, ["a"], gold=True)
    with pytest.raises(CorpusError, match="without words"):
        trace(parser, [])
