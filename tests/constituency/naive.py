"""Slow, obvious twins: all derivations of a sentence, written out one by one, and charts without any tricks.

Everything here knows a grammar by its lists of rules alone. A derivation is a tuple of nodes as the kernels write them:
(symbol, unary rule or −1, binary rule or −1, start, end), parents before children, left before right.
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache, cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from treewright.constituency.charts.chart import new_space, row_offsets
from treewright.constituency.charts.derivations import best_tree, cover, new_actions
from treewright.constituency.charts.kbest import k_best_trees, new_forest
from treewright.constituency.charts.outside import outside
from treewright.constituency.charts.policy_matching import Pull, policy_gradient
from treewright.constituency.charts.recurrence import fill
from treewright.constituency.charts.semirings import INSIDE, POSSIBLE, VITERBI, VITERBI_64
from treewright.constituency.grammar.pcfg import Grammar
from treewright.constituency.grammar.rules import Lexical, Weighted
from treewright.search.compiling import kernel

INF = math.inf


class Problem:
    """A grammar, a lexicon, and a sentence as rows of it, with everything that can be found by writing it all out."""

    def __init__(self, grammar, lexical, words, rewards=None):
        self.rewards = rewards or {}  # of constituents, by (symbol, start, end)
        self.grammar, self.lexical, self.words = grammar, lexical, np.array(words, np.int64)
        self.n = len(words)
        self.names = grammar.symbols
        self.root = grammar.number["TOP"]
        self.weights = grammar.weights
        self.binary = [tuple(rule) for rule in grammar.binary.tolist()]
        self.unary = [tuple(rule) for rule in grammar.unary.tolist()]
        self.tops = {top for top, _ in self.unary} | {self.root}
        self.count, self.derivations = cache(self._count), cache(self._derivations)
        self.tags = []
        for row in words:
            entries = range(lexical.at[row], lexical.at[row + 1])
            self.tags.append({int(lexical.symbol[k]): float(lexical.score[k]) for k in entries})

    def __repr__(self):
        return f"<{self.words.tolist()} {self.lexical}\n{self.grammar.to_text()}>"

    def with_weights(self, weights):
        return Problem(self.grammar.with_weights(weights), self.lexical, self.words, self.rewards)

    # ---- derivations

    def _count(self, symbol, start, end):
        """How many derivations a constituent has."""
        if symbol in self.tops:
            return sum(self.count(below, start, end) for top, below in self.unary if top == symbol)
        total = 1 if end - start == 1 and symbol in self.tags[start] else 0
        for parent, left, right in self.binary:
            if parent == symbol:
                for split in range(start + 1, end):
                    total += self.count(left, start, split) * self.count(right, split, end)
        return total

    def _derivations(self, symbol, start, end):
        """All of them."""
        if symbol in self.tops:
            found = []
            for rule, (top, below) in enumerate(self.unary):
                if top == symbol:
                    for first, *others in self.derivations(below, start, end):
                        found.append(((first[0], rule, *first[2:]), *others))
            return found
        found = [((symbol, -1, -1, start, end),)] if end - start == 1 and symbol in self.tags[start] else []
        for rule, (parent, left, right) in enumerate(self.binary):
            if parent == symbol:
                for split in range(start + 1, end):
                    parts = product(self.derivations(left, start, split), self.derivations(right, split, end))
                    found += [((symbol, -1, rule, start, end), *one, *two) for one, two in parts]
        return found

    @cached_property
    def trees(self):
        """The derivations of the whole sentence."""
        return self.derivations(self.root, 0, self.n)

    @cached_property
    def best_first(self):
        """The scores of all trees, best first."""
        return sorted(map(self.score, self.trees), reverse=True)

    def rules(self, derivation):
        """How often each rule is used, binary ones first: the features f(R, τ)."""
        counts = np.zeros(len(self.weights))
        for _, one, two, _, _ in derivation:
            if one >= 0:
                counts[len(self.binary) + one] += 1.0
            if two >= 0:
                counts[two] += 1.0
        return counts

    def score(self, derivation, tags=True):
        """The sum of the rules' weights, of the tags' scores, and of the constituents' own rewards."""
        lexical = sum(self.tags[start][symbol] for symbol, _, two, start, _ in derivation if two < 0)
        own = sum(self.rewards.get(constituent, 0.0) for constituent in self.constituents(derivation))
        return float(self.weights @ self.rules(derivation)) + own + (lexical if tags else 0.0)

    def constituents(self, derivation):
        """What a derivation consists of: (symbol, start, end) of bottoms and of tops."""
        found = []
        for symbol, one, _, start, end in derivation:
            if one >= 0:
                found.append((self.unary[one][0], start, end))
            found.append((symbol, start, end))
        return found

    @cached_property
    def spans(self):
        """Every symbol in every place."""
        ends = [(start, end) for start in range(self.n) for end in range(start + 1, self.n + 1)]
        return [(symbol, start, end) for symbol in range(len(self.names)) for start, end in ends]

    # ---- sums over all of them

    def log_sum(self, symbol, start, end):
        return log_sum_exp([self.score(d) for d in self.derivations(symbol, start, end)])

    def maximum(self, symbol, start, end):
        return max((self.score(d) for d in self.derivations(symbol, start, end)), default=-INF)

    def posterior(self, trees=None):
        """The probability of each tree."""
        trees = self.trees if trees is None else trees
        scores = np.array([self.score(tree) for tree in trees])
        return np.exp(scores - log_sum_exp(scores))

    def expected_constituents(self, trees=None):
        found = defaultdict(float)
        trees = self.trees if trees is None else trees
        for tree, probability in zip(trees, self.posterior(trees), strict=True):
            for constituent in self.constituents(tree):
                found[constituent] += probability
        return found

    def expected_rules(self, trees=None):
        trees = self.trees if trees is None else trees
        return sum(
            (p * self.rules(tree) for tree, p in zip(trees, self.posterior(trees), strict=True)),
            np.zeros(len(self.weights)),
        )

    def is_valid(self, derivation):
        """Is it one of the derivations of the whole sentence?"""
        return as_tuples(derivation) in set(self.trees)


