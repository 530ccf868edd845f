"""Learning priorities: trajectories and gradients against the plain twin, and the sampler against eq. 4 itself."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.constituency.agenda.naive_agenda import PlainAgenda, environment, plain_features
from tests.constituency.agenda.test_search import as_items, parsable, seeds, some
from tests.constituency.naive import Problem, make, random_shape, table_of
from tests.examples import examples
from treewright.constituency.agenda.environment import TIMES, AgendaEnvironment, seconds_per_step
from treewright.constituency.agenda.features import CHEATING, NAMES
from treewright.constituency.agenda.priorities import label_classes
from treewright.constituency.charts.spans import ends_of
from treewright.constituency.grammar.pcfg import Grammar, label_of
from treewright.errors import ConfigError, CorpusError

chances = st.sampled_from([0.0, 0.3, 1.0])
CLOSE = {"rel": 1e-6, "abs": 1e-6}


def twin_of(problem, found, θ):
    def priority(item, score):
        return float(θ @ plain_features(problem, found, item, score))

    return PlainAgenda(problem, priority, found.max_gap)


def gold_constituents(found):
    """(label, start, end, is it the top of a chain) of the gold tree."""
    [tree] = found.trees
    todo, at, gold = [(tree, ())], 0, set()
    while todo:
        node, above = todo.pop()
        width = len(node.leaves())
        if len(node.children) == 1 and not isinstance(node.children[0], str):
            todo.append((node.children[0], (*above, node.label)))
            continue
        gold.add((node.label, at, at + width, False))
        if above:
            gold.add((above[0], at, at + width, True))
        if node.is_preterminal:
            at += 1
        else:
            todo += [(child, ()) for child in reversed(node.children)]
    return gold


def is_gold(problem, gold, item):
    symbol, start, end = item
    label = label_of(problem.names[symbol])
    return label is not None and (label, start, end, symbol in problem.tops) in gold


# ---- trajectories


@given(
    parsable(most_words=5),
    seeds,
    st.sampled_from([0.0, 0.5, 1.0]),
    chances,
    st.sampled_from(["terminal", "shaped", "unit"]),
    st.sampled_from(["pops", "pushes", "seconds"]),
    st.sampled_from([1.0, math.inf]),
)
@some
def test_gradients_are_those_of_the_paper(problem, seed, discount, infusion, credit, time, prune):
    """Eq. 7 and 9 written out, along the trajectory that was drawn."""
    λ, temperature, baseline = 0.01, 0.7, 0.3
    costs = (0.5, 0.25) if time == "seconds" else None
    found = environment(problem, seed, tradeoff=λ, time=time, seconds=costs, max_gap=prune)
    θ = found.initial() + np.random.default_rng(seed).normal(0.0, 0.3, found.size)
    choices = {"temperature": temperature, "infusion": infusion, "discount": discount, "credit": credit}
    rollouts, [pops] = found.drawn(θ, 0, seed=seed, baseline=np.array([baseline]), **choices)
    twin, gold = twin_of(problem, found, θ), gold_constituents(found)
    per_pop, per_push = costs or {"pops": (1.0, 0.0), "pushes": (0.0, 1.0)}[time]
    slopes, rewards, before = [], [], 0
    for item in as_items(found, pops):
        waiting = sorted(twin.agenda)
        assert item in waiting
        φ = np.array([plain_features(problem, found, each, twin.score[each]) for each in waiting])
        π = np.exp((φ @ θ - max(φ @ θ)) / temperature)
        π /= π.sum()
        slopes.append((φ[waiting.index(item)] - π @ φ) / temperature)
        twin.pop(item)
        rewards.append(float(is_gold(problem, gold, item)) - λ * (per_pop + per_push * (twin.pushes - before)))
        before = twin.pushes
    assert twin.is_over
    spent = per_pop * len(pops) + per_push * twin.pushes
    accuracy = rollouts.accuracy[0, 0]
    assert rollouts.time[0, 0] == pytest.approx(spent)
    rewards[-1] += accuracy - sum(is_gold(problem, gold, item) for item in twin.popped)
    assert sum(rewards) == pytest.approx(accuracy - λ * spent)  # shaped and unshaped totals agree
    assert rollouts.reward[0, 0] == pytest.approx(accuracy - λ * spent)
    if credit == "terminal":
        rewards = [0.0] * (len(pops) - 1) + [accuracy - λ * spent]
    elif credit == "unit":
        rewards = [1.0] * len(pops)
    wanted = np.zeros(found.size)
    for t in range(len(pops)):
        wanted += slopes[t] * (sum(discount ** (u - t) * rewards[u] for u in range(t, len(pops))) - baseline)
    assert as_dense(rollouts.gradient, found.size) == pytest.approx(wanted, **CLOSE)


def as_dense(features, size):
    return np.bincount(features.at, features.amount, size)


@given(parsable(most_words=5), seeds)
@some
def test_the_oracle_leads_to_the_best_parse_with_the_gold_constituents(problem, seed):
    found = environment(problem, seed)
    gold = gold_constituents(found)

    def worth(derivation):
        items = problem.constituents(derivation)
        bottoms = [item for item in items if item[0] not in problem.tops and label_of(problem.names[item[0]])]
        right = sum(is_gold(problem, gold, item) for item in items)
        return right - sum(not is_gold(problem, gold, item) for item in bottoms), problem.score(derivation)

    best = max(map(worth, problem.trees))
    symbols, (items, _) = len(problem.names), found._oracle
    oracle = {(item % symbols, *map(int, ends_of(item // symbols))) for item in items.tolist()}
    same = [tree for tree in problem.trees if set(problem.constituents(tree)) == oracle]
    assert max(map(worth, same)) == pytest.approx(best, rel=1e-5, abs=1e-4)
    _, [pops] = found.drawn(found.initial(), 0, infusion=1.0)
    assert set(as_items(found, pops)) <= oracle  # nothing else is popped


@given(parsable(most_words=4), seeds)
@some
def test_accuracy_is_the_number_of_gold_constituents_in_the_parse(problem, seed):
    found = environment(problem, seed)
    gold = gold_constituents(found)
    results, parses = found.run(found.initial(), [0]), found.parse(found.initial(), [0])
    nodes = [tuple(node) for node in parses.derivations[0].tolist()]
    right = sum(is_gold(problem, gold, item) for item in problem.constituents(nodes))
    assert results.accuracy[0] == right <= len(gold) == found.gold[0]
    assert results.reward[0] == pytest.approx(right - found.tradeoff * parses.pops[0])


@given(parsable(most_words=4), seeds)
@some
def test_the_cheating_feature(problem, seed):
    found = environment(problem, seed, cheating=True)
    needs_chain = any(weight > 0.0 for weight in problem.weights[len(problem.binary) :])
    chain = ["unary to come"] * needs_chain
    assert [NAMES[f] for f in found.features[28:]] == ["punctuation -5", *chain, "cheating"]
    θ = 1e-3 * found.initial()
    θ[found.features.index(CHEATING)] = 100.0
    of, classes = label_classes(problem.grammar)
    oracle = found.drawn(θ, 0, infusion=1.0)[1][0]
    wanted = {(classes[of[problem.grammar.number[pop.symbol]]], pop.start, pop.end) for pop in oracle}
    for pop in found.pops(θ, 0):
        assert (pop.priority > 50.0) == (
            (classes[of[problem.grammar.number[pop.symbol]]], pop.start, pop.end) in wanted
        )
    θ = np.random.default_rng(seed).normal(0.0, 1.0, found.size)
    for pop in found.drawn(θ, 0, credit="shaped")[1][0]:
        assert math.isfinite(pop.priority)
    plain = environment(problem, seed)
    θ[-1] = 0.0
    assert found.pops(θ, 0) == plain.pops(θ[:-1], 0)


def test_symbols_of_one_label_are_rewarded_once():
    """X^1 and X^2 are the same constituent, so popping both brings no more than popping one."""
    rules = [("S", "X^1", "y", -1.0, 1.0), ("S", "X^2", "y", -1.0, 1.0)]
    rules += [("X^1", "y", "y", -1.0, 1.0), ("X^2", "y", "y", -2.0, 1.0)]
    grammar = Grammar.from_rules(rules, [("TOP", "S", (), -1.0, 1.0)])
    problem = Problem(grammar, table_of([[(grammar.number["y"], -1.0)]]), [0, 0, 0])
    found = environment(problem, gold=problem.trees[0], tradeoff=0.0)
    assert found.gold.tolist() == [5]  # S, X and the tags
    for seed in range(10):
        rollouts, [pops] = found.drawn(1e-6 * found.initial(), 0, credit="shaped", seed=seed)
        assert rollouts.reward[0, 0] == rollouts.accuracy[0, 0] <= 5.0
        assert len(set(pops)) == len(pops)


@given(parsable(most_words=4), seeds)
@some
def test_priorities_are_explained(problem, seed):
    found = environment(problem, seed, cheating=True)
    θ = np.random.default_rng(seed).normal(0.0, 1.0, found.size)
    for pop in found.pops(θ, 0):
        assert θ @ list(found.explain(0, pop).values()) == pytest.approx(pop.priority, abs=1e-9)


@given(parsable(most_words=5), seeds, chances)
@some
def test_imitation_makes_the_oracles_actions_probable_wherever_it_gets(problem, seed, infusion):
    """Eq. 10 in every state, the mean of all states in which the oracle has something to do."""
    found = environment(problem, seed, imitates=True)
    θ = found.initial() + np.random.default_rng(seed).normal(0.0, 0.3, found.size)
    rollouts, [pops] = found.drawn(θ, 0, seed=seed, infusion=infusion, credit="unit", discount=0.0)
    twin, symbols = twin_of(problem, found, θ), len(problem.names)
    oracle = {(item % symbols, *map(int, ends_of(item // symbols))) for item in found._oracle[0].tolist()}
    slopes = []
    for item in as_items(found, pops):
        waiting = sorted(twin.agenda)
        φ = np.array([plain_features(problem, found, each, twin.score[each]) for each in waiting])
        π = np.exp(φ @ θ - max(φ @ θ))
        available = [k for k, each in enumerate(waiting) if each in oracle]
        if available:
            right = max(available, key=lambda k: φ[k] @ θ)
            slopes.append(φ[right] - π @ φ / π.sum())
        twin.pop(item)
    wanted = np.mean(slopes, axis=0) if slopes else np.zeros(found.size)
    assert as_dense(rollouts.gradient, found.size) == pytest.approx(wanted, **CLOSE)


@given(parsable(most_words=5), seeds, st.sampled_from([1e-3, 0.2]))
@some
def test_with_the_rewards_of_footnote_2_i_minus_is_apprenticeship(problem, seed, λ):
    """All of the oracle's actions earn 1 − λ: I− is apprenticeship times that; D− counts an action T − t + 1 times."""
    found = environment(problem, seed, tradeoff=λ, shaping="oracle")
    θ = found.initial() + np.random.default_rng(seed).normal(0.0, 0.3, found.size)
    options = {"infusion": 1.0, "seed": seed}
    apprentice, [pops] = found.drawn(θ, 0, credit="unit", discount=0.0, **options)
    immediate, _ = found.drawn(θ, 0, credit="shaped", discount=0.0, **options)
    assume(immediate.reward[0, 0] > len(pops) * (1.0 - λ) - 0.5)  # all constituents are in the parse
    wanted = (1.0 - λ) * as_dense(apprentice.gradient, found.size)
    assert as_dense(immediate.gradient, found.size) == pytest.approx(wanted, **CLOSE)
    assert immediate.reward[0, 0] == pytest.approx((1.0 - λ) * len(pops))
    delayed, _ = found.drawn(θ, 0, credit="shaped", discount=1.0, **options)
    twin, slope, T = twin_of(problem, found, θ), np.zeros(found.size), len(pops)
    for t, item in enumerate(as_items(found, pops)):
        waiting = sorted(twin.agenda)
        φ = np.array([plain_features(problem, found, each, twin.score[each]) for each in waiting])
        π = np.exp(φ @ θ - max(φ @ θ))
        slope += (T - t) * (φ[waiting.index(item)] - π @ φ / π.sum())
        twin.pop(item)
    assert as_dense(delayed.gradient, found.size) == pytest.approx((1.0 - λ) * slope, **CLOSE)


