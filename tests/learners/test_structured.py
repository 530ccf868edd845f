"""Structured learning with beam search: passes against a slow twin and by hand, and training with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from tests.search.naive import THE_EXPERT, Episode
from tests.toys import (
    CUE,
    FORCED,
    OPEN,
    SKIP,
    Picking,
    Token,
    Track,
    random_picking,
    random_track,
    sha,
    treacherous_track,
)
from treewright.corpora import Sentence, builtin_corpus
from treewright.errors import ConfigError, TaskError
from treewright.learners import (
    STRUCTURED,
    DAgger,
    EarlyUpdate,
    MaxViolation,
    Structured,
    make_learner,
    table,
    train,
)
from treewright.learners.structured import new_lattice, new_outcome, structured_pass
from treewright.policies import Perceptron
from treewright.policies.updates import Model, final_weights, new_model
from treewright.search import Packed, Task, cross2
from treewright.search.engine import Shard
from treewright.search.examples import new_log
from treewright.search.running import as_policy, check_steps, kernel_for, prepare, scratch_for, sentences_of
from treewright.search.scoring import place
from treewright.tagging import SequenceLabelling, Tagger
from treewright.tagging.words import word_rows

BITS = 10
ROWS = 1 << BITS
VIOLATIONS = ("early", "max")


# ---- the twin: every hypothesis is an object that knows all its actions, and beams are sorted lists


class Hypothesis(NamedTuple):
    """An episode so far: its state, its actions, their score in sum."""

    episode: Episode
    actions: tuple[int, ...] = ()
    score: float = 0.0

    def successors(self, weights: Any) -> Iterator[Hypothesis]:
        """One hypothesis for each action; itself, if it is finished."""
        if self.episode.is_final():
            yield self
            return
        features, extra = self.episode.features(), self.episode.action_features()
        for action, own in zip(self.episode.actions(), extra, strict=True):
            total = np.float32(0.0)
            for at in places(features, action, own, weights.shape):
                total += weights[at]
            yield Hypothesis(self.episode.after(action), (*self.actions, action), self.score + float(total))


class Told(NamedTuple):
    """What a pass says of one sentence, and the step it learned from."""

    loss: float
    steps: int
    violations: int
    chosen: int


def places(features, action, own, shape):
    """Where the weights of an action are: of the state's features crossed with it, and of its own."""
    rows, width = shape
    return [place(feature, action, rows, width) for feature in features] + [(feature % rows, 0) for feature in own]


def seen_along(packed, i, actions, shape):
    """Φ: how often each weight counts in an episode."""
    episode, counts = Episode(packed, i), Counter()
    for action in actions:
        own = episode.action_features()[episode.actions().index(action)]
        counts.update(places(episode.features(), action, own, shape))
        episode = episode.after(action)
    return counts


def naive_sentence(packed: Packed, i: int, weights: Any, width: int, violation: str) -> Told:
    """Search a sentence and learn from it."""
    gold = [Hypothesis(Episode(packed, i))]
    while not gold[-1].episode.is_final():
        action = gold[-1].episode.decision(weights, THE_EXPERT)
        gold.append(next(h for h in gold[-1].successors(weights) if h.actions[-1] == action))

    def gold_at(step):
        return gold[min(step, len(gold) - 1)]

    beams = [[gold[0]]]
    while not all(hypothesis.episode.is_final() for hypothesis in beams[-1]):
        candidates = [successor for hypothesis in beams[-1] for successor in hypothesis.successors(weights)]
        beams.append(sorted(candidates, key=lambda hypothesis: -hypothesis.score)[:width])
        fell_out = gold_at(len(beams) - 1).actions not in [hypothesis.actions for hypothesis in beams[-1]]
        if violation == "early" and fell_out:
            break

    best, steps = beams[-1][0], len(beams) - 1
    last, more = best.episode, 0
    while not last.is_final():
        last, more = last.after(last.decision(weights, THE_EXPERT)), more + 1
    if best.actions == gold[-1].actions:
        return Told(last.loss(), steps + more, 0, 0)

    def best_at(step):
        return beams[min(step, steps)][0]

    chosen = steps
    if violation == "max":
        wrong = [t for t in range(1, max(steps, len(gold) - 1) + 1) if best_at(t).actions != gold_at(t).actions]
        chosen = max(wrong, key=lambda t: best_at(t).score - gold_at(t).score)
    assert best_at(chosen).score >= gold_at(chosen).score  # a violation, or the update would not be one
    for at, count in seen_along(packed, i, gold_at(chosen).actions, weights.shape).items():
        weights[at] += np.float32(count)
    for at, count in seen_along(packed, i, best_at(chosen).actions, weights.shape).items():
        weights[at] -= np.float32(count)
    return Told(last.loss(), steps + more, 1, chosen)


