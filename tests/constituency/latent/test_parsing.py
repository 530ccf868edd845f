"""Charts over substates against all derivations written out, through the grammar whose symbols are the substates."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.constituency.naive import Problem, as_tuples, log_sum_exp, long_problem, problems, table_of
from tests.examples import examples
from tests.loops import as_loops
from treewright.constituency import Markovisation
from treewright.constituency.charts.spans import span_of
from treewright.constituency.latent import inside as inside_module
from treewright.constituency.latent import outside as outside_module
from treewright.constituency.latent import parsing as latent_parsing
from treewright.constituency.latent.blocks import blocks_of, new_cells
from treewright.constituency.latent.decoding import max_rule_tree, viterbi_tree
from treewright.constituency.latent.grammar import LatentGrammar
from treewright.constituency.latent.inside import inside
from treewright.constituency.latent.masks import allow_all
from treewright.constituency.latent.outside import LEAST, new_anchored, outside_of
from treewright.constituency.latent.parsing import DECODERS, CoarseToFine, Product
from treewright.constituency.latent.passes import Posteriors, _key, multiply
from treewright.corpora import Tree, builtin_corpus
from treewright.corpora.brackets import clean_tree
from treewright.errors import ConfigError
from treewright.search.compiling import interpreted, kernel

some = examples(30)
few = examples(15)
FILLED = ("present", "values", "above", "scale", "factor", "product_at", "product", "work")
seeds, shares = st.integers(0, 99), st.sampled_from([1.0, 0.5])
VITERBI, PRODUCT, SUM = DECODERS["viterbi"], DECODERS["max-rule-product"], DECODERS["max-rule-sum"]


class Toy(LatentGrammar):
    """A latent grammar whose lexicon is a table."""

    def lexical(self):
        return self.lexicon


class Latent:
    """A random latent grammar over a problem's base, and the problem whose symbols are its substates."""

    def __init__(self, problem, seed, most=3):
        rng = np.random.default_rng(seed)
        base, lexical = problem.grammar, problem.lexical
        k = rng.integers(1, most + 1, len(base.symbols)).astype(np.int32)
        k[problem.root] = 1
        first = np.concatenate([[0], np.cumsum(k)])

        def probabilities(rules):
            size = sum(int(np.prod(k[rule])) for rule in rules)
            return rng.random(size) * (rng.random(size) < 0.85)

        rows = []
        for row in range(len(lexical.at) - 1):
            tags = lexical.symbol[lexical.at[row] : lexical.at[row + 1]].tolist()
            rows.append([(int(first[tag] + a), rng.normal()) for tag in tags for a in range(k[tag])])
        coarser = np.repeat(np.arange(len(k)), k).astype(np.int32)
        self.grammar = Toy(base, k, probabilities(base.binary), probabilities(base.unary), table_of(rows), coarser)
        self.given, self.base, self.n, self.words = problem, base, problem.n, problem.words
        expanded = self.grammar.expanded()
        self.of = expanded.of
        self.problem = Problem(expanded.grammar, self.grammar.lexical(), problem.words.tolist())
        self.blocks = blocks_of(self.grammar, coarser, np.ones(len(k), np.int32))

    def __repr__(self):
        return f"{self.grammar.substates.tolist()} {self.problem}"

    def projected(self, derivation):
        """A derivation in substates as one of the base."""
        fine, base = self.problem.grammar, self.base
        binary = {tuple(rule): k for k, rule in enumerate(base.binary.tolist())}
        unary = {
            (*rule, middle): k for k, (rule, middle) in enumerate(zip(base.unary.tolist(), base.middles, strict=True))
        }
        found = []
        for symbol, one, two, start, end in derivation:
            one = one if one < 0 else unary[(*self.of[fine.unary[one]].tolist(), fine.middles[one])]
            two = two if two < 0 else binary[tuple(self.of[fine.binary[two]].tolist())]
            found.append((int(self.of[symbol]), one, two, start, end))
        return tuple(found)

    def anchors(self, derivation):
        """The anchored rules of a derivation of the base, and its tags."""
        n_binary, n_rules = len(self.base.binary), len(self.base.binary) + len(self.base.unary)
        for k, (symbol, one, two, start, end) in enumerate(derivation):
            if one >= 0:
                yield n_binary + one, start, 0, end
            yield (two, start, derivation[k + 1][4], end) if two >= 0 else (n_rules + symbol, start, 0, end)

    def posteriors(self, trees):
        """Of anchored rules, and the trees of the base."""
        found, bases = defaultdict(float), set()
        for tree, p in zip(trees, self.problem.posterior(trees), strict=True):
            bases.add(base := self.projected(tree))
            for anchor in self.anchors(base):
                found[anchor] += p
        return found, bases


