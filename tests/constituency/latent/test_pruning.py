"""Learned pruning: masks against a twin that sums one feature after the other, and what policies learn."""

from __future__ import annotations

import numpy as np
import pytest

from treewright.constituency import Markovisation
from treewright.constituency.charts.spans import span_of
from treewright.constituency.latent.blocks import blocks_of
from treewright.constituency.latent.grammar import LatentGrammar
from treewright.constituency.latent.masks import new_masks
from treewright.constituency.latent.parsing import CoarseToFine
from treewright.constituency.latent.pruning import LEARNERS, PruningPolicy, _add_items
from treewright.constituency.latent.pruning_passes import what_can_be_built
from treewright.corpora import builtin_corpus
from treewright.corpora.brackets import clean_tree
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.search.compiling import kernel
from treewright.search.hashing import mix


@pytest.fixture(scope="module")
def material():
    train, _, _ = builtin_corpus(train=60, dev=1, test=1)
    trees = [Markovisation(1, 0).binarise(clean_tree(sentence.tree)) for sentence in train]
    first = LatentGrammar.from_treebank(trees)
    grammars = [first, first.split(np.random.default_rng(0), noise=0.5)]
    return grammars, trees[:40], sorted(trees[40:], key=lambda tree: len(tree.leaves()))[:8]


jit = pytest.mark.jit
SETTINGS = {"tradeoff": 0.01, "passes": 3, "rows": 1 << 10, "deviations": 1}


@pytest.fixture(scope="module")
def policies(material):
    grammars, trees, _ = material
    return {learner: PruningPolicy.learn(grammars, trees, learner=learner, **SETTINGS) for learner in LEARNERS}