def naive_pass(packed, order, weights, width, violation):
    """A pass, and the weights after each sentence."""
    told, history = {}, []
    for i in order:
        told[i] = naive_sentence(packed, i, weights, width, violation)
        history.append(weights.copy())
    return [told[i] for i in range(len(packed))], history


# ---- the kernel


def some_weights(packed, seed=0):
    """Weights in quarters: their sums are exact in 32 bits, and ties occur."""
    shape = (ROWS, packed.task.table_width)
    return (np.random.default_rng(seed).integers(-4, 5, shape) / 4).astype(np.float32)


def model_of(packed, weights=None):
    model = new_model(Perceptron(), ROWS, packed.task.table_width)
    if weights is not None:
        model.weights[:] = weights
    return model


def run_pass(packed: Packed, model: Model, order, width, violation):
    """A pass by the kernel: loss, steps and violations of each sentence."""
    n, task = len(packed), packed.task
    outcome = new_outcome(n)
    control, early = np.zeros(2, np.int64), violation == "early"
    scorer = prepare(as_policy(model.weights), packed, np.arange(n))
    online = Perceptron().online(model)
    if task.is_plain:
        online = online._replace(kind=online.kind.plain())
    lattice = new_lattice(width, int(np.diff(packed.state_at).max()), int(packed.bounds.max()))
    run, scratch, shard = kernel_for(packed, structured_pass), scratch_for(scorer, task), Shard(0, n, control, 1)
    order = np.asarray(order, np.int64)
    # fmt: off
    run(task, sentences_of(packed), order, shard, scorer, online, early, lattice, scratch, new_log(1), outcome)
    # fmt: on
    check_steps(packed, outcome.trouble)
    assert control[1] == n
    return list(zip(*(array.tolist() for array in outcome[:3]), strict=True))


def pack_words(sentences):
    """Sentences for the task of the tagger."""
    labels = sorted({label for s in sentences for label in s.column("upos")})
    forms = [form for s in sentences for form in s.forms]
    numbers, table = word_rows(forms, {form.lower() for form in forms})
    lengths = np.array([len(s) for s in sentences], np.int32)
    at = np.concatenate([[0], np.cumsum(lengths)])
    gold = np.array([labels.index(label) for s in sentences for label in s.column("upos")], np.int32)
    task = SequenceLabelling(len(labels), table)
    return task.packed(lengths, {"words": numbers, "words_at": at, "gold": gold, "gold_at": at})


class Staged(Task):
    """Name a number in two decisions: is it even or odd (moves 0, 1), and then which one (labels, from 2 on)?

    It declares ``width``, so that its labels live in blocks of their own. A 0 needs no label.
    """

    state = {"position": 1, "parity": 1, "asks": 1, "errors": 1}
    instance = ("value",)
    n_actions = 8
    width = 2
    max_steps = "2*n"
    max_features = 3

    def encode(self, sentence):
        return {"value": np.array(sentence, np.int32)}

    @staticmethod
    def is_final(x, state):
        return state.position[0] >= x.n

    @staticmethod
    def actions(x, state, out):
        if state.asks[0] == 0:
            out[0], out[1] = 0, 1
            return 2
        for k in range(3):
            out[k] = 2 + 2 * k + state.parity[0]
        return 3

    @staticmethod
    def expert_costs(x, state, actions, n, out):
        value = x.value[state.position[0]]
        for k in range(n):
            right = actions[k] == value % 2 if state.asks[0] == 0 else actions[k] == 2 + value
            out[k] = 0.0 if right else 1.0

    @staticmethod
    def step(x, state, action):
        value = x.value[state.position[0]]
        if state.asks[0] == 0:
            state.parity[0] = action
            state.asks[0] = 0 if value == 0 else 1
            state.errors[0] += action != value % 2
        else:
            state.asks[0] = 0
            state.errors[0] += action != 2 + value
        if state.asks[0] == 0:
            state.position[0] += 1

    @staticmethod
    def features(x, state, out):
        i = state.position[0]
        out[0] = cross2(1, x.value[i], state.asks[0])
        out[1] = cross2(2, x.value[i - 1] if i > 0 else 9, state.asks[0])
        out[2] = cross2(3, state.parity[0], state.asks[0])
        return 3

    @staticmethod
    def loss(x, state):
        return np.float64(state.errors[0])