@st.composite
def latents(draw, most_words=5):
    problem = draw(problems(most_words=most_words, most_rules=6, most_trees=12))
    latent = Latent(problem, draw(st.integers(0, 2**31)))
    while latent.problem.count(latent.problem.root, 0, latent.n) > 1000:
        problem = Problem(problem.grammar, problem.lexical, problem.words[:-1].tolist())
        latent = Latent(problem, 0, 2)
    return latent


@kernel
def parse_kernel(grammar, words, allowed, mask, viterbi, decoder, anchored, cells, nodes):
    n = words.shape[0]
    cells.values[:] = 7.0  # nothing of an earlier sentence is seen
    cells.above[:] = 7.0
    cells.best[:] = 7.0
    allow_all(n, cells)
    if allowed.shape[0] > 0:
        cells.allowed[: allowed.shape[0]] = allowed
        cells.mask[: mask.shape[0]] = mask
    count, filled = 0, 0
    if inside(grammar, words, cells, 0.0, viterbi):
        if viterbi is not None:
            filled = viterbi_tree(grammar, n, cells, nodes)
        else:
            count = outside_of(grammar, n, cells, anchored, 0.0)
            filled = max_rule_tree(grammar, n, cells, anchored, count, decoder, nodes)
    return count, filled


@kernel
def product_kernel(grammar, n, one, size_one, two, size_two, cells, kept, nodes):
    """Multiply the anchored rules of the second grammar by those of the first, in place, and take the best tree."""
    keys = np.zeros(size_one, np.int64)
    for k in range(size_one):
        keys[k] = _key(one, k, n)
    order = np.argsort(keys)
    for k in range(size_one):
        kept.key[k], kept.probability[k] = keys[order[k]], one.probability[order[k]]
    count = multiply(two, size_two, n, kept, 0, size_one)
    allow_all(n, cells)
    return count, max_rule_tree(grammar, n, cells, two, count, PRODUCT, nodes)


def fill_both(grammar, words, cells, anchored, beam, viterbi):
    """Inside and outside values; returns the number of anchored rules."""
    if not inside(grammar, words, cells, beam, viterbi) or viterbi is not None:
        return 0
    return outside_of(grammar, words.shape[0], cells, anchored, LEAST)