def random_policy(grammars):
    """A policy that was never taught."""
    rng, base = np.random.default_rng(0), grammars[0].base
    rows, tags = len(grammars[0].lexical().at) - 1, [*base.tags.values()]
    weights = rng.normal(size=(1 << 8, -(-len(base.symbols) // 8) * 8)).astype(np.float32)
    words = rng.integers(-1, 5, rows).astype(np.int32)
    return PruningPolicy(weights, rng.choice(tags, rows).astype(np.int32), words, len(base.symbols), base.rules.root)


def packed(grammars, trees):
    rows = [grammars[0].rows(tree.leaves()) for tree in trees]
    return np.concatenate(rows), np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)


def as_items(masks, first, n):
    """A sentence's sets as {(symbol, start, end)}."""
    found = set()
    for end in range(1, n + 1):
        for start in range(end):
            row = masks[first + span_of(start, end)]
            bits = sum(int(word) << 64 * w for w, word in enumerate(row))
            found |= {(symbol, start, end) for symbol in range(64 * len(row)) if bits >> symbol & 1}
    return found


def scores(policy, rows, start, end):
    """z, one feature after the other."""
    n, length = len(rows), end - start
    tag = {i: int(policy.tag[rows[i]]) if 0 <= i < n else -1 for i in range(-2, n + 2)}
    word = {i: int(policy.word[rows[i]]) if 0 <= i < n else -2 for i in range(-2, n + 2)}
    features = []
    for p, role in ((start, 0), (end, 16)):
        features += [
            (role, tag[p - 1], tag[p], 0),
            (role + 1, tag[p - 2], tag[p - 1], 0),
            (role + 2, tag[p], tag[p + 1], 0),
            (role + 3, tag[p - 2], tag[p - 1], tag[p]),
            (role + 4, tag[p - 1], tag[p], tag[p + 1]),
            (role + 5, word[p - 1], 0, 0),
            (role + 6, word[p], 0, 0),
        ]
    size = length if length <= 8 else 8 + min(length // 4, 10)
    features += [
        (40, size, 0, 0),
        (41, tag[start], tag[end - 1], min(length, 3)),
        (42, tag[start - 1], tag[end], 0),
        (43, tag[end - 1], size, 0),
    ]
    inner = 0
    for i in range(start, end):
        inner = mix(inner, tag[i] + 3)
    features.append((44, int(inner), length, 0) if length <= 4 else (45, tag[start], size, 0))
    total = np.zeros(policy.weights.shape[1])
    for template, a, b, c in features:
        total += policy.weights[mix(mix(mix(template + 1, a + 3), b + 3), c + 3) % len(policy.weights)]
    return total + policy.threshold


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_masks_are_what_scores_above_zero(material, threshold):
    grammars, _, dev = material
    rows, at = packed(grammars, dev[:3])
    policy = random_policy(grammars).with_threshold(threshold)
    masks, mask_at = policy.masks(rows, at)
    for i in range(3):
        sentence = rows[at[i] : at[i + 1]]
        n = len(sentence)
        found = as_items(masks, mask_at[i], n)
        assert (policy.root, 0, n) in found
        for end in range(1, n + 1):
            for start in range(end):
                always = {policy.root} if end - start == n else set()
                always |= {int(policy.tag[sentence[start]])} if end - start == 1 else set()
                for symbol, z in enumerate(scores(policy, sentence, start, end)[: policy.symbols]):
                    if abs(z) > 1e-4:
                        assert ((symbol, start, end) in found) == (z > 0 or symbol in always)


def test_threads_change_nothing(material):
    rows, at = packed(material[0], material[2][:4])
    one, two = (random_policy(material[0]).masks(rows, at, jobs)[0] for jobs in (1, 2))
    assert (one == two).all()


def needed_and_built(material, policy):
    grammars, _, dev = material
    rows, at = packed(grammars, dev)
    masks, mask_at = policy.masks(rows, at)
    gold = np.zeros_like(masks)
    for tree, first in zip(dev, mask_at, strict=False):
        _add_items(grammars[0].base, grammars[0].base.derivation(tree), gold[first:])
    lengths = np.diff(at)
    needed = [as_items(gold, first, n) for first, n in zip(mask_at, lengths, strict=False)]
    return needed, [as_items(masks, first, n) for first, n in zip(mask_at, lengths, strict=False)]


@jit
@pytest.mark.parametrize("learner", LEARNERS)
def test_policies_build_what_is_needed_and_little_else(material, policies, learner):
    needed, built = needed_and_built(material, policies[learner])
    kept = sum(len(one & two) for one, two in zip(needed, built, strict=True)) / sum(map(len, needed))
    spans = sum(len(tree.leaves()) * (len(tree.leaves()) + 1) // 2 for tree in material[2])
    assert kept > 0.9
    assert sum(map(len, built)) < 0.25 * spans * policies[learner].symbols


@jit
def test_a_higher_price_of_time_builds_less(material):
    grammars, trees, _ = material
    dear, cheap = (
        PruningPolicy.learn(grammars, trees, learner="classification", **{**SETTINGS, "tradeoff": price})
        for price in (0.5, 0.005)
    )
    few, many = (sum(map(len, needed_and_built(material, policy)[1])) for policy in (dear, cheap))
    assert few < many


@jit
def test_parsing_with_a_policy(material, policies):
    grammars, _, dev = material
    sentences = [list(tree.leaves()) for tree in dev]
    exact = CoarseToFine(grammars).parse(sentences)
    pruned = CoarseToFine(grammars, policy=policies["on-policy"]).parse(sentences)
    assert [trees[0].leaves() for trees in pruned] == [tuple(words) for words in sentences]
    assert sum(one == two for one, two in zip(exact, pruned, strict=True)) >= len(dev) // 2


@jit
def test_the_same_seed_gives_the_same_policy(material, policies):
    grammars, trees, _ = material
    again = PruningPolicy.learn(grammars, trees, learner="roll-outs", **SETTINGS)
    assert (again.weights == policies["roll-outs"].weights).all()
    assert (again.weights != policies["on-policy"].weights).any()


def test_arrays_keep_it(material):
    policy = random_policy(material[0]).with_threshold(0.5)
    again = PruningPolicy.from_arrays(policy.to_arrays())
    rows, at = packed(material[0], material[2][:2])
    assert (again.masks(rows, at)[0] == policy.masks(rows, at)[0]).all()
    with pytest.raises(ModelError, match="damaged"):
        PruningPolicy.from_arrays({**policy.to_arrays(), "weights": policy.weights[:5]})


@kernel
def build_kernel(grammar, words, start, end, built, out, some):
    what_can_be_built(grammar, words, start, end, built, out, some)


def test_what_can_be_built(material):
    """Against the rules, one by one, above random parts."""
    grammar = material[0][0]
    base, rng = grammar.base, np.random.default_rng(0)
    blocks = blocks_of(grammar, grammar.coarser, grammar.substates)
    rows = grammar.rows(material[2][0].leaves())
    width = blocks.parents.shape[1]
    for start, end in ((0, 1), (1, 3), (0, 4)):
        built = rng.integers(0, 2**63, (len(new_masks(np.array([0, 4]), 1).sets), width)).astype(np.uint64)
        built &= np.uint64((1 << len(base.symbols)) - 1) if len(base.symbols) < 64 else ~np.uint64(0)
        out, some = np.zeros((1, width), np.uint64), np.zeros((2, 64 * width), np.int64)
        build_kernel(blocks, rows, start, end, built, out, some)
        parts = as_items(built, 0, 4)
        wanted = set(blocks.tag[blocks.word_at[rows[start]] : blocks.word_at[rows[start] + 1]].tolist())
        wanted = wanted if end - start == 1 else set()
        for parent, left, right in base.binary.tolist():
            if any((left, start, k) in parts and (right, k, end) in parts for k in range(start + 1, end)):
                wanted.add(parent)
        wanted |= {top for top, bottom in base.unary.tolist() if bottom in wanted}
        assert {
            symbol for symbol in range(len(base.symbols)) if int(out[0, symbol >> 6]) >> (symbol & 63) & 1
        } == wanted


def test_bad_settings(material):
    grammars, trees, _ = material
    for settings, message in (({"learner": "luck"}, "on-policy"), ({"tradeoff": 0.0}, "above 0")):
        with pytest.raises(ConfigError, match=message):
            PruningPolicy.learn(grammars, trees, **settings)
    with pytest.raises(CorpusError, match="no tree"):
        PruningPolicy.learn(grammars, [])