@pytest.fixture(scope="module")
def corpora():
    rng = np.random.default_rng(61)
    sentences, _, _ = builtin_corpus(train=4, dev=1, test=1)
    return {
        "track": Track().pack([[], *random_track(rng, 14, 6)]).plain(),
        "picking": Picking().pack(random_picking(rng, 10, 5)),
        "tagging": pack_words(sentences),
        "staged": Staged().pack([rng.integers(0, 6, n).tolist() for n in (1, 2, 3, 4, 5)]).plain(),
    }  # two of the four are compiled: actions with structure, and a task of the library


@pytest.fixture(scope="module")
def track():
    return Track().pack(random_track(np.random.default_rng(62), 25, 5)).plain()


@pytest.mark.parametrize("width", [2, 5])
@pytest.mark.parametrize("violation", VIOLATIONS)
@pytest.mark.parametrize("corpus", ["track", "picking", "tagging", "staged"])
def test_passes_equal_the_twin(corpora, corpus, violation, width):
    packed = corpora[corpus]
    for weights in (some_weights(packed), np.zeros_like(some_weights(packed))):
        model = model_of(packed, weights)
        history = [weights.copy()]
        for pass_number in range(3):
            order = np.random.default_rng(pass_number).permutation(len(packed))
            told = run_pass(packed, model, order, width, violation)
            expected, later = naive_pass(packed, order.tolist(), weights, width, violation)
            assert told == [one[:3] for one in expected]
            np.testing.assert_array_equal(model.weights, weights)
            history += later
        assert model.clock[0] == 3 * len(packed)
        mean = np.mean(history, axis=0, dtype=np.float64)
        if not history[0].any():  # the mean is that of what was learned
            np.testing.assert_allclose(final_weights(model, Perceptron()), mean, atol=1e-6)


@pytest.mark.jit
@pytest.mark.parametrize("violation", VIOLATIONS)
@pytest.mark.parametrize("corpus", ["picking", "tagging"])
def test_compiled_and_interpreted_passes_agree_to_the_bit(corpora, corpus, violation):
    compiled, found = corpora[corpus], []
    weights = np.random.default_rng(3).normal(size=some_weights(compiled).shape)
    for packed in (compiled, compiled.plain()):
        model = model_of(packed, weights)
        told = [run_pass(packed, model, range(len(packed)), 3, violation) for _ in range(2)]
        found.append((told, sha(*model)))
    assert found[0] == found[1]


def test_the_cases_that_matter_are_among_those_of_the_twin(corpora):
    """Prefixes from the first step to beyond the end of the search, and no update at all."""
    packed = corpora["track"]
    told = {v: naive_pass(packed, range(len(packed)), some_weights(packed), 2, v)[0] for v in VIOLATIONS}
    for violation in VIOLATIONS:
        assert {one.violations for one in told[violation]} == {0, 1}
        assert len({one.chosen for one in told[violation]}) > 3
    assert any(a.chosen < b.chosen for a, b in zip(told["early"], told["max"], strict=True))


# ---- by hand

LOOKS = [(2, CUE, 0), (3, 1, 0), (4, 1, 0), (5, CUE, 0)]  # what Track sees of a cue of value 1, on the track


def rows_of(looks):
    return [cross2(*look) % ROWS for look in looks]


def expected_weights(packed, changes):
    """Weights that are zero but for changes: (what is seen, action, by how much)."""
    weights = np.zeros((ROWS, packed.task.n_actions), np.float32)
    for looks, action, amount in changes:
        for row in rows_of(looks):
            weights[row, action] += amount
    return weights


@pytest.mark.parametrize("violation", VIOLATIONS)
def test_where_the_gold_stays_in_the_beam_whole_episodes_are_compared_less_what_they_share(violation):
    packed = Track().pack([[Token(CUE, 0), Token(CUE, 1)]])
    model = model_of(packed)
    # all scores are 0, and ties go to label 0: the best is 0 0, the gold 0 1 comes after it
    assert run_pass(packed, model, [0], 2, violation) == [(1.0, 2, 1)]
    np.testing.assert_array_equal(model.weights, expected_weights(packed, [(LOOKS, 1, 1.0), (LOOKS, 0, -1.0)]))


