"""Tasks as environments: the kernel against a slow twin, gradients against enumeration, rewards by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.search.naive import Dice, Episode, naive_decode
from tests.toys import CUE, FORK, LABELS, OPEN, SKIP, Picking, Token, Track, random_picking, random_track
from treewright.errors import ConfigError, TaskError
from treewright.search import mix
from treewright.search.transition_environment import TransitionEnvironment, draw

# ---- the twin: everything is written down, in 64 bits, as the equations have it


def features(environment, episode):
    """φ(a, s) of each action, in full."""
    rows, width = environment.rows, environment.width
    φ = np.zeros((len(episode.actions()), rows, width))
    for k, action in enumerate(episode.actions()):
        for feature in episode.features():
            if width > 1:
                φ[k, feature % rows, action] += 1.0
            else:
                φ[k, mix(feature, action) % rows, 0] += 1.0
        for feature in episode.action_features()[k]:
            φ[k, feature % rows, 0] += 1.0
    return φ.reshape(len(φ), -1)


def policy(scores, temperature):
    """Equation 4."""
    p = np.exp((np.asarray(scores) - max(scores)) / temperature)
    return p / p.sum()


def oracle(episode, scores):
    """The place of the oracle's action: of the cheapest the one with the highest score."""
    costs = episode.expert_costs()
    return max((k for k in range(len(costs)) if costs[k] == min(costs)), key=lambda k: (scores[k], -k))


def drawn(environment, θ, i, dice, temperature, infusion):
    """The actions that random numbers lead to, with the scores that the engine computes, in 32 bits."""
    episode, taken = Episode(environment.packed, i), []
    while not episode.is_final():
        actions = episode.actions()
        k = 0
        if len(actions) > 1:
            scores = episode.scores(environment.policy_weights(θ)[0])
            if infusion == 1.0 or (infusion > 0.0 and dice.roll() < infusion):
                k = oracle(episode, scores)
            else:
                k = int(np.searchsorted(np.cumsum(policy(scores, temperature))[:-1], dice.roll(), side="right"))
        taken.append(actions[k])
        episode = episode.after(actions[k])
    return taken


def episodes(environment, i, taken):
    """The states before each action, and the last."""
    found = [Episode(environment.packed, i)]
    for action in taken:
        found.append(found[-1].after(action))
    return found


def rewards(environment, i, taken, credit):
    """r̃_t of each step."""
    states, n, T, λ = episodes(environment, i, taken), environment.packed.lengths[i], len(taken), environment.tradeoff
    if credit == "unit":
        return np.ones(T)
    if credit == "terminal":
        return np.array([0.0] * (T - 1) + [1.0 - states[-1].loss() / n - λ * T])  # (3)
    least = [0.0, *(state.partial_loss() for state in states[1:])]
    return 1.0 / T - λ - np.diff(least) / n  # (8)


def gradient(environment, θ, i, taken, *, temperature=1.0, discount=1.0, credit="terminal", baseline=0.0):
    """Equation 9, with equation 7."""
    r, total = rewards(environment, i, taken, credit), np.zeros(environment.size)
    for t, (episode, action) in enumerate(zip(episodes(environment, i, taken), taken, strict=False)):
        φ = features(environment, episode)
        π = policy(φ @ θ, temperature)
        to_come = sum(discount ** (later - t) * r[later] for later in range(t, len(taken)))
        total += (to_come - baseline) * (φ[episode.actions().index(action)] - π @ φ) / temperature
    return total


def trajectories(environment, θ, i, temperature=1.0, start=(), p=1.0):
    """Every trajectory and how probable it is."""
    episode = episodes(environment, i, start)[-1]
    if episode.is_final():
        yield list(start), p
        return
    π = policy(features(environment, episode) @ θ, temperature)
    for action, share in zip(episode.actions(), π, strict=True):
        yield from trajectories(environment, θ, i, temperature, (*start, action), p * share)


# ---- environments


def dense(environment, found):
    return np.bincount(found.at, found.amount, environment.size)


def random_weights(environment, seed=0, scale=0.7):
    return scale * np.random.default_rng(seed).normal(size=environment.size)


def everything(environment):
    return np.arange(len(environment), dtype=np.int64)


@pytest.fixture(scope="module")
def environments():
    track = Track().pack(random_track(np.random.default_rng(31), 8, 4))
    picking = Picking().pack(random_picking(np.random.default_rng(32), 6, 4))
    return {
        "track": TransitionEnvironment(track, bits=4),
        "track where time costs": TransitionEnvironment(track, bits=4, tradeoff=0.05),
        "picking": TransitionEnvironment(picking, bits=5),
    }


