"""Traces against the tables of the lectures, typed in by hand, and against the tree they should build."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dependency import naive
from tests.dependency.helpers import SMALL, sentence
from treewright.corpora import Sentence, load_corpus
from treewright.corpora.builtin import builtin_corpus
from treewright.dependency import DependencyParser, find_system, system_names
from treewright.dependency.trace import trace_gold
from treewright.errors import ConfigError, CorpusError
from treewright.reports.trace_transitions import transition_rows
from treewright.tracing import Trace

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


def rows(*args, **settings):
    """The rows of a table of transitions: moves and labels together."""
    return transition_rows(trace_gold(*args, **settings))


def named(row, name):
    return " ".join(("root", *row.trace.words)[k] for k in row.step.state[name])


def configuration(row):
    return [named(row, "stack"), named(row, "buffer"), row.action]


def built(steps, n):
    """The heads that the arcs of a trace give."""
    heads = {row.arc["dependent"]: row.arc["head"] for row in steps if row.arc is not None}
    return tuple(heads[word] for word in range(1, n + 1))


def errors(steps):
    return steps[-1].step.measures["errors"]


def test_book_the_flight_through_houston():
    steps = rows(lecture("flight"), "arc-standard")
    assert [[str(row.number), *configuration(row)] for row in steps] == table(FIG_14_8)


def test_economic_news():
    steps = rows(lecture("news"), "arc-standard-buffer")
    assert [[str(row.number + 1), *configuration(row)] for row in steps[:12]] == table(NEWS)
    assert len(steps) == 19
    assert built(steps, 9) == (2, 3, 0, 5, 3, 5, 8, 6, 3)


def test_the_very_model_of_a_modern_major_general():
    steps = rows(lecture("general"), "arc-standard-buffer")
    assert [[str(row.number + 1), *configuration(row), row.edge] for row in steps] == table(GENERAL)


def test_the_fat_cat():
    *steps, done = rows(lecture("cat"), "arc-standard-buffer")
    ends = [[row.arc["head"], row.word("head"), row.arc["dependent"], row.word("dependent")] if row.arc else [""] * 4
            for row in steps]  # fmt: skip
    assert [[row.action, *map(str, end)] for row, end in zip(steps, ends, strict=True)] == table(CAT)
    assert done.is_done


class TestHeWroteHerALetter:
    """The UMD lecture on arc-eager and its dynamic oracle."""

    gold = (2, 0, 2, 5, 2, 2)

    @pytest.mark.parametrize("moves", [LATE, EARLY])
    def test_both_sequences_build_the_tree(self, moves):
        trace = trace_gold(lecture("letter"), "arc-eager", moves=moves.split())
        assert trace.actions == tuple(moves.split())
        assert trace.result["heads"] == built(transition_rows(trace), 6) == self.gold
        assert trace.steps[-1].measures == {"errors": 0.0}
        assert trace.first_error is None

    @pytest.mark.parametrize("oracle", ["static", "dynamic"])
    def test_algorithm_1_produces_the_first(self, oracle):
        assert " ".join(trace_gold(lecture("letter"), "arc-eager", oracle=oracle).actions) == LATE

    def test_zero_costs(self):
        *steps, _ = rows(lecture("letter"), "arc-eager")
        assert [" ".join(move for move, cost in row.costs.items() if cost == 0) for row in steps] == [
            "SH", "LA", "RA", "RA", "SH RE", "LA", "RE", "RA", "RE", "RA",
        ]  # fmt: skip
        # of the labels of an arc that is gold, one is right; those of an arc that is wrong all cost the same
        assert steps[1].step.zero_cost == steps[1].step.expert == ("LA_SBJ",)
        assert {c.cost for c in steps[1].step.candidates if c.action.startswith("RA")} == {2.0}

    @pytest.mark.parametrize(("oracle", "loss"), [("static", 3), ("dynamic", 1)])
    def test_after_a_wrong_shift(self, oracle, loss):
        """The 4th transition is SHIFT: the static oracle ends with three errors, the dynamic one with one."""
        steps = rows(lecture("letter"), "arc-eager", oracle=oracle, moves=["SH", "LA", "RA", "SH"])
        assert steps[3].costs == {"SH": 1, "RA": 0}
        assert steps[4].costs == {"SH": 0, "LA": 0, "RA": 1}
        assert errors(steps) == loss
        assert steps[0].trace.first_error.number == 3


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_tree_is_built(system, n):
    trees = naive.all_trees(n) if system == "swap" else naive.projective_trees(n)
    for heads in trees:
        words = sentence([f"w{k}" for k in range(1, n + 1)], heads)
        for oracle in ("static",) if system == "swap" else ("static", "dynamic"):
            trace = trace_gold(words, system, oracle=oracle)
            assert built(transition_rows(trace), n) == trace.result["heads"] == heads
            assert trace.steps[-1].measures == {"errors": 0.0}
            assert trace.first_error is None
            assert all(step.correct for step in trace.decisions)


@pytest.mark.parametrize("system", SYSTEMS)
def test_moves_are_those_of_the_naive_twin(system):
    names = find_system(system).move_names
    for heads in naive.projective_trees(4):
        config = naive.start(4)
        for row in rows(sentence(["a", "b", "c", "d"], heads), system):
            assert row.step.state["stack"] == tuple(config[0])
            assert row.step.state["buffer"] == tuple(config[1])
            if row.is_done:
                break
            assert sorted(row.costs) == sorted(names[move] for move in naive.moves(system, config))
            config = naive.after(system, config, names.index(row.action))


def test_crossing_arcs_are_lifted_unless_there_is_swap():
    crossing = sentence(["a", "b", "c", "d"], [3, 4, 0, 3], ["x", "y", "root", "z"])
    swapped = rows(crossing, "swap")
    assert "SWAP" in [row.action for row in swapped]
    assert built(swapped, 4) == (3, 4, 0, 3)
    lifted = rows(crossing, "arc-hybrid")
    assert built(lifted, 4) == (3, 3, 0, 3)
    assert "y↑z" in [row.label for row in lifted]
    assert errors(lifted) == 0
    assert lifted[0].trace.result == {"heads": (3, 4, 0, 3), "labels": ("x", "y", "root", "z")}


def test_unlabelled():
    trace = trace_gold(lecture("letter"), "arc-eager", labelled=False)
    assert trace.actions[:3] == ("SH", "LA", "RA")
    assert {arc["label"] for arc in trace.steps[-1].state["arcs"]} == {None}
    assert {len({c.action for c in step.candidates}) - len(step.candidates) for step in trace.steps} == {0}


def test_a_wrong_label_is_an_error():
    moves = ["SH", "LA_OBJ"]
    assert errors(rows(lecture("letter"), "arc-eager", moves=moves)) == 1
    assert errors(rows(lecture("letter"), "arc-eager", moves=moves, labelled=False)) == 0


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
        trace_gold(Sentence.from_words(["a", "b"]), "arc-eager")
    with pytest.raises(CorpusError, match="without words"):
        trace_gold(Sentence(()))


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=60, dev=0, test=8)


@pytest.fixture(scope="module", params=[(s, m) for s in SYSTEMS for m in ("accurate", "fast")], ids=" ".join)
def parser(request, corpus):
    system, mode = request.param
    learner = {"name": "exploration", "passes": 2}
    return DependencyParser(system, mode=mode, features=SMALL, bits=12, learner=learner).fit(corpus.train)


@pytest.mark.jit
def test_the_steps_of_a_parser_build_what_it_predicts(parser, corpus):
    for one, (heads, labels) in zip(corpus.test, parser.arcs(corpus.test), strict=True):
        trace = parser.trace(one, one)
        assert trace.result == {"heads": tuple(heads), "labels": tuple(labels)}
        assert trace.metadata["moves"] == find_system(parser.system).move_names
        steps = transition_rows(trace)
        arcs = {row.arc["dependent"]: (row.arc["head"], row.arc["label"]) for row in steps if row.arc is not None}
        assert [arcs[word] for word in range(1, len(one) + 1)] == list(zip(heads, labels, strict=True))
        wrong = sum((t.head, t.deprel) != arcs[k] for k, t in enumerate(one, 1))
        assert errors(steps) == wrong or parser.system == "arc-eager"  # where late arcs are errors even if right
        for step in trace.decisions:
            assert step.action == step.best[0].action
            assert sum(candidate.probability for candidate in step.candidates) == pytest.approx(1.0)
            assert min(candidate.cost for candidate in step.candidates) == 0 or parser.system == "swap"
            assert step.expert == step.zero_cost
        assert all(row.label_step is not None for row in steps if row.arc) == (parser.mode == "fast")


@pytest.mark.jit
def test_the_expert_is_followed(parser, corpus):
    for one in corpus.test[:3]:
        trace = parser.trace(one, one, follow="gold")
        assert trace.first_error is None
        assert trace.result["heads"] == tuple(token.head for token in one)
        assert trace.steps[-1].measures == {"errors": 0.0}


@pytest.mark.jit
def test_costs_do_not_depend_on_the_parsers_oracle_and_weights_of_labels(corpus):
    learner = {"name": "exploration", "passes": 1}
    parser = DependencyParser(features=SMALL, bits=10, learner=learner).fit(corpus.train)
    found = parser.trace(corpus.test[0], corpus.test[0])
    parser.oracle, parser.label_weight = "static", 0.25
    assert parser.trace(corpus.test[0], corpus.test[0]) == found
    assert (parser.oracle, parser.label_weight) == ("static", 0.25)
    bare = parser.trace(corpus.test[0], corpus.test[0], labelled=False)
    assert bare.actions == found.actions
    assert bare.steps[-1].measures["errors"] <= found.steps[-1].measures["errors"]


@pytest.mark.jit
def test_without_gold_trees_there_are_no_costs(parser, corpus):
    bare = parser.trace(corpus.test[0].forms, labelled=False)
    assert not bare.has_gold
    assert all(c.cost is None for step in bare.steps for c in step.candidates)
    assert all(step.correct is None and not step.measures and not step.expert for step in bare.steps)
    assert {row.label for row in transition_rows(bare)} == {""}
    assert parser.trace(corpus.test[0]).first_error is None
    with pytest.raises(CorpusError, match="has no head"):
        parser.trace(["a"], Sentence.from_words(["a"]))
    with pytest.raises(CorpusError, match="without words"):
        parser.trace([])
    with pytest.raises(CorpusError, match="other words"):
        parser.trace(["a"], corpus.test[0])
    with pytest.raises(ConfigError, match="follow cannot be 'me'"):
        parser.trace(["a"], follow="me")
    with pytest.raises(ConfigError, match="follow 'gold' needs the right annotation"):
        parser.trace(["a"], follow="gold")
    with pytest.raises(ConfigError, match="'a b' is not a sentence"):
        parser.trace("a b")
    with pytest.raises(TypeError, match="kind"):
        parser.trace(["a"], kind="pops")
    assert Trace.from_json(bare.to_json()) == bare


@pytest.mark.jit
@pytest.mark.parametrize(("system", "mode", "beam"), [("arc-hybrid", "accurate", 4), ("arc-eager", "fast", 3)])
def test_the_hypothesis_that_wins_is_followed(system, mode, beam, corpus):
    settings = {"features": SMALL, "bits": 8, "learner": {"name": "exploration", "passes": 1}}
    parser = DependencyParser(system, mode=mode, beam=beam, **settings).fit(corpus.train)
    wins = 0
    for one, (heads, labels) in zip(corpus.test, parser.arcs(corpus.test), strict=True):
        trace = parser.trace(one)
        assert trace.result == {"heads": tuple(heads), "labels": tuple(labels)}
        wins += any(step.action != step.best[0].action for step in trace.decisions)
    assert wins, "with a beam, the best action of a step is not always taken"


@pytest.mark.jit
def test_what_if_another_action_is_taken(parser, corpus):
    one = Sentence.from_words(corpus.test[0].forms)
    trace = parser.trace(one)
    assert parser.trace(one, prefix=trace.actions) == trace
    step = next(step for step in trace.decisions if len(step.candidates) > 1)
    other = next(each.action for each in step.candidates if each.action != step.action)
    changed = parser.trace(one, prefix=[*trace.actions[: step.number], other])
    assert changed.actions[: step.number + 1] == (*trace.actions[: step.number], other)
    assert changed.steps[: step.number] == trace.steps[: step.number]
    for decision in changed.decisions[step.number + 1 :]:  # then the parser goes on by itself
        assert decision.choice == decision.best[0]
    with pytest.raises(ConfigError, match=r"prefix.*NOTHING"):
        parser.trace(one, prefix=["NOTHING"])
    with pytest.raises(ConfigError, match="prefix"):
        parser.trace(one, prefix=[*trace.actions, "SHIFT"])


@pytest.mark.jit
def test_why_an_action_is_taken(parser, corpus):
    one = Sentence.from_words(corpus.test[0].forms)
    trace, plain = parser.trace(one, explain=True), parser.trace(one)
    assert trace.actions == plain.actions
    for step in trace.decisions:
        names = [feature.name for feature in step.choice.features]
        assert all(" = " in name for name in names)
        assert len(step.choice.features) <= 24
    few = [step for step in trace.decisions if 0 < len(step.choice.features) < 24]
    for step in few:  # where all features are listed, their weights are the score
        assert sum(feature.share for feature in step.choice.features) == pytest.approx(
            step.choice.score, rel=1e-4, abs=1e-3
        )


@pytest.mark.jit
def test_a_beam_has_a_lineage(parser, corpus):
    one = Sentence.from_words(corpus.test[0].forms)
    trace = parser.trace(one, beam=3)
    lineage = trace.metadata["lineage"]
    assert trace.metadata["beam"] == 3
    assert all(len(generation) <= 3 for generation in lineage)
    place, actions = 0, []
    for generation in reversed(lineage):  # back from the hypothesis that wins
        actions.append(generation[place]["action"])
        place = generation[place]["parent"]
    assert tuple(action for action in reversed(actions) if action is not None) == trace.actions
    assert "lineage" not in parser.trace(one).metadata
