"""Each update against its dense twin, and against the equation that defines it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.policies.naive import Example, learn, naive_log_loss, naive_pair, naive_update
from treewright.errors import ConfigError
from treewright.policies import AROW, UPDATES, LogLinear, PassiveAggressive, Perceptron, Regression, make_update
from treewright.policies.updates import Update, final_weights, new_model
from treewright.search import mix

ROWS, WIDTH = 16, 5  # a fixed set of actions
HASHED = 1024  # rows where actions carry structure, and there is one column
COSTS = (0.0, 0.25, 1.0, 2.0, 3.0, 4.0)

COMPARING = [  # those that compare actions
    Perceptron(),
    Perceptron(margin=1.0),
    Perceptron(margin=0.3),
    PassiveAggressive(C=0.05),
    PassiveAggressive(C=100.0),
    AROW(),
    AROW(r=0.5),
    LogLinear(),
    LogLinear(step_size=0.5, margin=0.0),
]
REGRESSIONS = [Regression(), Regression(step_size=0.01, cap=2.5), Regression(averaged=False)]
comparing_updates = pytest.mark.parametrize("update", COMPARING, ids=repr)
every_update = pytest.mark.parametrize("update", [*COMPARING, *REGRESSIONS], ids=repr)
fast = examples(40)


@st.composite
def fixed_examples(draw, fewest_actions=1):
    """An example of a task with a fixed set of actions; no two features share a row."""
    features = draw(st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=6, unique=True))
    actions = draw(st.lists(st.integers(0, WIDTH - 1), min_size=fewest_actions, max_size=WIDTH, unique=True))
    costs = draw(st.lists(st.sampled_from(COSTS), min_size=len(actions), max_size=len(actions)))
    beyond = draw(st.integers(0, 3)) * ROWS  # only the feature modulo the rows matters
    return Example([feature + beyond for feature in features], actions, costs)


@st.composite
def structured_examples(draw):
    """An example whose actions have features, some of them shared; no two features share a row."""
    pool = draw(st.lists(st.integers(0, 2**31 - 1), min_size=28, max_size=28, unique_by=lambda f: f % HASHED))
    actions = draw(st.lists(st.integers(0, 50), min_size=1, max_size=4, unique=True))
    costs = draw(st.lists(st.sampled_from(COSTS), min_size=len(actions), max_size=len(actions)))
    taken: set[int] = set()

    def take(features, row_sets, count):
        chosen = []
        for feature, rows in zip(features, row_sets, strict=True):
            if len(chosen) < count and len(rows) == len(set(rows)) and not taken.intersection(rows):
                taken.update(rows)
                chosen.append(feature)
        return chosen

    crossed = [[mix(feature, action) % HASHED for action in actions] for feature in pool[:9]]
    features = take(pool[:9], crossed, draw(st.integers(1, 4)))
    assume(features)
    extra = [
        take(
            pool[9 + 4 * k : 13 + 4 * k], [[f % HASHED] for f in pool[9 + 4 * k : 13 + 4 * k]], draw(st.integers(0, 3))
        )
        for k in range(len(actions))
    ]
    for feature in take(pool[25:], [[f % HASHED] for f in pool[25:]], 3):
        for own in extra:
            if draw(st.booleans()):
                own.insert(draw(st.integers(0, len(own))), feature)
    return Example(features, actions, costs, extra)


def random_model(update: Update, rows: int, width: int, seed: int):
    """A model with weights that add up exactly in any order, so that ties are ties for everyone."""
    rng = np.random.default_rng(seed)
    model = new_model(update, rows, width)
    model.weights[:] = rng.integers(-8, 9, (rows, width)) / 8
    if update.initial_spread is not None:
        model.spread[:] = 2.0 ** -rng.integers(0, 6, (rows, width))
    return model


def dense(array):
    return array.astype(np.float64).ravel()


def check_against_twin(update, example, rows, width, seed):
    model = random_model(update, rows, width, seed)
    w, spread = dense(model.weights), dense(model.spread)
    vectors = example.vectors(rows, width)
    scores = np.array([φ @ w for φ in vectors])
    regret = learn(update, model, [example])
    expected_w, expected_spread = naive_update(update, w, spread, vectors, example.costs)
    np.testing.assert_allclose(dense(model.weights), expected_w, rtol=1e-5, atol=1e-6)
    if update.initial_spread is not None:
        np.testing.assert_allclose(dense(model.spread), expected_spread, rtol=1e-5, atol=1e-6)
    assert regret == pytest.approx(example.costs[int(np.argmax(scores))] - min(example.costs))
    assert model.clock[0] == 1


@every_update
@given(example=fixed_examples(), seed=st.integers(0, 1000))
@fast
def test_update_equals_its_twin_with_a_fixed_set_of_actions(update, example, seed):
    check_against_twin(update, example, ROWS, WIDTH, seed)


@every_update
@given(example=structured_examples(), seed=st.integers(0, 1000))
@fast
def test_update_equals_its_twin_where_actions_have_features_of_their_own(update, example, seed):
    check_against_twin(update, example, HASHED, 1, seed)


@comparing_updates
@given(example=fixed_examples(), cost=st.sampled_from(COSTS), seed=st.integers(0, 1000))
@examples(15)
def test_nothing_is_learned_where_all_actions_cost_the_same(update, example, cost, seed):
    model = random_model(update, ROWS, WIDTH, seed)
    before = [array.copy() for array in (model.weights, model.spread)]
    regret = learn(update, model, [Example(example.features, example.actions, [cost] * len(example.actions))])
    assert regret == 0.0
    np.testing.assert_array_equal(before[0], model.weights)
    np.testing.assert_array_equal(before[1], model.spread)
    assert model.clock[0] == 1


@every_update
@given(example=fixed_examples(2), seed=st.integers(0, 1000))
@examples(15)
def test_only_differences_between_costs_matter(update, example, seed):
    shifted = Example(example.features, example.actions, [cost + 2.0 for cost in example.costs])
    one, other = (random_model(update, ROWS, WIDTH, seed) for _ in range(2))
    assert learn(update, one, [example]) == learn(update, other, [shifted])
    np.testing.assert_array_equal(one.weights, other.weights)


# ---- perceptron


def two_actions(costs, features=(3, 4)):
    return Example(list(features), [0, 1], list(costs))


def test_perceptron_counts_a_tie_as_a_mistake():
    model = new_model(Perceptron(), ROWS, WIDTH)
    learn(Perceptron(), model, [two_actions([1.0, 0.0])])
    assert model.weights[[3, 4]].tolist() == [[-1.0, 1.0, 0.0, 0.0, 0.0]] * 2
    assert np.count_nonzero(model.weights) == 4


@pytest.mark.parametrize(("margin", "changes"), [(0.0, False), (1.9, False), (2.0, True), (3.0, True)])
def test_perceptron_updates_unless_the_correct_action_wins_by_more_than_the_margin(margin, changes):
    update = Perceptron(margin=margin)
    model = new_model(update, ROWS, WIDTH)
    model.weights[[3, 4], 1] = 1.0  # action 1 leads by 2
    before = model.weights.copy()
    learn(update, model, [two_actions([1.0, 0.0])])
    assert (not np.array_equal(before, model.weights)) == changes


def test_perceptron_moves_by_the_root_of_the_cost_from_the_rival_to_the_correct_action():
    update = Perceptron()
    model = new_model(update, ROWS, WIDTH)
    model.weights[7] = [1.0, 0.0, 3.0, 0.0, 2.0]
    learn(update, model, [Example([7], [0, 1, 2, 4], [0.0, 0.0, 4.0, 1.0])])
    assert model.weights[7].tolist() == [3.0, 0.0, 1.0, 0.0, 2.0]


@pytest.mark.slow
def test_perceptron_converges_on_separable_data():
    rng = np.random.default_rng(5)
    truth = rng.normal(size=(ROWS, WIDTH))
    examples = []
    for _ in range(60):
        features = rng.choice(ROWS, 4, replace=False).tolist()
        scores = truth[features].sum(axis=0)
        if np.diff(np.sort(scores)[-2:])[0] > 0.5:
            examples.append(Example(features, list(range(WIDTH)), (scores < scores.max()).astype(float).tolist()))
    updates = (
        Perceptron(),
        Perceptron(margin=1.0),
        PassiveAggressive(C=1.0),
        AROW(r=0.1),
        LogLinear(step_size=1.0),
        Regression(averaged=False),
    )
    for update in updates:
        model = new_model(update, ROWS, WIDTH)
        mistakes = [learn(update, model, examples) for _ in range(60)]
        assert mistakes[0] > 0.0
        assert mistakes[-1] == 0.0, update


# ---- passive-aggressive


@given(fixed_examples(2), st.integers(0, 1000))
@fast
def test_passive_aggressive_satisfies_the_margin_exactly_when_it_is_not_capped(example, seed):
    update = PassiveAggressive(C=1e6)
    model = random_model(update, ROWS, WIDTH, seed)
    w, vectors = dense(model.weights), example.vectors(ROWS, WIDTH)
    found = naive_pair(update, np.array([φ @ w for φ in vectors]), example.costs)
    learn(update, model, [example])
    if found is not None:
        correct, rival, loss = found
        lead = (vectors[correct] - vectors[rival]) @ dense(model.weights)
        demanded = np.sqrt(example.costs[rival] - min(example.costs))
        assert lead == pytest.approx(demanded, abs=1e-5) if loss > 0.0 else lead >= demanded


@given(fixed_examples(2), st.integers(0, 1000))
@fast
def test_no_smaller_change_than_the_passive_aggressive_one_satisfies_the_margin(example, seed):
    update = PassiveAggressive(C=1e6)
    model = random_model(update, ROWS, WIDTH, seed)
    w, vectors = dense(model.weights), example.vectors(ROWS, WIDTH)
    found = naive_pair(update, np.array([φ @ w for φ in vectors]), example.costs)
    learn(update, model, [example])
    if found is None or found[2] <= 0.0:
        np.testing.assert_array_equal(dense(model.weights), w)
        return
    correct, rival, loss = found
    change, x = dense(model.weights) - w, vectors[correct] - vectors[rival]
    rng = np.random.default_rng(seed)
    for _ in range(20):
        direction = change + rng.normal(size=len(w)) * rng.choice([0.01, 1.0])
        if direction @ x > 0.0:
            shortest_there = loss / (direction @ x) * direction  # just satisfies the margin
            assert np.linalg.norm(change) <= np.linalg.norm(shortest_there) + 1e-5


def test_passive_aggressive_steps_are_capped_at_c():
    model = new_model(PassiveAggressive(C=0.1), ROWS, WIDTH)
    learn(PassiveAggressive(C=0.1), model, [two_actions([1.0, 0.0])])
    assert model.weights[3].tolist() == pytest.approx([-0.1, 0.1, 0.0, 0.0, 0.0])


# ---- AROW


def arow_objective(w, variance, w0, variance0, x, demanded, C):
    """KL(N(w, Σ) ‖ N(w₀, Σ₀)) + ℓ(w)²/2C + xᵀΣx/2C, with ℓ(w) = √c − w·x where that is positive."""
    divergence = 0.5 * np.sum(variance / variance0 + (w - w0) ** 2 / variance0 - 1.0 - np.log(variance / variance0))
    loss = max(0.0, demanded - w @ x)
    return divergence + loss**2 / (2.0 * C) + x @ (variance * x) / (2.0 * C)


@given(fixed_examples(2), st.sampled_from([0.1, 1.0, 10.0]), st.integers(0, 1000))
@fast
def test_arow_minimises_its_objective_over_mean_and_variance(example, C, seed):
    update = AROW(r=C)
    model = random_model(update, ROWS, WIDTH, seed)
    w0, variance0, vectors = dense(model.weights), dense(model.spread), example.vectors(ROWS, WIDTH)
    found = naive_pair(update, np.array([φ @ w0 for φ in vectors]), example.costs)
    learn(update, model, [example])
    if found is None or found[2] <= 0.0:
        np.testing.assert_array_equal(dense(model.weights), w0)
        np.testing.assert_array_equal(dense(model.spread), variance0)
        return
    correct, rival, _ = found
    x, demanded = vectors[correct] - vectors[rival], np.sqrt(example.costs[rival] - min(example.costs))

    def objective(w, log_variance):
        return arow_objective(w, np.exp(log_variance), w0, variance0, x, demanded, C)

    w, log_variance = dense(model.weights), np.log(dense(model.spread))
    least, step = objective(w, log_variance), 1e-4
    rng = np.random.default_rng(seed)
    for scale in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(5):
            dw, dv = rng.normal(size=(2, len(w))) * scale * (rng.random(len(w)) < 0.3)
            assert objective(w + dw, log_variance + dv) >= least - 1e-7
    for place in np.flatnonzero(x):  # it is convex in w and in Σ: no slope anywhere means the minimum
        unit = np.eye(len(w))[place] * step
        slope_w = (objective(w + unit, log_variance) - objective(w - unit, log_variance)) / (2 * step)
        slope_v = (objective(w, log_variance + unit) - objective(w, log_variance - unit)) / (2 * step)
        assert slope_w == pytest.approx(0.0, abs=2e-4)
        assert slope_v == pytest.approx(0.0, abs=2e-4)


def test_arow_reaches_what_gradient_descent_on_its_objective_reaches():
    C, x, demanded = 2.0, np.array([1.0, 1.0, -1.0, -1.0]), np.sqrt(3.0)
    w0, variance0 = np.array([0.5, -1.0, 0.25, 0.5]), np.array([1.0, 0.5, 0.25, 1.0])
    w, v = w0.copy(), np.log(variance0)
    for _ in range(4000):
        loss = max(0.0, demanded - w @ x)
        w -= 0.05 * ((w - w0) / variance0 - loss / C * x)
        v -= 0.05 * (0.5 * np.exp(v) / variance0 - 0.5 + 0.5 / C * np.exp(v) * x**2)
    update = AROW(r=C)
    model = new_model(update, 2, 2)
    model.weights[:], model.spread[:] = w0.reshape(2, 2).T, variance0.reshape(2, 2).T
    learn(update, model, [Example([0, 1], [0, 1], [0.0, 3.0])])
    np.testing.assert_allclose(model.weights.T.ravel(), w, atol=1e-5)
    np.testing.assert_allclose(model.spread.T.ravel(), np.exp(v), atol=1e-5)


def test_arow_trusts_a_weight_more_each_time_and_a_large_c_makes_small_steps():
    steps = []
    for C in (0.1, 1.0, 10.0):
        model = new_model(AROW(r=C), ROWS, WIDTH)
        learn(AROW(r=C), model, [two_actions([1.0, 0.0])])
        steps.append(model.weights[3, 1])
        assert model.spread[3, 1] < 1.0
        assert model.spread[5, 1] == 1.0
    assert steps == sorted(steps, reverse=True)


# ---- log-linear


@given(fixed_examples(2), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 1000))
@fast
def test_log_linear_gradient_is_the_derivative_of_its_loss(example, margin, seed):
    update = LogLinear(margin=margin)
    model = random_model(update, ROWS, WIDTH, seed)
    model.spread[:] = 0.0
    w, vectors, step = dense(model.weights), example.vectors(ROWS, WIDTH), 1e-5
    learn(update, model, [example])
    gradient = np.sqrt(dense(model.spread)) * np.sign(w - dense(model.weights))  # the first squares are g²
    for place in np.flatnonzero(sum(vectors)):
        unit = np.eye(len(w))[place] * step
        up, down = (naive_log_loss(w + s * unit, vectors, example.costs, margin) for s in (1.0, -1.0))
        assert gradient[place] == pytest.approx((up - down) / (2 * step), abs=1e-5)


def test_log_linear_step_is_the_rate_at_first_and_shrinks_with_the_squares():
    update = LogLinear(step_size=0.5, margin=0.0)
    model = new_model(update, ROWS, WIDTH)
    learn(update, model, [two_actions([0.0, 1.0])])
    assert model.weights[3, :2].tolist() == pytest.approx([0.5, -0.5], abs=1e-6)
    before = model.weights[3, 0]
    learn(update, model, [two_actions([0.0, 1.0])])
    assert 0.0 < model.weights[3, 0] - before < 0.25


def test_log_linear_survives_scores_that_would_overflow():
    update = LogLinear()
    for costs in ([0.0, 1.0], [1.0, 0.0]):
        model = new_model(update, ROWS, WIDTH)
        model.weights[3, :2] = [1e6, -1e6]
        learn(update, model, [two_actions(costs)])
        assert np.isfinite(model.weights).all()
        assert np.isfinite(model.spread).all()
        assert (model.weights[3, 1] > -1e6) == (costs[1] == 0.0)


# ---- regression


@given(fixed_examples(2), st.sampled_from([0.5, 1.0, 4.0]), st.integers(0, 1000))
@fast
def test_regression_moves_each_score_towards_its_target_and_not_beyond_it(example, cap, seed):
    update = Regression(cap=cap)
    model = random_model(update, ROWS, WIDTH, seed)
    vectors = example.vectors(ROWS, WIDTH)  # no two of them share a weight
    capped = np.minimum(np.array(example.costs) - min(example.costs), cap)
    before = np.array([φ @ dense(model.weights) for φ in vectors])
    learn(update, model, [example])
    after = np.array([φ @ dense(model.weights) for φ in vectors])
    for old, new, target in zip(before, after, capped.mean() - capped, strict=True):
        if abs(old - target) < 0.001:
            assert new == old
        else:
            assert abs(new - target) < abs(old - target)
            assert (new - target) * (old - target) >= -1e-6


def test_a_regression_step_is_the_same_as_many_small_ones():
    """The importance-aware step is the limit of gradient descent with the same steps for each weight."""
    rate, squares, start, target = 0.3, np.array([4.0, 1.0, 9.0]), np.array([0.5, -0.25, 1.0]), -0.5
    update = Regression(step_size=rate, cap=10.0)
    model = new_model(update, ROWS, WIDTH)
    model.weights[:3, 0], model.spread[:3, 0] = start, squares
    learn(update, model, [Example([0, 1, 2], [0, 1], [1.0, 0.0])])
    w, steps = start.copy(), rate / np.sqrt(squares + (start.sum() - target) ** 2)
    for _ in range(100_000):
        w -= steps * (w.sum() - target) / 100_000
    np.testing.assert_allclose(model.weights[:3, 0], w, atol=1e-4)


def test_regression_averages_noise_out_where_margins_take_the_smallest_cost_for_the_truth():
    """Action 0 costs 0.5 always, action 1 nothing in two of three cases and 2 in the others: action 0 is better."""
    rng = np.random.default_rng(3)
    examples = [two_actions([0.5, 2.0 if rng.random() < 1 / 3 else 0.0]) for _ in range(3000)]
    preferred = {}
    for update in (Regression(cap=2.0), AROW()):
        model = new_model(update, ROWS, WIDTH)
        learn(update, model, examples)
        weights = final_weights(model, update)
        preferred[update.name] = int(np.argmax(weights[3, :2] + weights[4, :2]))
        if update.name == "regression":
            # E[c] is 0.5 and 2/3, and the target is their mean less each of them
            assert (2 * weights[3, :2]).tolist() == pytest.approx([1 / 12, -1 / 12], abs=0.05)
    assert preferred == {"regression": 0, "arow": 1}


def test_regression_learns_that_nothing_matters_where_all_actions_cost_the_same():
    model = new_model(Regression(), ROWS, WIDTH)
    model.weights[[3, 4]] = 0.5
    assert learn(Regression(), model, [two_actions([1.0, 1.0])] * 100) == 0.0
    assert np.abs(model.weights[3, :2]).max() < 0.01
    assert (model.weights[3, 2:] == 0.5).all()


# ---- averaging


@every_update
@given(examples=st.lists(fixed_examples(), min_size=1, max_size=6), repeats=st.integers(0, 3))
@examples(15)
def test_averaged_weights_are_the_mean_of_all_weights_over_time(update, examples, repeats):
    update = make_update({**update.params(), "averaged": True})
    model = new_model(update, ROWS, WIDTH)
    history = [model.weights.copy()]
    for example in examples * repeats:
        learn(update, model, [example])
        history.append(model.weights.copy())
    mean = np.mean(np.array(history, np.float64), axis=0)
    np.testing.assert_allclose(final_weights(model, update), mean, rtol=1e-5, atol=1e-6)


def test_even_the_last_example_counts_in_the_mean():
    model = new_model(Perceptron(), ROWS, WIDTH)
    learn(Perceptron(), model, [two_actions([1.0, 0.0])])
    assert final_weights(model, Perceptron())[3, :2].tolist() == [-0.5, 0.5]


@pytest.mark.parametrize("name", UPDATES)
def test_without_averaging_the_last_weights_are_returned(name):
    update = make_update({"name": name, "averaged": False})
    model = new_model(update, ROWS, WIDTH)
    learn(update, model, [two_actions([1.0, 0.0])])
    np.testing.assert_array_equal(final_weights(model, update), model.weights)


def test_examples_are_taken_in_the_order_given():
    examples = [two_actions([1.0, 0.0]), two_actions([0.0, 1.0], (4, 5)), two_actions([4.0, 0.0], (5, 3))]
    at_once, one_by_one = (new_model(Perceptron(), ROWS, WIDTH) for _ in range(2))
    learn(Perceptron(), at_once, examples, order=[2, 0, 1])
    for number in (2, 0, 1):
        learn(Perceptron(), one_by_one, [examples[number]])
    np.testing.assert_array_equal(at_once.weights, one_by_one.weights)
    np.testing.assert_array_equal(at_once.totals, one_by_one.totals)


# ---- settings


@pytest.mark.parametrize("name", UPDATES)
def test_settings_of_an_update_make_it_again(name):
    update = make_update(name)
    assert update.name == name
    assert make_update(update.params()) == update
    assert make_update(update) is update


def test_unknown_updates_and_settings_are_named():
    with pytest.raises(ConfigError, match=r"'adam'.*: perceptron, passive-aggressive, arow") as error:
        make_update("adam")
    assert (error.value.setting, error.value.value) == ("update", "adam")
    with pytest.raises(ConfigError, match=r"'arow'.*: averaged, r") as error:
        make_update({"name": "arow", "rate": 1.0})
    assert error.value.setting == "rate"
    with pytest.raises(ConfigError, match="has settings and no name; the names are: perceptron") as error:
        make_update({"r": 1.0})
    assert error.value.setting == "update"


def test_settings_are_known_by_their_old_names():
    assert make_update({"name": "arow", "C": 3.0}) == AROW(r=3.0)
    assert make_update({"name": "log-linear", "rate": 0.3}) == LogLinear(step_size=0.3)
    with pytest.raises(ConfigError, match="old name of r"):
        make_update({"name": "arow", "C": 3.0, "r": 2.0})


@pytest.mark.parametrize(
    "settings",
    [
        {"name": "arow", "r": 0.0},
        {"name": "passive-aggressive", "C": -1.0},
        {"name": "log-linear", "step_size": 0.0},
        {"name": "log-linear", "step_size": float("nan")},
        {"name": "perceptron", "margin": -0.1},
        {"name": "regression", "cap": 0.0},
    ],
)
def test_settings_without_sense_are_refused(settings):
    with pytest.raises(ConfigError, match="must be"):
        make_update(settings)