@given(parsable(most_words=5), seeds)
@some
def test_rewards_of_the_oracles_constituents_are_taken_back_if_they_are_not_in_the_parse(problem, seed):
    found = environment(problem, seed, tradeoff=0.1, shaping="oracle")
    symbols = len(problem.names)
    oracle = {(item % symbols, *map(int, ends_of(item // symbols))) for item in found._oracle[0].tolist()}
    rollouts, [pops] = found.drawn(0.1 * found.initial(), 0, credit="shaped", seed=seed)
    last = found.parser.parse(found.packed, found.weights(found.initial()), np.arange(1))
    assert last.whole[0]
    assert rollouts.reward[0, 0] <= len(oracle & set(as_items(found, pops))) - 0.1 * len(pops) + 1e-9


# ---- the sampler


def sequences(problem, found, θ, temperature, length):
    """The probabilities of all sequences of ``n`` pops, by eq. 4 written out."""
    wanted = {}

    def go_on(prefix, probability):
        twin = twin_of(problem, found, θ)
        for item in prefix:
            twin.pop(item)
        if twin.is_over or len(prefix) == length:
            wanted[prefix] = probability
            return
        highest = max(twin.agenda.values())
        π = {item: math.exp((p - highest) / temperature) for item, p in twin.agenda.items()}
        for item, share in π.items():
            go_on((*prefix, item), probability * share / sum(π.values()))

    go_on((), 1.0)
    return wanted


@pytest.mark.jit
@pytest.mark.parametrize("temperature", [0.5, 2.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_pops_are_exact_draws(seed, temperature):
    """A chi-square test of whole sequences: what was pushed early and what was pushed late compete fairly."""
    rng = np.random.default_rng(seed)
    problem = make(random_shape(rng, 3, 6), seed)
    while not 2 <= len(problem.trees) <= 20:
        problem = make(random_shape(rng, 3, 6), seed)
    found = environment(problem, seed)
    θ = found.initial() + rng.normal(0.0, 0.3, found.size)
    wanted = sequences(problem, found, θ, temperature, 4)
    n = 20000
    drawn = found.drawn(θ, 0, most=4, trajectories=n, temperature=temperature, seed=seed)[1]
    seen = {}
    for pops in drawn:
        key = tuple(as_items(found, pops))
        seen[key] = seen.get(key, 0) + 1
    assert set(seen) <= set(wanted)
    assert sum(wanted.values()) == pytest.approx(1.0)
    often = {key: p for key, p in wanted.items() if p * n >= 10.0}
    rest = 1.0 - sum(often.values())
    squares = [(seen.get(key, 0) - p * n) ** 2 / (p * n) for key, p in often.items()]
    if rest * n >= 10.0:
        squares.append((n - sum(seen.get(key, 0) for key in often) - rest * n) ** 2 / (rest * n))
    freedom = len(squares) - 1
    assert sum(squares) < freedom + 5.0 * math.sqrt(2.0 * freedom)  # five standard deviations


@pytest.mark.parametrize("scale", [1e-6, 200.0, 1e4])
def test_sums_and_clocks_survive_any_spread_of_priorities(scale):
    """Priorities so far apart that some clocks would never ring: the sums are computed again, and the best go first."""
    problem = make(random_shape(np.random.default_rng(5), 5, 9), 5)
    found = environment(problem, 5, gold="flat")
    θ = scale * found.initial()
    rollouts, [pops] = found.drawn(θ, 0, credit="unit", discount=0.0)
    assert np.isfinite(rollouts.gradient.amount).all()
    twin, slope = twin_of(problem, found, θ), np.zeros(found.size)
    for item in as_items(found, pops):
        φ = np.array([plain_features(problem, found, each, twin.score[each]) for each in twin.agenda])
        π = np.exp(φ @ θ - max(φ @ θ))
        assert scale < 1.0 or twin.agenda[item] > max(twin.agenda.values()) - 40.0
        slope += φ[list(twin.agenda).index(item)] - π @ φ / π.sum()
        twin.pop(item)
    assert as_dense(rollouts.gradient, found.size) == pytest.approx(slope, **CLOSE)


# ---- many sentences


def corpus(problem, seed, **options):
    """Several sentences, each with a random gold tree."""
    rows = len(problem.lexical.at) - 1
    rng = np.random.default_rng(seed)
    parts = [environment(problem, seed, **options)]
    for n in (1, 2, 3, 4, 5, 3):
        other = Problem(problem.grammar, problem.lexical, rng.integers(0, rows, n).tolist())
        parts.append(environment(other, seed, gold=None if other.trees else "flat", **options))
    sentences, rows, trees = (
        [part for each in parts for part in getattr(each, name)] for name in ("sentences", "rows", "trees")
    )
    return replace(parts[0], sentences=sentences, rows=rows, trees=trees)


@pytest.mark.jit
@given(parsable(most_words=4), seeds)
@examples(5)
def test_neither_jobs_nor_other_sentences_matter(problem, seed):
    found = corpus(problem, seed)
    θ, which = found.initial(), np.arange(len(found))
    options = {"trajectories": 2, "infusion": 0.5, "credit": "shaped", "seed": seed}
    one, two = (found.rollouts(θ, which, jobs=jobs, **options) for jobs in (1, 2))
    assert (one.reward == two.reward).all()
    assert (one.gradient.amount == two.gradient.amount).all()
    assert one.gradient.value == one.reward.sum()
    alone = [found.rollouts(θ, which[k : k + 1], **options) for k in which]
    assert (np.concatenate([part.reward for part in alone]) == one.reward).all()
    assert found.rollouts(θ, which, **{**options, "seed": seed + 1}).gradient.at.max() < found.size
    greedy = [found.run(θ, which, jobs=jobs).reward for jobs in (1, 2)]
    assert (greedy[0] == greedy[1]).all()
    assert found.but(tradeoff=1.0).fingerprint != found.fingerprint == replace(found).fingerprint


@given(parsable(most_words=4), seeds)
@examples(5)
def test_a_huge_tradeoff_ends(problem, seed):
    found = environment(problem, seed, tradeoff=1e9)
    rollouts = found.rollouts(found.initial(), [0], credit="shaped", trajectories=2)
    assert (rollouts.time <= found.bound(0)).all()
    assert np.isfinite(rollouts.gradient.amount).all()


def test_seconds_are_pops_and_pushes():
    problem = next(p for p in (make(random_shape(np.random.default_rng(k), 4, 9), k) for k in range(50)) if p.trees)
    found = corpus(problem, 0)
    per_pop, per_push = seconds_per_step(found, np.arange(len(found)))
    assert per_pop + per_push > 0.0
    timed = replace(found, time="seconds", seconds=(2.0, 3.0))
    parses = timed.parse(timed.initial(), np.arange(2))
    assert timed.run(timed.initial(), np.arange(2)).time.tolist() == (2 * parses.pops + 3 * parses.pushes).tolist()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"time": "years"}, "one of: pops, pushes, seconds"),
        ({"time": "seconds"}, "what a pop and a push take"),
        ({"seconds": (1.0, 1.0)}, "what a pop and a push take"),
        ({"tradeoff": math.nan}, "must be a number"),
        ({"tradeoff": -1.0}, "0 or more, not -1"),
        ({"tradeoff": math.inf}, "must be a number"),
        ({"max_gap": -1.0}, "must be 0 or more"),
        ({"most_pops": 0}, "must be 1 or more"),
        ({"shaping": "silver"}, "one of: gold, oracle"),
    ],
)
def test_bad_settings(settings, message):
    problem = next(p for p in (make(random_shape(np.random.default_rng(k), 4, 9), k) for k in range(50)) if p.trees)
    with pytest.raises(ConfigError, match=message):
        environment(problem, **settings)


def test_trees_must_fit_the_sentences():
    problem = next(p for p in (make(random_shape(np.random.default_rng(k), 4, 9), k) for k in range(50)) if p.trees)
    found = environment(problem)
    with pytest.raises(CorpusError, match="sentence 0 has 1 words"):
        replace(found, sentences=[["one"]])
    with pytest.raises(CorpusError, match="for every sentence"):
        replace(found, trees=[])
    without = replace(found, trees=None)
    assert without.parse(found.initial(), [0]).pops == found.parse(found.initial(), [0]).pops  # it can parse
    with pytest.raises(CorpusError, match="no gold trees"):
        without.run(found.initial(), [0])
    assert TIMES == ("pops", "pushes", "seconds")
    assert isinstance(found, AgendaEnvironment)