@pytest.mark.parametrize("name", ["track", "track where time costs", "picking"])
@examples(15)
@given(
    seed=st.integers(0, 1000),
    temperature=st.sampled_from([0.3, 1.0, 2.5]),
    infusion=st.sampled_from([0.0, 0.4, 1.0]),
    discount=st.sampled_from([0.0, 0.6, 1.0]),
    credit=st.sampled_from(["terminal", "shaped", "unit"]),
    baseline=st.sampled_from([None, 0.25]),
)
def test_rollouts_equal_the_twin(environments, name, seed, temperature, infusion, discount, credit, baseline):
    environment = environments[name]
    θ, which = random_weights(environment, seed), np.array([3, 0, 5])
    found = environment.rollouts(
        θ,
        which,
        temperature=temperature,
        infusion=infusion,
        discount=discount,
        credit=credit,
        baseline=None if baseline is None else np.full(3, baseline),
        trajectories=2,
        seed=seed,
    )
    total = np.zeros(environment.size)
    for row, i in enumerate(which):
        for j in range(2):
            taken = drawn(environment, θ, i, Dice(seed, j, i), temperature, infusion)
            loss = episodes(environment, i, taken)[-1].loss()
            accuracy = 1.0 - loss / environment.packed.lengths[i]
            assert found.time[row, j] == len(taken)
            assert found.accuracy[row, j] == pytest.approx(accuracy)
            assert found.reward[row, j] == pytest.approx(accuracy - environment.tradeoff * len(taken))
            choices = {"temperature": temperature, "discount": discount, "credit": credit, "baseline": baseline or 0.0}
            total += gradient(environment, θ, i, taken, **choices)
    assert found.gradient.value == pytest.approx(found.reward.sum())
    np.testing.assert_allclose(dense(environment, found.gradient), total, atol=1e-5)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_the_expected_gradient_is_the_gradient_of_the_expected_reward(temperature):
    """E[R(τ)] over all trajectories, differentiated numerically, and E of the gradients that rollouts give (eq. 6)."""
    packed = Track().pack([[Token(OPEN, 1), Token(CUE, 2), Token(FORK, 0, 1)]])
    environment = TransitionEnvironment(packed, bits=3, tradeoff=0.1)
    θ, which = random_weights(environment, 5, scale=0.3 * temperature), everything(environment)

    def expected_reward(θ):
        every = trajectories(environment, θ, 0, temperature)
        return sum(p * rewards(environment, 0, taken, "terminal").sum() for taken, p in every)

    ε = 1e-5
    numerical = [(expected_reward(θ + ε * e) - expected_reward(θ - ε * e)) / (2 * ε) for e in np.eye(environment.size)]
    assert np.abs(numerical).max() > 0.01

    probable = {tuple(taken): p for taken, p in trajectories(environment, θ, 0, temperature)}
    assert sum(probable.values()) == pytest.approx(1.0)
    assert len(probable) == LABELS**3 + LABELS  # with SKIP, the second token is not seen
    # the seed with which each of them is drawn
    seeds, seed = {}, 0
    while len(seeds) < len(probable):
        seeds.setdefault(tuple(drawn(environment, θ, 0, Dice(seed, 0, 0), temperature, 0.0)), seed)
        seed += 1
    for choices in ({}, {"credit": "shaped"}, {"baseline": np.array([0.4])}):  # with γ = 1 they have one expectation
        expected = np.zeros(environment.size)
        for taken, p in probable.items():
            rolled = environment.rollouts(θ, which, temperature=temperature, seed=seeds[taken], **choices)
            expected += p * dense(environment, rolled.gradient)
        np.testing.assert_allclose(expected, numerical, atol=1e-6)


@pytest.mark.jit
def test_trajectories_are_as_frequent_as_they_are_probable(environments):
    """Equation 4, and eq. 11: the oracle acts at a share δ of the steps."""
    packed = Track().pack([[Token(OPEN, 1)]])
    environment = TransitionEnvironment(packed, bits=4)
    θ, n = random_weights(environment, 1), 20_000
    π = policy(features(environment, Episode(packed, 0)) @ θ, 0.8)
    for δ in (0.0, 0.3):
        rolled = environment.rollouts(θ, np.array([0]), temperature=0.8, infusion=δ, trajectories=n)
        right = δ + (1.0 - δ) * π[1]
        skipped = (1.0 - δ) * π[SKIP]
        for share, p in (((rolled.accuracy == 1.0).mean(), right), ((rolled.accuracy == -1.0).mean(), skipped)):
            assert abs(share - p) < 4.0 * np.sqrt(p * (1.0 - p) / n)


def test_shaped_and_unshaped_totals_agree(environments):
    for environment in environments.values():
        θ = random_weights(environment, 2)
        shaped, unshaped = (
            environment.rollouts(θ, everything(environment), credit=credit, trajectories=4, infusion=0.3, seed=9)
            for credit in ("shaped", "terminal")
        )
        np.testing.assert_allclose(shaped.reward, unshaped.reward, atol=1e-12)


def test_the_greedy_policy_earns_what_decoding_says(environments):
    for environment in environments.values():
        θ, which = random_weights(environment, 3), everything(environment)[::-1]
        decoded = list(naive_decode(environment.packed, environment.policy_weights(θ)))
        results = environment.run(θ, which)
        np.testing.assert_allclose(results.accuracy, [1.0 - decoded[i][0].loss() / decoded[i][0].n for i in which])
        np.testing.assert_array_equal(results.time, [decoded[i][1] for i in which])
        np.testing.assert_allclose(results.reward, results.accuracy - environment.tradeoff * results.time)