def as_tuples(nodes):
    return tuple(tuple(int(number) for number in node) for node in nodes)


def log_sum_exp(scores):
    return float(np.logaddexp.reduce(scores)) if len(scores) else -INF


# ---- random problems


class Shape(NamedTuple):
    """What Hypothesis chooses: everything but the scores."""

    binary: list
    unary: list
    kinds: list
    words: list


def make(shape, seed, spread=1.0):
    """A problem with random scores. Trees of equal score are still common: those with the same rules elsewhere."""
    rng = np.random.default_rng(seed)
    grammar = Grammar.from_rules(
        [(*rule, float(rng.normal() * spread), 1.0) for rule in shape.binary],
        [(*rule, float(rng.normal() * spread), 1.0) for rule in shape.unary],
    )
    rows = [[grammar.number[tag] for tag in kind] for kind in shape.kinds]
    return Problem(grammar, table_of([[(tag, rng.normal() * spread) for tag in row] for row in rows]), shape.words)


def table_of(rows):
    """A lexicon: for each kind of word the tags and their scores."""
    at = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    flat = [entry for row in rows for entry in row]
    return Lexical(at, np.array([tag for tag, _ in flat], np.int32), np.array([score for _, score in flat], np.float32))


def random_shape(rng, n, most_rules):
    phrases, tags = "ABCD"[: rng.integers(2, 5)], "xyz"[: rng.integers(1, 4)]
    starters = [name for name in phrases if rng.random() < 0.4]  # these start unary chains, so they have two forms
    bottoms = [name + "~" if name in starters else name for name in phrases]
    above = [*phrases, *tags, *tags]
    size = rng.integers(3, most_rules + 1)
    binary = [tuple(map(str, (rng.choice(bottoms), rng.choice(above), rng.choice(above)))) for _ in range(size)]
    unary = [("TOP", bottom, ()) for bottom in ("x", *bottoms) if rng.random() < 0.6] or [("TOP", "x", ())]
    middles = [(), (), ("",), ("B",), ("B", "A")]
    for name in starters:
        for _ in range(rng.integers(1, 5)):
            unary.append((name, str(rng.choice([*bottoms, *tags])), middles[rng.integers(len(middles))]))
    known = {name for rule in (*binary, *unary) for name in rule[:3]}
    there = [tag for tag in tags if tag in known] or ["x"]
    kinds = [[str(tag) for tag in rng.permutation(there)[: rng.integers(1, 3)]] for _ in range(rng.integers(1, 5))]
    unary += [("TOP", tag, ()) for tag in there if tag not in known]
    words = rng.integers(0, len(kinds), n).tolist()
    return Shape(sorted(set(binary)), sorted(set(unary)), kinds, words)


