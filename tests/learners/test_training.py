"""The outer loop: histories, mixtures, the best policy, checkpoints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.learners.naive import unpack
from tests.policies.naive import Example, as_examples, learn, scratch_for
from tests.toys import Track, random_track, treacherous_track
from treewright.errors import ConfigError
from treewright.learners import SEARN, DAgger, DetLOLS, Imitation, Supervised, VDAgger, make_learner, train
from treewright.learners.checkpoints import Judge
from treewright.policies.linear import LinearTrainer
from treewright.policies.updates import final_weights, learn_pass, make_update, new_model
from treewright.search import decode
from treewright.search.examples import Examples
from treewright.search.weak_expert import weaken_expert

BITS = 10


@pytest.fixture(scope="module")
def packed():
    return Track().pack(random_track(np.random.default_rng(51), 12, 5))


def accuracy(packed):
    """A score to choose the best policy by."""
    return lambda policy: -float(policy.decode(packed).losses.sum())


def without_time(history):
    return [replace(row, seconds=0.0) for row in history]


def assert_same_training(one, other):
    np.testing.assert_array_equal(one.policy.weights, other.policy.weights)
    assert one.policy.probabilities == other.policy.probabilities
    assert without_time(one.history) == without_time(other.history)


# ---- histories


def test_the_share_of_the_expert_is_in_the_history(packed):
    trained = train(VDAgger(passes=4), packed, bits=BITS)
    assert [row.beta for row in trained.history] == pytest.approx([1.0, 0.7, 0.49, 0.343])
    assert [row.beta for row in train(DAgger(passes=3), packed, bits=BITS).history] == [1.0, 0.0, 0.0]


def test_examples_accumulate_as_the_choice_of_data_says(packed):
    def count(**settings):
        history = train(Imitation(passes=3, **settings), packed, bits=BITS).history
        return [row.examples for row in history], [row.decisions for row in history]

    examples, decisions = count(data="all")
    assert examples == np.cumsum(decisions).tolist()
    examples, decisions = count(data="current", roll_in="learned")
    assert examples == decisions
    examples, decisions = count(data="first")
    assert examples == [decisions[0]] * 3
    assert decisions[1:] == [0, 0]
    examples, decisions = count(data="online")
    assert examples == decisions


def test_small_sentences_come_first():
    sizes = [5, 1, 4, 2, 3, 6]
    packed = Track().pack([track for n in sizes for track in random_track(np.random.default_rng(n), 1, n)])
    history = train(Imitation(passes=4, small_first=2, data="current"), packed, bits=BITS).history
    full = train(Imitation(passes=1, data="current"), packed, bits=BITS).history[0].decisions
    assert [row.decisions for row in history][2:] == [full, full]
    assert 0 < history[0].decisions < history[1].decisions < full
    lengths = sorted(packed.lengths.tolist())
    short = Track().pack([track for n in (1, 2) for track in random_track(np.random.default_rng(n), 1, n)])
    assert lengths[:2] == short.lengths.tolist()
    assert history[0].decisions == train(Imitation(passes=1), short, bits=BITS).history[0].decisions


def test_supervised_learning_with_small_sentences_first_ends_with_all_of_them(tmp_path):
    """Each sentence is visited once, in the first pass that takes it; nothing is left out for good."""
    sizes = [5, 1, 4, 2, 3, 6]
    packed = Track().pack([track for n in sizes for track in random_track(np.random.default_rng(n), 1, n)])
    learner = Supervised(passes=5, small_first=3)
    trained = train(learner, packed, bits=BITS, checkpoint=tmp_path / "whole")
    full = train(Supervised(passes=1), packed, bits=BITS).history[0].decisions
    assert [row.examples for row in trained.history] == np.cumsum([row.decisions for row in trained.history]).tolist()
    assert [row.decisions > 0 for row in trained.history] == [True] * 4 + [False]
    assert trained.history[-1].examples == full
    train(replace(learner, passes=4), packed, bits=BITS, checkpoint=tmp_path / "part")
    assert_same_training(train(learner, packed, bits=BITS, checkpoint=tmp_path / "part", resume=True), trained)


def test_first_visits_are_the_experts_in_later_passes_too(packed):
    """As in the first pass: no learned policy decides what the data of the ``first`` visits is."""
    settings = {"data": "first", "passes": 4, "small_first": 3}
    one = train(Imitation(**settings), packed, bits=BITS)
    other = train(Imitation(roll_in="learned", **settings), packed, bits=BITS)
    assert_same_training(one, other)


def test_mistakes_are_counted_for_each_example():
    contradiction = [Example([3], [0, 1], [0.0, 1.0]), Example([3], [0, 1], [1.0, 0.0]), Example([1], [0], [0.0])]
    flat, update = as_examples(contradiction, structured=False), make_update("perceptron")
    model, mistakes, control = new_model(update, 4, 2), np.zeros(3, np.int32), np.zeros(2, np.int64)
    scratch = scratch_for(contradiction, model)
    totals = [
        learn_pass(update.online(model), flat, np.array(order), mistakes, scratch, control, 1)
        for order in ([0, 1, 2], [1, 0], [0, 1])
    ]
    # the first action is preferred where scores are equal, as they are again after every second example
    assert totals == [1.0, 2.0, 1.0]
    assert mistakes.tolist() == [1, 3, 0]
    assert control[1] == model.clock[0] == 7


def test_examples_that_stay_wrong_are_left_out_after_alpha_mistakes():
    """A fork without hints cannot be learned: whatever the policy says there, some of the examples stay wrong."""
    treacherous = Track().pack(treacherous_track(np.random.default_rng(53), 20, 2))
    seen = []

    class Counting(LinearTrainer):
        def learn(self, examples, order, mistakes, tell):
            before = mistakes.copy()
            result = super().learn(examples, order, mistakes, tell)
            seen.append((len(order), examples.size, before[order].max(initial=0), mistakes.max(initial=0)))
            return result

    class Start:
        def trainer(self, packed, update):
            return Counting(packed.task, update, 1 << BITS)

    learner = {"name": "supervised", "iterations": 6, "update": "perceptron"}
    train({**learner, "alpha": 2}, treacherous, policy=Start())
    assert all(before < 2 and after <= 2 for _, _, before, after in seen)
    assert seen[0][0] == seen[0][1] > seen[-1][0] > 0
    seen.clear()
    train(learner, treacherous, policy=Start())
    assert {learned for learned, count, _, _ in seen} == {count for _, count, _, _ in seen}


def test_reports_and_progress_come_as_training_goes_on(packed):
    rows, stages = [], []
    learner = DAgger(passes=2, epochs=2)
    trained = train(learner, packed, bits=BITS, report=rows.append, progress=lambda *told: stages.append(told))
    assert rows == trained.history
    assert [row.iteration for row in rows] == [1, 2]
    names = [*dict.fromkeys(stage for stage, _, _ in stages)]
    assert names == ["visiting states", "learning, epoch 1 of 2", "learning, epoch 2 of 2"]
    assert all(done <= total for _, done, total in stages)
    assert ("visiting states", len(packed), len(packed)) in stages


def test_training_stops_being_costly(packed):
    history = train(Supervised(passes=8), packed, bits=BITS).history
    assert history[0].loss > history[-1].loss == 0.0


def test_the_best_policy_on_development_data_is_kept(packed):
    scores = iter([1.0, 3.0, 3.0, 2.0])
    seen = []

    def evaluate(policy):
        seen.append(policy.weights.copy())  # the policy itself goes on learning
        return next(scores)

    trained = train(DAgger(passes=4), packed, bits=BITS, evaluate=evaluate)
    np.testing.assert_array_equal(trained.policy.weights, seen[1])
    assert not np.array_equal(seen[1], seen[3])
    assert [row.best for row in trained.history] == [True, True, False, False]
    assert [row.score for row in trained.history] == [1.0, 3.0, 3.0, 2.0]


def test_without_development_data_the_last_policy_is_kept(packed):
    longer = train(DAgger(passes=3), packed, bits=BITS)
    assert all(row.best for row in longer.history)
    assert not np.array_equal(longer.policy.weights, train(DAgger(passes=1), packed, bits=BITS).policy.weights)


# ---- mixtures


def test_searn_mixes_its_policies_with_falling_shares_and_leaves_the_expert_out(packed):
    trained = train(SEARN(passes=4, interpolation=0.6), packed, bits=BITS)
    raw = np.array([0.6 * 0.4**k for k in (3, 2, 1, 0)])
    assert trained.policy.probabilities == pytest.approx(raw / raw.sum())
    assert len(trained.policy.weights) == 4
    assert trained.policy.mixture[0] == 0.0


def test_searn_keeps_its_earlier_policies(packed):
    shorter, longer = (train(SEARN(passes=n), packed, bits=BITS).policy for n in (2, 3))
    np.testing.assert_array_equal(shorter.weights, longer.weights[:2])


def test_searn_trains_each_policy_anew_on_the_examples_of_its_own_iteration(packed, tmp_path):
    learner = SEARN(passes=2, epochs=3)
    policy = train(learner, packed, bits=BITS, seed=6, checkpoint=tmp_path).policy
    for iteration in (1, 2):
        with np.load(tmp_path / f"examples-{iteration}.npz") as arrays:
            seen = unpack(Examples(**arrays), packed.task.n_actions)
        examples = [Example(features, actions, costs) for features, actions, costs, _ in seen]
        model = new_model(learner.update, 1 << BITS, packed.task.n_actions)
        for epoch in (1, 2, 3):
            order = np.random.default_rng([6, iteration, epoch]).permutation(len(examples))
            learn(learner.update, model, examples, order.tolist())
        np.testing.assert_array_equal(policy.weights[iteration - 1], final_weights(model, learner.update))


def test_searn_of_one_iteration_is_aggravate_of_one(packed):
    first = train(SEARN(passes=1), packed, bits=BITS)
    same = train(make_learner({"name": "aggravate", "passes": 1, "epochs": 5}), packed, bits=BITS)
    np.testing.assert_array_equal(first.policy.weights, same.policy.weights)


def test_the_first_iteration_follows_the_expert_where_nothing_is_learned_yet(packed):
    """So all learners that take the loss of roll-outs begin alike (Goodman: π̂₁ = π*)."""
    names = ("aggravate", "v-dagger", "batch-lols", "det-lols", "di-lo", "di-dlo", "li-do")
    learners = [make_learner({"name": n, "passes": 1}) for n in names]
    learners.append(Imitation(roll_in="learned", roll_out="learned", cost="loss", passes=1))
    policies = [train(learner, packed, bits=BITS).policy for learner in learners]
    for policy in policies[1:]:
        np.testing.assert_array_equal(policy.weights, policies[0].weights)


@pytest.mark.parametrize("update", ["regression", "perceptron"])
@pytest.mark.parametrize("roll_out", ["learned", "mixed-per-step", "mixed-per-roll", "mixed-per-state", "both"])
def test_online_too_the_expert_stands_in_for_the_policy_in_the_first_pass(update, roll_out):
    """Algorithm 3 of Goodman has π̂₀ = π*: no policy of zeros rolls in or out."""
    packed = Track().pack(treacherous_track(np.random.default_rng(53), 12, 4))
    lols = make_learner({"name": "lols", "passes": 1, "roll_out": roll_out, "update": update})
    expert = Imitation(roll_out="expert", cost="loss", data="online", passes=1, update=update)
    one, other = (train(learner, packed, bits=BITS) for learner in (lols, expert))
    np.testing.assert_array_equal(one.policy.weights, other.policy.weights)
    assert one.history[0].beta == 1.0
    longer = (train(replace(learner, passes=2), packed, bits=BITS).policy.weights for learner in (lols, expert))
    assert not np.array_equal(*longer)


@pytest.mark.parametrize(
    ("learner", "has_hint"),
    [
        ({"name": "lols"}, True),
        ({"name": "lols", "focus": 10}, False),
        ({"name": "lols", "roll_out": "mixed-per-state"}, False),
        ({"name": "searn"}, True),
        ({"name": "dagger"}, False),
        ({"name": "max-margin"}, False),
    ],
)
def test_a_learner_that_needs_more_than_its_name_says_so(learner, has_hint):
    assert bool(make_learner(learner).hint) == has_hint


def test_det_lols_with_beta_1_is_aggravate_with_learned_roll_ins(packed):
    deterministic = train(DetLOLS(passes=3, beta=1.0), packed, bits=BITS)
    rolled = Imitation(roll_in="learned", roll_out="expert", cost="loss", passes=3)
    np.testing.assert_array_equal(deterministic.policy.weights, train(rolled, packed, bits=BITS).policy.weights)


def test_dagger_with_beta_1_is_imitation_of_the_expert_alone(packed):
    mixed = train(DAgger(passes=3, beta=1.0), packed, bits=BITS)
    np.testing.assert_array_equal(mixed.policy.weights, train(Imitation(passes=3), packed, bits=BITS).policy.weights)


def test_exploration_leaves_the_track_from_pass_k_plus_1_on_unless_p_forbids():
    treacherous = Track().pack(treacherous_track(np.random.default_rng(53), 20, 4))

    def features_learned(**settings):
        learner = make_learner({"name": "exploration", "passes": 2, **settings})
        return np.count_nonzero(train(learner, treacherous, bits=BITS).policy.weights.any(axis=2))

    on_track = features_learned(k=2, p=0.0)  # there is no pass 3
    assert features_learned(k=0, p=1.0) == on_track
    assert features_learned(k=1, p=1.0) == on_track
    assert features_learned(k=1, p=0.0) > on_track
    assert features_learned(k=0, p=0.0) > on_track


def test_beta_also_counts_for_roll_outs_while_exploring(packed):
    def weights(**settings):
        learner = Imitation(roll_in="explore", cost="loss", data="online", passes=3, p=0.0, k=0, **settings)
        return train(learner, packed, bits=BITS).policy.weights

    by_expert = weights(roll_out="expert")
    np.testing.assert_array_equal(weights(roll_out="both", beta=1.0), by_expert)
    np.testing.assert_array_equal(weights(roll_out="mixed-per-roll", beta=1.0), by_expert)
    np.testing.assert_array_equal(weights(roll_out="both", beta=0.0), weights(roll_out="learned"))
    assert not np.array_equal(weights(roll_out="both", beta=0.0), by_expert)


# ---- checkpoints

RESUMABLE = {
    "online": {"name": "lols"},
    "explore": {"name": "exploration"},
    "all": {"name": "v-dagger"},
    "first": {"name": "supervised"},
    "current": {"name": "imitation", "roll_in": "learned", "data": "current"},
    "current and SEARN": {"name": "searn"},
    "AROW": {"name": "dagger", "update": "arow"},
    "α-bound": {"name": "dagger", "alpha": 1},
    "small first": {"name": "dagger", "small_first": 2},
    "log-linear": {"name": "lols", "update": "log-linear"},
}


@pytest.fixture(params=RESUMABLE.values(), ids=RESUMABLE.keys())
def settings(request):
    return request.param


def test_resumed_training_is_the_same_to_the_bit(packed, settings, tmp_path):
    def trained(iterations, **options):
        learner = make_learner({**settings, "passes": iterations})
        return train(learner, packed, bits=BITS, seed=5, evaluate=accuracy(packed), **options)

    whole = trained(4)
    trained(2, checkpoint=tmp_path / "state")
    reported = []
    resumed = trained(4, checkpoint=tmp_path / "state", resume=True, report=reported.append)
    assert [row.iteration for row in reported] == [3, 4]
    assert_same_training(whole, resumed)
    assert_same_training(whole, trained(4, checkpoint=tmp_path / "state", resume=True))


def test_training_interrupted_in_an_iteration_goes_on_from_the_one_before(packed, settings, tmp_path):
    learner = make_learner({**settings, "passes": 3})
    told = []

    def interrupt(stage, done, total):
        told.append(stage)
        if iterations == 2:
            raise KeyboardInterrupt

    iterations = 0

    def count(row):
        nonlocal iterations
        iterations = row.iteration

    with pytest.raises(KeyboardInterrupt):
        train(learner, packed, bits=BITS, checkpoint=tmp_path, progress=interrupt, report=count)
    resumed = train(learner, packed, bits=BITS, checkpoint=tmp_path, resume=True)
    assert_same_training(train(learner, packed, bits=BITS), resumed)


def test_training_interrupted_between_iterations_goes_on_from_there(packed, tmp_path):
    learner = DAgger(passes=3)

    def interrupt(row):
        if row.iteration == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(learner, packed, bits=BITS, checkpoint=tmp_path, report=interrupt)
    reported = []
    resumed = train(learner, packed, bits=BITS, checkpoint=tmp_path, resume=True, report=reported.append)
    assert [row.iteration for row in reported] == [3]
    assert_same_training(train(learner, packed, bits=BITS), resumed)


def test_resuming_where_nothing_was_saved_begins_at_the_start(packed, tmp_path):
    fresh = train(DAgger(passes=2), packed, bits=BITS)
    assert_same_training(fresh, train(DAgger(passes=2), packed, bits=BITS, checkpoint=tmp_path / "new", resume=True))


@pytest.mark.parametrize("other", ["settings", "seed", "bits", "data", "learner"])
def test_training_with_other_settings_or_data_cannot_be_resumed(packed, tmp_path, other):
    train(DAgger(passes=1), packed, bits=BITS, checkpoint=tmp_path)
    learner = {"settings": DAgger(passes=2, epochs=2), "learner": VDAgger(passes=2)}.get(other, DAgger(passes=2))
    corpus = Track().pack(random_track(np.random.default_rng(52), 12, 5)) if other == "data" else packed
    bits, seed = BITS + (other == "bits"), int(other == "seed")
    with pytest.raises(ConfigError, match="belongs to a training with other data or settings"):
        train(learner, corpus, bits=bits, seed=seed, checkpoint=tmp_path, resume=True)


def test_training_with_other_development_data_cannot_be_resumed(packed, tmp_path):
    def trained(iterations, judge, **options):
        return train(DAgger(passes=iterations), packed, bits=BITS, evaluate=judge, checkpoint=tmp_path, **options)

    first = Judge(accuracy(packed), "one")
    trained(1, first)
    for judge in (Judge(accuracy(packed), "another"), None):
        with pytest.raises(ConfigError, match="the development data, or how they are parsed, are not the same"):
            trained(2, judge, resume=True)
    assert len(trained(2, first, resume=True).history) == 2


def test_training_anew_forgets_its_checkpoint_but_touches_nothing_else_in_the_folder(packed, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    train(DAgger(passes=3), packed, bits=BITS, checkpoint=tmp_path)
    train(VDAgger(passes=1), packed, bits=BITS, checkpoint=tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["examples-1.npz", "state.npz", "thesis.tex"]


def test_a_checkpoint_holds_no_half_written_file(packed, tmp_path):
    train(DAgger(passes=2), packed, bits=BITS, checkpoint=tmp_path)
    assert not [*tmp_path.glob("*.tmp")]


# ---- experts that err


def test_roll_outs_learn_more_than_a_weak_expert_knows_and_supervised_learning_does_not():
    """Errors wherever the first feature is the same: what imitates the expert learns them, losses show them."""
    packed = Track().pack(random_track(np.random.default_rng(8), 40, 5)).plain()  # a weak expert is another task
    weak = {"expert_accuracy": 0.5, "expert_errors": "systematic", "passes": 6}
    expert = decode(weaken_expert(packed, 0.5, systematic=True), None).losses.sum()
    losses = {
        name: train({"name": name, **weak, **more}, packed, bits=BITS).policy.decode(packed).losses.sum()
        for name, more in (("supervised", {}), ("lols", {"roll_out": "learned"}))
    }
    assert losses["lols"] < 0.5 * expert
    assert losses["lols"] < 0.5 * losses["supervised"]