def test_the_oracle_earns_most(environments):
    for environment in environments.values():
        rolled = environment.rollouts(random_weights(environment), everything(environment), infusion=1.0)
        assert (rolled.accuracy == 1.0).all()


@pytest.mark.parametrize("name", ["track", "picking"])
def test_immediate_rewards_on_the_path_of_the_oracle_are_apprenticeship(environments, name):
    """I− is eq. 10 but for a factor: each action earns the share of one step. D− weights it by the steps to come."""
    environment = environments[name]
    θ = random_weights(environment, 7)
    for i in range(len(environment)):
        unit, immediate, delayed = (
            environment.rollouts(θ, np.array([i]), infusion=1.0, credit=credit, discount=γ)
            for credit, γ in (("unit", 0.0), ("shaped", 0.0), ("shaped", 1.0))
        )
        T = unit.time[0, 0]
        classifier = dense(environment, unit.gradient)
        np.testing.assert_allclose(dense(environment, immediate.gradient), classifier / T, atol=1e-12)
        taken = drawn(environment, θ, i, None, 1.0, 1.0)
        by_steps = gradient(environment, θ, i, taken, credit="unit") / T
        np.testing.assert_allclose(dense(environment, delayed.gradient), by_steps, atol=1e-5)


def test_results_depend_neither_on_jobs_nor_on_what_else_is_asked_for(environments):
    environment = environments["track"]
    θ, which = random_weights(environment, 4), everything(environment)
    choices = {"trajectories": 3, "infusion": 0.2, "credit": "shaped", "discount": 0.5, "seed": 11}
    one, other = (environment.rollouts(θ, which, jobs=jobs, **choices) for jobs in (1, 3))
    for mine, yours in zip(one.gradient[:2] + one[1:], other.gradient[:2] + other[1:], strict=True):
        np.testing.assert_array_equal(mine, yours)
    alone = environment.rollouts(θ, np.array([5]), **choices)
    np.testing.assert_array_equal(alone.reward[0], one.reward[5])
    assert (environment.rollouts(θ, which, **{**choices, "seed": 12}).reward != one.reward).any()


def test_nothing_is_learned_where_there_is_nothing_to_choose():
    environment = TransitionEnvironment(Track().pack([[Token(3, 1)], []]), bits=4)
    rolled = environment.rollouts(environment.initial(), everything(environment), credit="shaped", trajectories=2)
    assert len(rolled.gradient.at) == 0
    assert rolled.accuracy.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert rolled.time.tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_a_random_number_falls_into_one_place():
    p = np.array([0.2, 0.5, 0.3])
    assert [draw(p, 3, point) for point in (0.01, 0.19, 0.21, 0.69, 0.71, 0.999999)] == [0, 0, 1, 1, 2, 2]
    assert draw(np.array([0.1, 0.1]), 2, 0.9) == 1  # what rounding has left out goes to the last


def test_shaping_needs_to_know_what_can_still_be_reached():
    environment = TransitionEnvironment(Track(tells_partial_loss=False).pack([[Token(CUE, 1), Token(CUE, 1)]]), bits=4)
    with pytest.raises(TaskError, match=r"least loss that sentence 0 can still reach .* credit = 'terminal'"):
        environment.rollouts(environment.initial(), np.array([0]), credit="shaped")
    environment.rollouts(environment.initial(), np.array([0]))


def test_settings_that_cannot_be_used():
    packed = Track().pack([[Token(CUE, 1)]])
    with pytest.raises(ConfigError, match=r"must be packed first: TransitionEnvironment\(task.pack\(sentences\)\)"):
        TransitionEnvironment([[Token(CUE, 1)]])
    with pytest.raises(ConfigError, match="tradeoff must be 0 or more, not -1"):
        TransitionEnvironment(packed, tradeoff=-1)
    with pytest.raises(ConfigError, match="tradeoff must be 0 or more, not inf"):
        TransitionEnvironment(packed, tradeoff=np.inf)
    with pytest.raises(ConfigError, match="bits must be a whole number"):
        TransitionEnvironment(packed, bits=0)
    with pytest.raises(ConfigError, match=r"there are 64 weights, 2\^4 rows of 4, but 3 to begin with"):
        TransitionEnvironment(packed, bits=4, initial=np.zeros(3))


def test_the_fingerprint_tells_environments_apart():
    one, other = ([[Token(CUE, value)]] for value in (1, 2))
    prints = [
        TransitionEnvironment(Track().pack(one)).fingerprint,
        TransitionEnvironment(Track().pack(other)).fingerprint,
        TransitionEnvironment(Track().pack(one), tradeoff=0.1).fingerprint,
    ]
    assert len(set(prints)) == 3
    assert prints[0] == TransitionEnvironment(Track().pack(one)).fingerprint