class Parsed:
    def __init__(self, latent, decoder, allowed=None):
        """``allowed``: the constituents of substates that may be built."""
        n, symbols = latent.n, len(latent.base.symbols)
        sets = np.zeros((0 if allowed is None else n * (n + 1) // 2, latent.blocks.partners.shape[1]), np.uint64)
        mask = np.zeros((len(sets), symbols), np.uint64)
        for substate, start, end in allowed or ():
            symbol = latent.of[substate]
            sets[span_of(start, end), symbol >> 6] |= np.uint64(1 << int(symbol & 63))
            mask[span_of(start, end), symbol] |= np.uint64(1 << int(substate - latent.grammar.first[symbol]))
        self.anchored = new_anchored(3000)
        nodes = np.zeros((2 * n - 1, 5), np.int32)
        self.cells = new_cells(latent.blocks, latent.blocks, n + 1)
        viterbi = True if decoder == VITERBI else None
        given = latent.blocks, latent.words.astype(np.int32), sets, mask, viterbi, decoder
        self.count, filled = parse_kernel(*given, self.anchored, self.cells, nodes)
        self.nodes = as_tuples(nodes[:filled])
        root, top = latent.problem.root, span_of(0, n)
        place = top * latent.blocks.at[-1] + latent.blocks.at[latent.base.number["TOP"]]
        there = int(self.cells.present[top, latent.of[root] >> 6]) >> int(latent.of[root] & 63) & 1
        self.log_value = math.log(self.cells.values[place]) + self.cells.scale[top] if there else -math.inf


def random_mask(latent, seed):
    rng = np.random.default_rng(seed)
    return {span for span in latent.problem.spans if rng.random() < 0.85}


def trees_within(latent, allowed):
    inside_mask = allowed.issuperset
    return [tree for tree in latent.problem.trees if inside_mask(latent.problem.constituents(tree))]


@given(latents(), st.integers(0, 2**31), st.booleans())
@some
def test_viterbi_finds_the_best_derivation_of_what_is_allowed(latent, seed, everything):
    allowed = None if everything else random_mask(latent, seed)
    trees = latent.problem.trees if everything else trees_within(latent, allowed)
    found = Parsed(latent, VITERBI, allowed)
    scores = {tree: latent.problem.score(tree) for tree in trees}
    best = max(scores.values(), default=-math.inf)
    assert found.log_value == pytest.approx(best, rel=1e-5, abs=1e-5)
    if trees:
        assert found.nodes in {latent.projected(tree) for tree in trees if scores[tree] > best - 1e-5}
    else:
        assert found.nodes == ()


@given(latents(), st.integers(0, 2**31), st.booleans(), st.sampled_from([PRODUCT, SUM]))
@some
def test_posteriors_of_anchored_rules_and_the_tree_that_they_make(latent, seed, everything, decoder):
    allowed = None if everything else random_mask(latent, seed)
    trees = latent.problem.trees if everything else trees_within(latent, allowed)
    found = Parsed(latent, decoder, allowed)
    log_z = log_sum_exp([latent.problem.score(tree) for tree in trees])
    assert found.log_value == pytest.approx(log_z, rel=1e-5, abs=1e-5)
    wanted, bases = latent.posteriors(trees)
    listed = {as_tuples([found.anchored.what[k]])[0]: found.anchored.probability[k] for k in range(found.count)}
    assert len(listed) == found.count
    assert listed == pytest.approx({a: p for a, p in wanted.items() if a in listed}, rel=1e-4, abs=1e-6)
    assert all(p < 1e-6 for a, p in wanted.items() if a not in listed)
    if not trees or min(wanted.values()) < 10 * LEAST:
        return

    def worth(tree):
        return sum(math.log(wanted[a]) if decoder == PRODUCT else wanted[a] for a in latent.anchors(tree))

    assert found.nodes in bases
    assert worth(found.nodes) == pytest.approx(max(map(worth, bases)), rel=1e-5, abs=1e-5)


@given(latents())
@few
def test_inside_times_outside_is_the_posterior_of_a_substate(latent):
    if not latent.problem.trees:
        return
    cells, wanted = Parsed(latent, PRODUCT).cells, latent.problem.expected_constituents()
    for substate, start, end in latent.problem.spans:
        symbol, span = int(latent.of[substate]), span_of(start, end)
        place = span * latent.blocks.at[-1] + latent.blocks.at[symbol] + substate - latent.grammar.first[symbol]
        there = int(cells.present[span, symbol >> 6]) >> (symbol & 63) & 1
        found = cells.values[place] * cells.above[place] if there else 0.0
        assert found == pytest.approx(wanted[substate, start, end], rel=1e-5, abs=1e-7)


@given(latents(), st.integers(0, 2**31))
@few
def test_posteriors_of_two_grammars_are_multiplied(latent, seed):
    """The tree with the largest product of both grammars' posteriors, of those that both have."""
    other = Latent(latent.given, seed)
    if other.problem.count(other.problem.root, 0, other.n) > 1000:
        return
    kept = Posteriors(np.zeros(2, np.int64), np.zeros(3000, np.int64), np.zeros(3000))
    one, two = Parsed(latent, PRODUCT), Parsed(other, PRODUCT)
    listed, nodes = [], np.zeros((2 * latent.n - 1, 5), np.int32)
    for found in (one, two):
        what = as_tuples(found.anchored.what[: found.count])
        listed.append(dict(zip(what, found.anchored.probability[: found.count].tolist(), strict=True)))
    count, filled = product_kernel(
        other.blocks, other.n, one.anchored, one.count, two.anchored, two.count, two.cells, kept, nodes
    )
    wanted = {a: p * listed[0][a] for a, p in listed[1].items() if a in listed[0]}
    found = {
        as_tuples([two.anchored.what[k]])[0]: two.anchored.probability[k] for k in range(count)
    }  # changed in place
    assert found == pytest.approx(wanted)
    bases = latent.posteriors(latent.problem.trees)[1] & other.posteriors(other.problem.trees)[1]
    possible = [tree for tree in bases if all(a in wanted for a in latent.anchors(tree))]

    def worth(tree):
        return sum(math.log(wanted[a]) for a in latent.anchors(tree))

    assert (filled > 0) == bool(possible)
    if possible:
        assert worth(as_tuples(nodes[:filled])) == pytest.approx(max(map(worth, possible)), rel=1e-5, abs=1e-5)


# ---- in bulk


@pytest.mark.jit
@given(
    st.one_of(
        st.tuples(latents(), st.just(1.0)),
        st.tuples(
            st.builds(lambda seed, n: Latent(long_problem(seed, n), seed, 11), seeds, st.integers(2, 14)), shares
        ),
    ),
    st.sampled_from([VITERBI, PRODUCT]),
    st.sampled_from([0.0, 1e-2]),
    st.sampled_from([3000, 40]),
)
@few
def test_charts_in_bulk_are_those_of_the_loops_to_the_bit(given, decoder, beam, size):
    latent, share = given
    n = latent.n
    results = []
    for run in (as_loops(fill_both, inside_module, outside_module), interpreted(fill_both)):
        cells, anchored = new_cells(latent.blocks, latent.blocks, n), new_anchored(size)
        for each in (*anchored, cells.values, cells.above, cells.factor, cells.product):
            each[:] = 7.0  # nothing of an earlier sentence is seen
        interpreted(allow_all)(n, cells)
        cells.mask[:] = np.where(np.random.default_rng(n).random(cells.mask.shape) < share, cells.mask, 1)
        viterbi = True if decoder == VITERBI else None
        count = run(latent.blocks, latent.words.astype(np.int32), cells, anchored, beam, viterbi)
        kept = {name: getattr(cells, name).tobytes() for name in FILLED}
        results.append((count, kept, *(each.tobytes() for each in anchored)))
    assert results[0] == results[1]


# ---- from the coarse to the fine


@pytest.fixture(scope="module")
def hierarchy():
    train, dev, _ = builtin_corpus(train=60, dev=12, test=1)
    trees = [clean_tree(sentence.tree) for sentence in train]
    grammars = [LatentGrammar.from_treebank([Markovisation(1, 0).binarise(tree) for tree in trees])]
    for cycle in range(2):
        grammars.append(grammars[-1].split(np.random.default_rng(cycle), noise=0.5))
    return grammars, sorted((list(sentence.forms) for sentence in dev), key=len)[:6]


def nodes_of(found):
    return [as_tuples(each.nodes) for each in found]


@pytest.mark.jit
def test_with_tiny_thresholds_it_is_exact(hierarchy):
    grammars, sentences = hierarchy
    for decoder in DECODERS:
        exact = CoarseToFine(grammars, levels=[2], threshold=0.0, decoder=decoder).derivations(sentences)
        pruned = CoarseToFine(grammars, levels=[1, 2], threshold=1e-12, decoder=decoder).derivations(sentences)
        assert nodes_of(exact) == nodes_of(pruned)
        assert all(each.is_whole for each in exact)


@pytest.mark.jit
def test_products(hierarchy, monkeypatch):
    grammars, sentences = hierarchy
    one = CoarseToFine(grammars)
    assert nodes_of(Product([one, one]).derivations(sentences)) == nodes_of(one.derivations(sentences))
    other = CoarseToFine([*grammars[:2], grammars[1].split(np.random.default_rng(7), noise=0.9)])
    both = Product([one, other]).derivations(sentences)
    assert all(each.is_whole for each in both)
    assert nodes_of(both) == nodes_of(Product([one, other]).derivations(sentences, jobs=2))
    monkeypatch.setattr(latent_parsing, "TOGETHER", 4)
    assert nodes_of(both) == nodes_of(Product([one, other]).derivations(sentences))
    assert Product([one, other]).parse([]) == []


def test_what_cannot_be_multiplied(hierarchy):
    grammars, _ = hierarchy
    with pytest.raises(ConfigError, match="need the decoder 'max-rule-product'"):
        Product([CoarseToFine(grammars), CoarseToFine(grammars, decoder="viterbi")])
    tree = Markovisation(1, 0).binarise(Tree("S", (Tree("X", ("a",)),)))
    with pytest.raises(ConfigError, match="learned from the same trees"):
        Product([CoarseToFine(grammars), CoarseToFine([LatentGrammar.from_treebank([tree])])])


@pytest.mark.jit
def test_where_pruning_leaves_no_tree_thresholds_are_lowered(hierarchy):
    grammars, sentences = hierarchy
    brutal = CoarseToFine(grammars, levels=[1, 2], threshold=0.999).parse(sentences)
    assert [len(trees) for trees in brutal] == [1] * len(sentences)
    assert [trees[0].leaves() for trees in brutal] == [tuple(words) for words in sentences]


@pytest.mark.jit
def test_threads_change_nothing_and_words_come_back(hierarchy):
    grammars, sentences = hierarchy
    parser = CoarseToFine(grammars)
    assert nodes_of(parser.derivations(sentences)) == nodes_of(parser.derivations(sentences, jobs=2))
    assert parser.parse([]) == []


def test_a_sentence_without_a_tree_is_covered(hierarchy):
    grammars, sentences = hierarchy
    words = [sentences[0][-1]] * 3  # three full stops
    [found] = CoarseToFine(grammars).derivations([words])
    pieces = grammars[0].base.trees(found.nodes, words)
    assert not found.is_whole
    assert [word for piece in pieces for word in piece.leaves()] == words


@pytest.mark.jit
def test_a_beam_that_drops_nothing_changes_nothing(hierarchy):
    grammars, sentences = hierarchy
    exact, beam = (CoarseToFine(grammars, least_share=size).derivations(sentences) for size in (0.0, 1e-300))
    assert nodes_of(exact) == nodes_of(beam)
    assert all(each.is_whole for each in CoarseToFine(grammars, threshold=0.0, least_share=0.5).derivations(sentences))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"levels": []}, "rising numbers"),
        ({"levels": [2, 1]}, "rising numbers"),
        ({"levels": [3]}, "below 3"),
        ({"decoder": "best"}, "max-rule-product"),
        ({"threshold": 1.5}, "probability"),
    ],
)
def test_bad_settings(hierarchy, settings, message):
    with pytest.raises(ConfigError, match=message):
        CoarseToFine(hierarchy[0], **settings)