@pytest.mark.parametrize("violation", VIOLATIONS)
def test_where_the_search_ends_with_the_gold_episode_nothing_changes_but_time_goes_on(violation):
    packed = Track().pack([[Token(CUE, 0), Token(CUE, 0)], []])
    model = model_of(packed)
    assert run_pass(packed, model, [0, 1], 2, violation) == [(0.0, 2, 0), (0.0, 0, 0)]
    assert not model.weights.any()
    assert model.clock[0] == 2


@pytest.mark.parametrize(("violation", "steps_learned"), [("early", 1), ("max", 2)])
def test_where_the_gold_falls_out_early_updates_stop_and_the_largest_violation_may_be_later(violation, steps_learned):
    packed = Track().pack([[Token(CUE, 2), Token(CUE, 2)]])
    start = expected_weights(packed, [([(2, CUE, 0)], 0, 1.0)])  # label 0 wins by 1 everywhere
    model = model_of(packed, start)
    # the gold is 2 2. Beams: 0, 1 and then 0 0, 0 1. Off the track the right label is 0, so 0 0 has one error
    assert run_pass(packed, model, [0], 2, violation) == [(1.0, 2, 1)]
    on = [(2, CUE, 0), (3, 2, 0), (4, 2, 0), (5, CUE, 0)]
    off = [(2, CUE, 0), (3, 2, 0), (4, 2, 1), (5, CUE, 1)]
    changes = [(on, 2, 1.0), (on, 0, -1.0), (on, 2, 1.0), (off, 0, -1.0)][: 2 * steps_learned]
    np.testing.assert_array_equal(model.weights, start + expected_weights(packed, changes))


def test_the_gold_episode_may_be_longer_than_all_that_the_search_finds():
    packed = Track().pack([[Token(OPEN, 0)] * 4])
    looks = [(2, OPEN, 0), (3, 0, 0), (4, 0, 0), (5, OPEN, 0)]
    start = np.zeros((ROWS, 4), np.float32)
    start[rows_of(looks)[0]] = [-1.0, -1.0, -1.0, 1.0]
    model = model_of(packed, start)
    # SKIP SKIP scores 2; the best at one step exceeds the gold by 2, at two by 4, and then by 5 and 6
    twin = start.copy()
    assert naive_sentence(packed, 0, twin, 2, "max").chosen == 4
    told = run_pass(packed, model, [0], 2, "max")
    assert told[0][0] == 4.0
    assert told[0][2] == 1
    changes = [(looks, 0, 4.0), (looks, SKIP, -2.0)]
    np.testing.assert_array_equal(model.weights, start + expected_weights(packed, changes))
    np.testing.assert_array_equal(model.weights, twin)


def test_a_finished_gold_episode_waits_for_the_others_and_may_still_fall_out():
    class Short(Track):
        """The expert skips, so that the gold episode is the short one."""

        @staticmethod
        def expert_costs(x, state, actions, n, out):
            for k in range(n):
                out[k] = 0.0 if actions[k] == SKIP else 1.0

    packed = Short().plain().pack([[Token(OPEN, 0)] * 4])
    for seed in range(30):
        weights = some_weights(packed, seed)
        for violation in VIOLATIONS:
            model, twin = model_of(packed, weights), weights.copy()
            told = naive_sentence(packed, 0, twin, 2, violation)
            assert run_pass(packed, model, [0], 2, violation) == [told[:3]]
            np.testing.assert_array_equal(model.weights, twin)


def test_an_action_without_alternative_is_learned_about_as_it_is_scored_in_decoding():
    packed = Track().pack([[Token(CUE, 1), Token(FORCED, 1)]])
    model = model_of(packed)
    # the beam is 0 2 and 1 1, the gold; off the track 2 is forced and on it 1
    assert run_pass(packed, model, [0], 2, "early") == [(1.0, 2, 1)]
    forced_on = [(2, FORCED, 0), (3, 1, 0), (4, 1, 0), (5, FORCED, 0)]
    forced_off = [(2, FORCED, 0), (3, 1, 0), (4, 1, 1), (5, FORCED, 1)]
    changes = [(LOOKS, 1, 1.0), (LOOKS, 0, -1.0), (forced_on, 1, 1.0), (forced_off, 2, -1.0)]
    np.testing.assert_array_equal(model.weights, expected_weights(packed, changes))


# ---- training


