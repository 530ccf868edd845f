"""Eisner's algorithm against all projective trees, and the parser that plans with it."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pytest

from tests.search import naive_hypergraph as naive
from treewright.corpora import Sentence, Token, generate
from treewright.dependency import DependencyParser, eisner, is_projective
from treewright.dependency.eisner import ONE, EisnerParser, EisnerPlanner, tree_graph
from treewright.dependency.eisner_features import SIGHT, Labels, collect_pass, score_pass
from treewright.dependency.templates import WORD_ATTRIBUTES
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.loading import load
from treewright.search.compiling import interpreted
from treewright.search.forests import Sums

QUICK = {"name": "max-margin", "passes": 2}
BITS = 8
LABELS = Labels(3, 2, 1)  # 0 and 1 may be labels of the root, 1 and 2 of other words
METHODS = ("projection", "mwal", "irl-perceptron", "max-margin", "policy-matching", "maxent")


# ---- slow, obvious twins


@cache
def trees(n):
    """The heads of all projective trees of n words with one root."""
    found = []
    for heads in product(range(n + 1), repeat=n):
        if heads.count(0) == 1 and all(reaches_root(heads, word) for word in range(1, n + 1)) and is_projective(heads):
            found.append(heads)
    return found


def reaches_root(heads, word):
    for _ in heads:
        word = heads[word - 1] if word else 0
    return word == 0


def plans(n):
    """All trees with all their labels, each as a list of (head, dependent, label)."""
    for heads in trees(n):
        choices = [range(LABELS.root) if head == 0 else range(LABELS.word, LABELS.number) for head in heads]
        for labels in product(*choices):
            yield [(head, word, label) for word, (head, label) in enumerate(zip(heads, labels, strict=True), 1)]


def features(planner, i, head, dependent, label):
    """The places of all features of a labelled arc, template by template."""
    words = planner.words[planner.at[i] : planner.at[i + 1]].tolist()
    places, direction = [], int(head < dependent)
    group = [0, 0, 1, 2, 3, 4, 5, 5, 5, 5, 6, 6, 6, 6, 6, 7][min(abs(head - dependent), 15)]

    def attribute(place, what):
        return int(planner.table[words[place], what])

    def total(templates, t):
        turn = 2 + 2 * group + direction if templates.by_length[t] else direction
        hashed = int(templates.turns[turn, t])
        for number, side, offset, what, multiplier in templates.atoms.tolist():
            if number == t:
                place = (dependent if side else head) + offset
                hashed += multiplier * attribute(place if place >= 0 else -1, what)
        return hashed >> 17

    for t in range(len(SIGHT.arcs.by_length)):
        places.append(total(SIGHT.arcs, t) % planner.arcs)
    tag = WORD_ATTRIBUTES.index("t")
    low, high = min(head, dependent), max(head, dependent)
    for between in {attribute(place, tag) for place in range(low + 1, high)}:
        of_head, of_between, of_dependent, *turns = SIGHT.between.tolist()
        ends = of_head * attribute(head, tag) + of_dependent * attribute(dependent, tag)
        places.append(((ends + of_between * between + turns[direction]) >> 17) % planner.arcs)
    for templates in (SIGHT.heads, SIGHT.dependents, SIGHT.pairs):
        for t in range(len(templates.by_length)):
            places.append(planner.arcs + total(templates, t) % planner.rows * planner.labels.number + label)
    return places


def plan_features(planner, i, plan, known={}):  # noqa: B006 - what is known stays so
    for arc in plan:
        if (i, arc) not in known:
            known[i, arc] = np.bincount(features(planner, i, *arc), minlength=planner.size).astype(float)
    return sum(known[i, arc] for arc in plan)


def dense(planner, found):
    total = np.zeros(planner.size)
    np.add.at(total, found.at, found.amount)
    return total


@pytest.fixture(scope="module")
def planner():
    """Sentences of 1 to 4 words, with trees of their own."""
    random = np.random.default_rng(0)
    table = random.integers(0, 2**31, (6, len(WORD_ATTRIBUTES)), np.int32)
    lengths = np.array([1, 2, 3, 4])
    words = np.concatenate([[1, *random.integers(2, 6, n), 0] for n in lengths]).astype(np.int32)
    gold = [list(plans(n))[-1] for n in lengths]
    heads = np.array([head for plan in gold for head, _, _ in plan], np.int32)
    labels = np.array([label for plan in gold for _, _, label in plan], np.int32)
    return EisnerPlanner(lengths, words, table, LABELS, heads, labels, bits=BITS)


@pytest.fixture(scope="module")
def θ(planner):
    return np.random.default_rng(1).normal(size=planner.size, scale=0.3)


@cache
def _plans_of(n):
    return list(plans(n))


@pytest.fixture(scope="module")
def every(planner, θ):
    """For each sentence the features and values of all plans."""
    found = []
    for i, n in enumerate(planner.lengths.tolist()):
        rows = np.array([plan_features(planner, i, plan) for plan in _plans_of(n)])
        found.append((rows, rows @ θ))
    return found


# ---- the algorithm


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_each_tree_has_one_derivation(n):
    graph = tree_graph(n, ONE)
    found = []
    for derivation in naive.derivations(graph):
        arcs = [divmod(part, n) for _, _, part in derivation if part is not None]
        found.append(tuple(head for head, _ in sorted(arcs, key=lambda arc: arc[1])))
    assert sorted(found) == sorted(trees(n))
    assert len(found) == [1, 2, 7, 30, 143][n - 1]


def test_labels_are_those_of_the_root_and_of_words():
    graph = tree_graph(2, LABELS)
    found = {tuple(sorted(part for *_, part in d if part is not None)) for d in naive.derivations(graph)}
    wanted = {tuple(sorted((h * 2 + d - 1) * 3 + y for h, d, y in plan)) for plan in plans(2)}
    assert found == wanted


@pytest.mark.parametrize("i", range(4))
def test_best_n_best_and_all(planner, θ, every, i):
    rows, values = every[i]
    which = np.array([i])
    best = planner.optimal_features(θ, which)
    assert best.value == pytest.approx(values.max())
    assert dense(planner, best) == pytest.approx(rows[values.argmax()])
    everything = planner.expected_features(θ, which)
    chances = np.exp(values - values.max())
    assert everything.value == pytest.approx(values.max() + math.log(chances.sum()))
    assert dense(planner, everything) == pytest.approx(chances @ rows / chances.sum(), abs=1e-9)
    ranked = values.argsort()[::-1][:10]
    some = planner.n_best_features(θ, which, 10)
    assert some.value == pytest.approx(values.max() + math.log(chances[ranked].sum()))
    assert dense(planner, some) == pytest.approx(chances[ranked] @ rows[ranked] / chances[ranked].sum(), abs=1e-9)
    assert planner.n_best_features(θ, which, 1).value == pytest.approx(values.max())
    if i < 3:
        assert planner.n_best_features(θ, which, 5000).value == pytest.approx(everything.value)


def test_sums_over_instances(planner, θ, every):
    found = planner.optimal_features(θ, np.arange(4))
    assert found.value == pytest.approx(sum(values.max() for _, values in every))
    assert dense(planner, found) == pytest.approx(sum(rows[values.argmax()] for rows, values in every))


def test_expert_and_loss(planner, θ):
    gold = [_plans_of(n)[-1] for n in (1, 2, 3, 4)]
    rows = [plan_features(planner, i, plan) for i, plan in enumerate(gold)]
    assert dense(planner, planner.expert_features(np.arange(4))) == pytest.approx(sum(rows))
    assert planner.expert_values(θ, np.arange(4)) == pytest.approx(sum(row @ θ for row in rows))
    for i, plan in enumerate(gold):
        losses = [0.7 * len(set(plan) & set(other)) for other in _plans_of(i + 1)]
        values = [plan_features(planner, i, other) @ θ for other in _plans_of(i + 1)]
        wanted = max(value - loss for value, loss in zip(values, losses, strict=True))
        assert planner.optimal_features(θ, np.array([i]), margin=0.7).value == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("ask", "sign"),
    [
        (lambda p, θ: p.expected_features(θ, np.arange(4)), 1.0),
        (lambda p, θ: p.optimal_features(θ, np.arange(4), margin=0.5), 1.0),
        (lambda p, θ: p.policy_matching(θ, np.arange(4), 0.8), -1.0),
    ],
    ids=["expected", "optimal", "policy matching"],
)
def test_features_are_gradients_of_values(planner, θ, ask, sign):
    gradient = dense(planner, ask(planner, θ))
    random = np.random.default_rng(2)
    for _ in range(3):
        towards = random.normal(size=planner.size)
        ahead, back = (ask(planner, θ + step * towards).value for step in (1e-6, -1e-6))
        assert sign * gradient @ towards == pytest.approx((ahead - back) / 2e-6, rel=1e-4, abs=1e-5)


def test_policy_matching_against_algorithm_5(planner, θ):
    graph, n = tree_graph(3, LABELS), 3
    scores = np.zeros(graph.parts + 1)
    planner.score(θ, np.array([2]), np.array([0, len(scores)]), scores)
    gold = [(h * n + d - 1) * 3 + y for h, d, y in _plans_of(3)[-1]]
    marks = np.zeros(graph.parts)
    marks[gold] = 1.0
    Δ, J = naive.naive_matching(graph, scores, naive.naive_best(graph, marks)[0], 0.8)
    found = planner.policy_matching(θ, np.array([2]), 0.8)
    wanted = sum(
        Δ[(h * n + d - 1) * 3 + y] * plan_features(planner, 2, [(h, d, y)])
        for h in range(n + 1) for d in range(1, n + 1) for y in range(3) if h != d
    )  # fmt: skip
    assert found.value == pytest.approx(J)
    assert dense(planner, found) == pytest.approx(wanted, abs=1e-9)


def test_parsing_finds_the_best_tree_too(planner, θ, every):
    heads, labels = planner.best_trees(θ.astype(np.float32), jobs=2)
    start = 0
    for i, n in enumerate(planner.lengths.tolist()):
        plan = _plans_of(n)[every[i][1].argmax()]
        assert heads[start : start + n].tolist() == [head for head, _, _ in plan]
        assert labels[start : start + n].tolist() == [label for _, _, label in plan]
        start += n


@pytest.mark.jit
def test_compiled_and_interpreted_scores_and_features_are_the_same(planner, θ):
    which = np.arange(4)
    at = np.concatenate([[0], np.cumsum(planner.forests.shapes[planner.graph, 1] + 1)])
    weights = np.random.default_rng(3).normal(size=at[-1])
    found = []
    for score, collect in ((score_pass, collect_pass), (interpreted(score_pass), interpreted(collect_pass))):
        scores = np.zeros(at[-1])
        sums = Sums(np.zeros(planner.size), np.zeros(planner.size, bool), np.zeros(planner.size, int), np.zeros(1, int))
        of_words = planner.at, planner.words, planner.table, LABELS, planner.arcs, planner.rows
        score(SIGHT, θ, which, at, *of_words, scores, np.zeros(0, np.int16))
        collect(SIGHT, which, at, *of_words, weights, sums)
        found.append((scores.tobytes(), sums.totals.tobytes(), sums.places.tobytes()))
    assert found[0] == found[1]


def test_long_arcs_and_large_sentences():
    """A chart that is not kept is the same."""
    kept, made = tree_graph(9, LABELS), eisner._tree_graph(9, LABELS)
    assert all(np.array_equal(a, b) for a, b in zip(kept, made, strict=True))
    assert tree_graph(130, ONE).parts == 131 * 130


# ---- the parser


@pytest.fixture(scope="module")
def corpus():
    sentences = [s for s in generate(120, seed=5) if len(s) <= 8]
    return sentences[:25], sentences[25:32]


@pytest.fixture(scope="module")
def parser(corpus):
    return EisnerParser(learner=QUICK, bits=12).fit(corpus[0], dev=corpus[1])


def test_it_learns(parser, corpus):
    assert parser.evaluate(corpus[0]).las > 0.8
    assert parser.evaluate(corpus[1]).uas > 0.6
    assert parser.history_[-1].score is not None
    assert all(is_projective([t.head for t in s]) for s in parser.parse(corpus[1]))


def test_manners(corpus):
    assert EisnerParser().get_params() == {"learner": "max-margin", "bits": 20, "min_count": 2, "seed": 0}
    assert EisnerParser(learner={"name": "maxent", "n_best": 5}).resolved_config()["learner"]["n_best"] == 5
    assert EisnerParser(learner="maxent").resolved_config()["learner"]["batch"] is not None
    assert not isinstance(EisnerParser(), DependencyParser)
    assert not hasattr(EisnerParser(), "environment")


def test_a_model_file_is_for_one_estimator(parser, tmp_path):
    assert isinstance(load(parser.save(tmp_path / "m.tw")), EisnerParser)
    with pytest.raises(ModelError, match="eisner"):
        DependencyParser.load(tmp_path / "m.tw")


@pytest.mark.parametrize("settings", [{"bits": 0}, {"bits": 18.5}, {"seed": -1}, {"min_count": None}, {"learner": 3}])
def test_settings_of_the_wrong_kind_are_named(settings, corpus):
    [name] = settings
    with pytest.raises(ConfigError, match=name):
        EisnerParser(**settings).fit(corpus[0][:2])


def test_a_learner_of_actions_is_refused(corpus):
    with pytest.raises(ConfigError, match="'dagger' learns from single actions"):
        EisnerParser(learner="dagger").fit(corpus[0])


@pytest.mark.jit
@pytest.mark.parametrize("name", METHODS)
def test_same_seed_same_model_and_every_method_learns(corpus, name):
    learner = {"name": name, "passes": {"projection": 20, "policy-matching": 8}.get(name, 3)}
    one, two = (EisnerParser(learner=learner, bits=11, seed=3).fit(corpus[0], dev=corpus[0], jobs=j) for j in (1, 2))
    assert one.policy_.weights.tobytes() == two.policy_.weights.tobytes()
    assert one.evaluate(corpus[0]).las > 0.6


def word(form, head, label="dep", tag="X"):
    return Token(form, upos=tag, head=head, deprel=label)


def test_crossing_arcs_are_lifted_and_put_back():
    """A corpus of one tree that is not projective, often enough that the label of the lift is learned."""
    crossing = Sentence((word("a", 3, "x"), word("b", 0, "root", "V"), word("c", 2, "y"), word("d", 2, "z")))
    parser = EisnerParser(learner={"name": "irl-perceptron", "passes": 3}, bits=10).fit([crossing] * 12)
    assert any("↑" in label for label in parser.labels_)
    assert parser.evaluate([crossing]).las == 1.0


def test_sentences_of_one_word_and_none(parser):
    assert parser.arcs([["Stop"], [], ["Stop", "!"]])[:2] == [([0], ["root"]), ([], [])]
    assert parser.arcs([]) == []
    only = [Sentence((word("Stop", 0, "root"),))] * 3
    small = EisnerParser(learner=QUICK, bits=6).fit(only)
    assert small.arcs([["Stop"]]) == [([0], ["root"])]
    heads, labels = small.arcs([["Stop", "it"]])[0]
    assert sorted(heads)[0] == 0
    assert labels == ["root", "root"]


def test_nothing_to_learn_from_and_bad_trees(corpus):
    with pytest.raises(CorpusError, match="2 roots"):
        EisnerParser().fit([Sentence((word("a", 0), word("b", 0)))])
    with pytest.raises(CorpusError, match=r"sentence 1 has 1,001 words"):
        EisnerParser().fit([Sentence(tuple(word("a", k) for k in range(1001)))])


def test_labels_unseen_in_training_count_as_errors(parser):
    sentence = Sentence((word("she", 2, "never-seen"), word("sleeps", 0, "root")))
    assert parser.evaluate([sentence]).las <= 0.5


def test_long_sentences_are_cut(parser, corpus, monkeypatch):
    whole = parser.arcs([s.forms for s in corpus[1]])
    monkeypatch.setattr(eisner, "_LONGEST", 3)
    cut = parser.arcs([["she"], list("abcdefghijk"), ["he"]])
    heads, labels = cut[1]
    assert heads.count(0) == 1
    assert all(reaches_root(heads, k) for k in range(1, 12))
    assert [label for head, label in zip(heads, labels, strict=True) if head == 0] == ["root"]
    assert [tree for tree in whole if len(tree[0]) <= 3] == [
        tree for tree in parser.arcs([s.forms for s in corpus[1]]) if len(tree[0]) <= 3
    ]