@st.composite
def problems(draw, most_words=6, most_rules=9, most_trees=400, spread=1.0):
    """A problem that can be written out. Most have trees: of some random ones the first that has a few is taken."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, wanted = int(max(rng.integers(1, most_words + 1, 2))), rng.choice([0, 1, 2, 6])
    for attempt in range(30):
        problem = make(random_shape(rng, n, most_rules), int(rng.integers(2**32)), spread)
        if attempt == 0:
            first = problem
        found = problem.count(problem.root, 0, n)
        if wanted <= found and sum(problem.count(*span) for span in problem.spans) <= most_trees:
            return problem
    while sum(first.count(*span) for span in first.spans) > most_trees:
        first = Problem(first.grammar, first.lexical, first.words[:-1].tolist())
    return first


@st.composite
def corpora(draw, most_sentences=4, **settings):
    """Problems with one grammar and one lexicon."""
    first = draw(problems(**settings))
    found = [first]
    rows = len(first.lexical.at) - 1
    for _ in range(draw(st.integers(0, most_sentences - 1))):
        words = draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=settings.get("most_words", 6)))
        while words:
            problem = Problem(first.grammar, first.lexical, words)
            if problem.count(problem.root, 0, problem.n) <= settings.get("most_trees", 400):
                found.append(problem)
                break
            words = words[:-1]
    return found


def long_problem(seed, n):
    """A long sentence that has trees, over a grammar that leaves gaps: not everything is everywhere.

    S is over everything that has two words, E over even widths, A, B and C only where words and widths allow it.
    """
    rng = np.random.default_rng(seed)
    rules = [("S", "x", "S"), ("S", "y", "S"), ("S", "x", "x"), ("S", "x", "y"), ("S", "y", "x"), ("S", "y", "y")]
    rules += [("O", "x", "E"), ("O", "y", "E"), ("E", "y", "O"), ("E", "x", "O"), ("E", "x", "y"), ("E", "y", "y")]
    rules += [("A~", "x", "E"), ("B", "A", "y"), ("C", "B", "C"), ("C", "B", "B"), ("S", "C", "E"), ("A~", "C", "x")]
    chains = [
        ("A", "A~", ()),
        ("A", "y", ()),
        ("A", "C", ("B",)),
        ("TOP", "S", ()),
        ("TOP", "B", ()),
        ("TOP", "A~", ()),
    ]
    return make(Shape(rules, chains, ["x", "y", "xy"], rng.choice(3, n, p=[0.45, 0.45, 0.1]).tolist()), seed)


def dense_problem(seed, n):
    """A grammar in which most pairs have many parents, whose charts are computed in another way."""
    rng = np.random.default_rng(seed)
    phrases, tags = [f"P{k}" for k in range(10)], ["x", "y", "z"]
    starters = phrases[:3]
    bottoms = [name + "~" if name in starters else name for name in phrases]
    pairs = {tuple(map(str, rng.choice([*phrases, *tags], 2))) for _ in range(14)} | {
        ("x", "y"),
        ("P9", "z"),
        ("x", "P9"),
    }
    binary = [(parent, *pair) for pair in sorted(pairs) for parent in bottoms if rng.random() < 0.95]
    unary = [("TOP", bottom, ()) for bottom in (*bottoms, *tags)]
    unary += [(name, str(bottom), ()) for name in starters for bottom in rng.permutation([*bottoms, *tags])[:4]]
    return make(Shape(binary, unary, ["x", "y", "z", "xy", "yz"], rng.integers(0, 5, n).tolist()), seed)


# ---- Policy Matching, word for word


def first_action(problem, symbol, derivation):
    if symbol in problem.tops:
        return "unary", derivation[0][1]
    return ("binary", derivation[0][2], derivation[1][4]) if len(derivation) > 1 else ("lexical",)


def states_of(problem, gold):
    """For each constituent of a tree: its actions, each with its value Q and its features Φ(x, a), and the expert's."""
    for k, (_, one, *_, start, end) in enumerate(gold):
        below = [node for node in gold[k:] if node[3] >= start and node[4] <= end]
        for symbol in ([problem.unary[one][0]] if one >= 0 else []) + [gold[k][0]]:
            if symbol not in problem.tops:
                below[0] = (gold[k][0], -1, *gold[k][2:])
            best = {}
            for derivation in problem.derivations(symbol, start, end):
                action, score = first_action(problem, symbol, derivation), problem.score(derivation)
                if action not in best or score > best[action][0]:
                    best[action] = score, problem.rules(derivation)
            yield first_action(problem, symbol, below), best