@pytest.mark.parametrize("name", STRUCTURED)
def test_it_solves_tasks_that_can_be_solved(track, name):
    picking = Picking().pack(random_picking(np.random.default_rng(32), 12, 5))
    for packed in (track, picking):
        trained = train(make_learner({"name": name, "passes": 10}), packed, bits=BITS, beam=3)
        assert trained.policy.decode(packed, beam=3).losses.sum() == 0.0
        assert trained.history[0].examples > trained.history[-1].examples
        assert trained.history[0].loss > trained.history[-1].loss == 0.0
        assert {row.beta for row in trained.history} == {0.0}


@pytest.mark.parametrize("violation", VIOLATIONS)
def test_training_is_passes_over_the_shuffled_corpus(track, violation):
    learner = Structured(violation=violation, passes=3)
    trained = train(learner, track, bits=BITS, beam=2, seed=4)
    plain = train(replace(learner, update=Perceptron(averaged=False)), track, bits=BITS, beam=2, seed=4)
    weights, history, told = model_of(track).weights, [model_of(track).weights], []
    for iteration in (1, 2, 3):
        order = np.arange(len(track))
        np.random.default_rng([4, iteration]).shuffle(order)
        told, later = naive_pass(track, order.tolist(), weights, 2, violation)
        history += later
    np.testing.assert_array_equal(plain.policy.weights[0], weights)
    np.testing.assert_allclose(trained.policy.weights[0], np.mean(history, axis=0, dtype=np.float64), atol=1e-6)
    for last in (trained.history[-1], plain.history[-1]):
        assert last.decisions == sum(one.steps for one in told)
        assert last.examples == sum(one.violations for one in told)
        assert last.loss == pytest.approx(sum(one.loss for one in told) / last.decisions)


@pytest.mark.parametrize("name", ["early-update", "max-violation"])
def test_one_seed_gives_one_result_whatever_the_number_of_threads(name):
    packed = Track().pack(treacherous_track(np.random.default_rng(1), 20, 6))

    def trained(**options):
        return train(make_learner({"name": name, "passes": 2}), packed, bits=BITS, **{"beam": 3, **options})

    first, again, threaded = trained(seed=7), trained(seed=7), trained(seed=7, jobs=3)
    np.testing.assert_array_equal(first.policy.weights, again.policy.weights)
    np.testing.assert_array_equal(first.policy.weights, threaded.policy.weights)
    assert not np.array_equal(first.policy.weights, trained(seed=8).policy.weights)
    assert not np.array_equal(first.policy.weights, trained(seed=7, beam=2).policy.weights)


def score_on(packed):
    return lambda policy: -float(policy.decode(packed, beam=3).losses.sum())


def without_time(history):
    return [replace(row, seconds=0.0) for row in history]


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("name", ["early-update", "max-violation"])
def test_resumed_training_is_the_same_to_the_bit(track, name, averaged, tmp_path):
    def trained(iterations, **options):
        learner = {"name": name, "passes": iterations, "update": {"name": "perceptron", "averaged": averaged}}
        return train(learner, track, bits=BITS, beam=3, seed=5, evaluate=score_on(track), **options)

    whole = trained(4)
    trained(2, checkpoint=tmp_path)
    reported, stages = [], []
    resumed = trained(
        4, checkpoint=tmp_path, resume=True, report=reported.append, progress=lambda *told: stages.append(told)
    )
    assert [row.iteration for row in reported] == [3, 4]
    assert stages[-1] == ("learning", len(track), len(track))
    np.testing.assert_array_equal(whole.policy.weights, resumed.policy.weights)
    assert without_time(whole.history) == without_time(resumed.history)
    assert [file.name for file in tmp_path.iterdir()] == ["state.npz"]


def test_training_with_another_beam_cannot_be_resumed(track, tmp_path):
    train(MaxViolation(passes=1), track, bits=BITS, beam=3, checkpoint=tmp_path)
    with pytest.raises(ConfigError, match="belongs to a training with other data or settings"):
        train(MaxViolation(passes=2), track, bits=BITS, beam=4, checkpoint=tmp_path, resume=True)


def test_an_interruption_stops_in_the_pass(track, tmp_path):
    def interrupt(stage, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(MaxViolation(), track, bits=BITS, beam=3, progress=interrupt, checkpoint=tmp_path)


def test_imitation_does_not_look_at_the_beam(track):
    one, other = (train(DAgger(passes=2), track, bits=BITS, beam=beam).policy for beam in (1, 5))
    np.testing.assert_array_equal(one.weights, other.weights)


# ---- settings


@pytest.mark.parametrize("name", STRUCTURED)
def test_settings_of_a_learner_make_it_again(name):
    learner = make_learner(name)
    assert isinstance(learner, Structured)
    assert learner.name == name
    assert learner.source
    assert make_learner(learner.params()) == learner
    assert make_learner(learner) is learner
    assert name not in [row["learner"] for row in table()]


def test_names_stand_for_violations():
    assert (EarlyUpdate().violation, MaxViolation().violation) == ("early", "max")
    assert make_learner({"name": "Max_Violation", "passes": 3}) == MaxViolation(passes=3)
    assert make_learner({"name": "structured", "violation": "early"}) == Structured(violation="early")
    assert Structured(update="perceptron").update == Perceptron(averaged=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"violation": "late"}, "violation cannot be 'late'; it is one of: max, early"),
        ({"passes": 0}, "passes must be a whole number from 1"),
        ({"update": "arow"}, "update cannot be 'arow' .*'structured'.* the perceptron only"),
        ({"update": "adam"}, "update cannot be 'adam'"),
        ({"update": Perceptron(margin=1.0)}, "margin must be 0 .*'structured'"),
    ],
)
def test_choices_that_do_not_go_together_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        Structured(**settings)


def test_unknown_settings_are_named_and_so_are_all_learners():
    with pytest.raises(ConfigError, match=r"beta is no setting of .*'early-update', .*: passes, violation, update"):
        make_learner({"name": "early-update", "beta": 0.5})
    with pytest.raises(ConfigError, match=r"'late'.*: supervised, .*, max-violation"):
        make_learner("late")


def test_a_beam_is_needed(track):
    for options in ({}, {"beam": 1}):
        with pytest.raises(ConfigError, match="beam must be at least 2 for the learner 'max-violation'"):
            train("max-violation", track, bits=BITS, **options)
    with pytest.raises(ConfigError, match="beam must be a whole number"):
        train("max-violation", track, bits=BITS, beam=0)


def test_a_row_of_ones_own_is_known_by_name(monkeypatch):
    @dataclass(frozen=True, kw_only=True)
    class Mine(EarlyUpdate):
        name: ClassVar[str] = "mine"
        passes: int = 3

    monkeypatch.setitem(STRUCTURED, "mine", Mine)
    assert make_learner("mine") == Mine(passes=3)


# ---- trouble


class DeadEnd(Track):
    @staticmethod
    def actions(x, state, out):
        return 0 if state.off[0] == 1 else Track.actions(x, state, out)


class Generous(Track):
    @staticmethod
    def actions(x, state, out):
        return out.shape[0] + 1


class Seer(Track):
    @staticmethod
    def features(x, state, out):
        return out.shape[0] + 1


class Hasty(Track):
    max_steps = "n - 1"


class Loiterer(Track):
    """Only the expert ever arrives."""

    @staticmethod
    def step(x, state, action):
        if action == x.value[state.position[0]]:
            state.position[0] += 1


@pytest.mark.parametrize("violation", VIOLATIONS)
@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (DeadEnd, "offers no action"),
        (Generous, "more actions than `n_actions`"),
        (Seer, "more features than `max_features`"),
        (Hasty, "is not final after 2 steps"),
        (Loiterer, "is not final after 3 steps"),
    ],
)
def test_a_task_that_breaks_the_contract_is_told_so(broken, message, violation):
    packed = broken().plain().pack([[Token(CUE, 0)] * 3])
    with pytest.raises(TaskError, match=rf"task '{broken.__name__}': sentence 0 \(of length 3\) .*{message}"):
        run_pass(packed, model_of(packed), [0], 8, violation)


# ---- tagging


@pytest.mark.jit
def test_a_tagger_learns_with_the_beam_it_tags_with():
    training, dev, _ = builtin_corpus(train=300, dev=100, test=1)

    def accuracy(name, beam):
        learner = {"name": name, "passes": 4, "update": "perceptron"}
        return Tagger(learner=learner, bits=14, beam=beam).fit(training).evaluate(dev).accuracy

    greedy = accuracy("exploration", 1)
    for name in ("early-update", "max-violation"):
        assert accuracy(name, 4) > max(0.9, greedy - 0.01)


def test_a_tagger_says_that_it_needs_a_beam():
    with pytest.raises(ConfigError, match="beam must be at least 2"):
        Tagger(learner="max-violation").fit([Sentence.from_words(["a"]).with_column("upos", ["DET"])])