def literally(problem, gold, temperature):
    """J by eq. 16 (without the division by N) and its negative gradient by eq. 18, with Φ(x, a) written out."""
    dissimilarity, gradient = 0.0, np.zeros(len(problem.weights))
    for expert, actions in states_of(problem, gold):
        highest = max(q for q, _ in actions.values())
        π = {action: math.exp((q - highest) / temperature) for action, (q, _) in actions.items()}
        total = sum(π.values())
        π = {action: p / total for action, p in π.items()}  # eq. 17
        mean = sum(π[action] * φ for action, (_, φ) in actions.items())
        for action, (_, φ) in actions.items():
            of_expert = 1.0 if action == expert else 0.0
            dissimilarity += 0.5 * (π[action] - of_expert) ** 2
            gradient += (of_expert - π[action]) * π[action] / temperature * (φ - mean)  # eq. 18 and 19
    return dissimilarity, gradient


# ---- charts without tricks


def plain_chart(problem, summing=False):
    """CKY over a full table: values[start, end, symbol], as logarithms, in 64 bits."""
    n, n_binary = problem.n, len(problem.binary)
    values = np.full((n + 1, n + 1, len(problem.names)), -INF)
    plus = np.logaddexp if summing else np.maximum
    parents, lefts, rights = np.array(problem.binary).T
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            here = values[start, start + width]
            if width == 1:
                for tag, score in problem.tags[start].items():
                    here[tag] = score
            else:
                left = values[start, start + 1 : start + width][:, lefts]
                right = values[start + 1 : start + width, start + width][:, rights]
                plus.at(here, parents, plus.reduce(left + right, axis=0) + problem.weights[:n_binary])
            for rule, (top, bottom) in enumerate(problem.unary):
                here[top] = plus(here[top], here[bottom] + problem.weights[n_binary + rule])
    return values


# ---- the kernels, as tests call them, kept on disk


@kernel
def fill_kernel(semiring, grammar, words, anchored, beam, space):
    return fill(semiring, grammar, words, anchored, beam, space)


@kernel
def space_kernel(semiring, symbols, n):
    return new_space(semiring, symbols, n)


@kernel
def outside_kernel(chart, above, counts, rewards):
    return outside(chart, above, counts, 0.0, rewards)


@kernel
def best_tree_kernel(chart, symbol, start, width, nodes):
    return best_tree(chart, symbol, start, width, nodes, 0)


@kernel
def cover_kernel(chart, eligible, pieces):
    return cover(chart, eligible, pieces)


@kernel
def policy_kernel(chart, gold, temperature, pull, gradient):
    return policy_gradient(chart, gold, temperature, new_actions(chart.rules, chart.n), Pull(pull, gradient))


@kernel
def forest_kernel(rules, n, places, nodes, k):
    return new_forest(rules, n, places, nodes, k)


@kernel
def k_best_kernel(chart, forest, scores, trees):
    return k_best_trees(chart, forest, scores, trees)


def semiring_of(dtype, summing):
    return INSIDE if summing else VITERBI if dtype is np.float32 else VITERBI_64


def new_room(problem, dtype=np.float64, summing=False, n=0):
    return space_kernel(semiring_of(dtype, summing), len(problem.names), max(n, problem.n))


def filled(problem, dtype=np.float64, *, summing=False, anchored=None, beam=INF, space=None, run=fill_kernel):
    """The chart of a problem; ``anchored`` is given by (symbol, start, end)."""
    space = new_room(problem, dtype, summing) if space is None else space
    weights = np.exp(problem.weights) if summing else problem.weights.astype(dtype)
    n_binary = len(problem.binary)
    rewards = rewards_of(problem, {} if anchored is None else anchored, dtype)
    grammar = Weighted(problem.grammar.rules, weights[:n_binary], weights[n_binary:], problem.lexical)
    return run(semiring_of(dtype, summing), grammar, problem.words, rewards, beam, space)


def rewards_of(problem, anchored, dtype=np.float64):
    """Rewards that are given by (symbol, start, end), in the layout of a chart; an empty array if there are none."""
    rewards = np.zeros(len(new_room(problem).values) if anchored else 0, dtype)
    for (symbol, start, end), reward in anchored.items():
        rewards[at(problem, symbol, start, end)] = reward
    return rewards


def at(problem, symbol, start, end):
    """Where a constituent is in a chart, as the module's docstring tells it."""
    offsets = row_offsets(problem.n)
    return int(symbol * offsets[problem.n + 1] + offsets[end - start] + start)


def is_there(chart, symbol, start, end):
    return bool(int(chart.space.starts[symbol, end - start]) >> (start % 64) & 1)


def logarithms(problem, chart, summing=False):
    """What a chart holds, as true logarithms: {(symbol, start, end): value}, without what is impossible."""
    stride = (problem.n + 7) // 8 * 8 + 8
    found = {}
    for symbol, start, end in problem.spans:
        if is_there(chart, symbol, start, end):
            v = float(chart.space.values[at(problem, symbol, start, end)])
            if summing and v > 0.0:
                found[symbol, start, end] = math.log(v) + float(chart.space.scale[(end - start) * stride + start])
            elif not summing and v > POSSIBLE:
                found[symbol, start, end] = v
    return found


def posteriors(problem, chart, anchored=None):
    """Probabilities of constituents, expected rules, and log Z, from inside and outside values."""
    rewards = rewards_of(problem, {} if anchored is None else anchored)
    above, counts = np.full(len(chart.space.values), np.nan), np.zeros(len(problem.weights))
    log_z = outside_kernel(chart, above, counts, rewards)
    if log_z == -INF:
        return {}, counts, log_z
    found = {}
    for symbol, start, end in problem.spans:
        if is_there(chart, symbol, start, end):
            place = at(problem, symbol, start, end)
            found[symbol, start, end] = float(chart.space.values[place] * above[place])
    return found, counts, log_z


def k_best(problem, chart, k, nodes=1000):
    """The k best trees with their scores; nothing if the forest has too little room."""
    forest = forest_kernel(chart.rules, problem.n, len(chart.space.values), nodes, k)
    scores, trees = np.zeros(k), np.zeros((k, 2 * problem.n - 1, 5), np.int32)
    found = k_best_kernel(chart, forest, scores, trees)
    return None if found < 0 else [(float(scores[t]), as_tuples(trees[t])) for t in range(found)]
