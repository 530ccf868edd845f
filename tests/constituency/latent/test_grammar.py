from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from treewright.constituency.grammar.binarisation import Markovisation
from treewright.constituency.latent.grammar import LatentGrammar, joined
from treewright.constituency.latent.lexicon import LatentLexicon
from treewright.corpora import Tree
from treewright.errors import ModelError

WORDS = ("dog", "Dog", "walks", "walked", "7", "the", "The", "old")

tags = st.builds(lambda tag, word: Tree(tag, (word,)), st.sampled_from(["N", "V", "D"]), st.sampled_from(WORDS))
phrases = st.recursive(
    tags,
    lambda below: st.builds(Tree, st.sampled_from(["S", "NP"]), st.lists(below, min_size=1, max_size=3).map(tuple)),
)
trees = st.builds(lambda label, part: Tree(label, (part,)), st.sampled_from(["S", "NP"]), phrases)
few_trees = st.lists(trees.filter(lambda tree: len(tree.leaves()) <= 5), min_size=1, max_size=4)
treebanks = few_trees.map(lambda some: [Markovisation(1, 0).binarise(tree) for tree in some])
seeds = st.integers(0, 1000)


def split(grammar: LatentGrammar, seed: int, times: int = 1, noise: float = 0.8) -> LatentGrammar:
    for time in range(times):
        grammar = grammar.split(np.random.default_rng([seed, time]), noise)
    return grammar


def assert_is_proper(grammar: LatentGrammar) -> None:
    """Every substate of a phrase has rules of probability 1, every substate of a tag words of probability 1.

    All but those that EM has given up.
    """
    totals = grammar.totals(grammar.binary, grammar.unary)
    of = np.repeat(np.arange(len(grammar.substates)), grammar.substates)
    is_tag = np.isin(of, grammar.tags)
    is_used = grammar.first[grammar.base.number["TOP"]] == np.arange(len(of))
    expanded = grammar.expanded().grammar
    is_used[expanded.binary[:, 1:]] = True
    is_used[expanded.unary[:, 1]] = True
    assert totals[is_used & ~is_tag] == pytest.approx(np.ones((is_used & ~is_tag).sum()))
    assert totals[~is_tag] == pytest.approx(np.where(totals[~is_tag] > 0.0, 1.0, 0.0))
    assert (totals[is_tag] == 0.0).all()
    lexicon = grammar.lexicon
    for emission in (grammar.emission, lexicon.emission(in_training=True), lexicon.emission(smoothing=0.3)):
        assert emission.min() >= 0.0
        entry = np.repeat(np.arange(len(lexicon.entries.tag)), np.diff(lexicon.at))
        state = np.arange(len(entry)) - lexicon.at[entry] + grammar.first[grammar.tags[lexicon.entries.tag[entry]]]
        words = np.bincount(state, emission, len(of))[is_tag & is_used]
        assert words == pytest.approx(np.ones(len(words)), abs=1e-4)


@examples(25)
@given(treebanks, seeds, st.integers(0, 2))
def test_probabilities_add_up_to_1(treebank: list[Tree], seed: int, times: int) -> None:
    assert_is_proper(split(LatentGrammar.from_treebank(treebank), seed, times))


@examples(25)
@given(treebanks, seeds)
def test_an_expanded_grammar_has_the_same_rules(treebank: list[Tree], seed: int) -> None:
    grammar = split(LatentGrammar.from_treebank(treebank), seed)
    base, first = grammar.base, grammar.first
    expected = {}
    for r, (a, b, c) in enumerate(base.binary.tolist()):
        for (j, k, i), p in np.ndenumerate(grammar.binary_block(r)):
            expected[first[a] + i, first[b] + j, first[c] + k] = p
    expanded, weights, of = grammar.expanded()
    found = dict(zip(map(tuple, expanded.binary.tolist()), np.exp(weights), strict=False))
    assert found == pytest.approx({rule: p for rule, p in expected.items() if p > 0.0})
    ones = {}
    for r, (a, b) in enumerate(base.unary.tolist()):
        for (j, i), p in np.ndenumerate(grammar.unary_block(r)):
            if p > 0.0:
                ones[first[a] + i, first[b] + j, base.middles[r]] = p
    rules = [(*rule, middle) for rule, middle in zip(expanded.unary.tolist(), expanded.middles, strict=True)]
    assert dict(zip(rules, np.exp(weights[len(expanded.binary) :]), strict=True)) == pytest.approx(ones)
    assert [base.labels[symbol] for symbol in of] == expanded.labels
    assert list(map(tuple, expanded.binary[:, [1, 2, 0]].tolist())) == sorted(
        map(tuple, expanded.binary[:, [1, 2, 0]].tolist())
    )
    assert {of[k] for k in expanded.tags.values()} == set(base.tags.values())


@examples(25)
@given(treebanks, seeds)
def test_halves_that_are_equal_can_be_joined_again(treebank: list[Tree], seed: int) -> None:
    grammar = split(LatentGrammar.from_treebank(treebank), seed)
    halves = grammar.split(np.random.default_rng(seed), noise=0.0)
    into = [np.arange(k, dtype=np.int32) // 2 for k in halves.substates.tolist()]
    joined = halves.merged(into, np.ones(halves.first[-1]))
    assert (joined.substates == grammar.substates).all()
    assert joined.binary == pytest.approx(grammar.binary)
    assert joined.unary == pytest.approx(grammar.unary)
    assert joined.emission == pytest.approx(grammar.emission)
    assert joined.coarser.tolist() == list(range(grammar.first[-1]))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("k", [2, 4, 8, 16])
def test_joining_substates_rounds_in_the_same_way_on_every_processor(k: int, axis: int) -> None:
    rng = np.random.default_rng(k)
    block, shares = rng.uniform(size=(k, k, k)), rng.uniform(size=k)
    matrix = np.repeat(np.eye(k // 2), 2, axis=0) * shares[:, None]  # pairs are joined
    parts = np.moveaxis(block, axis, -1) * shares
    expected = np.moveaxis(parts[..., ::2] + parts[..., 1::2], -1, axis)
    assert np.array_equal(joined(block, axis, matrix), expected)


@examples(25)
@given(treebanks, seeds)
def test_substates_know_what_they_were_split_from(treebank: list[Tree], seed: int) -> None:
    grammar = split(LatentGrammar.from_treebank(treebank), seed)
    finer = split(grammar, seed + 1)
    of, of_finer = (np.repeat(np.arange(len(g.substates)), g.substates) for g in (grammar, finer))
    assert (of[finer.coarser] == of_finer).all()
    assert np.bincount(finer.coarser).tolist() == [1 if grammar.base.symbols[k] == "TOP" else 2 for k in of]


@examples(25)
@given(treebanks, seeds)
def test_tops_and_bottoms_share_their_substates(treebank: list[Tree], seed: int) -> None:
    grammar = split(LatentGrammar.from_treebank(treebank), seed, 2)
    for rule in np.flatnonzero(grammar.stays):
        block = grammar.unary_block(rule)
        assert (block == np.diag(block.diagonal())).all()
        assert block.diagonal().min() > 0.0
        top, bottom = (grammar.base.symbols[k] for k in grammar.base.unary[rule])
        assert bottom == top + "~"


@examples(25)
@given(treebanks, seeds)
def test_the_lexical_table_is_the_emission(treebank: list[Tree], seed: int) -> None:
    grammar = split(LatentGrammar.from_treebank(treebank), seed)
    lexical = grammar.lexical()
    at, tag, _ = grammar.lexicon.base.table()
    assert len(lexical.at) == len(at)
    for sentence in (*(tree.leaves() for tree in treebank), ("never", "Seen", "8")):
        for row in grammar.rows(sentence).tolist():
            found = dict(
                zip(*(part[lexical.at[row] : lexical.at[row + 1]].tolist() for part in lexical[1:]), strict=True)
            )
            expected = {}
            for e in range(at[row], at[row + 1]):
                block = grammar.emission[grammar.lexicon.at[e] : grammar.lexicon.at[e + 1]]
                expected |= {int(grammar.first[grammar.tags[tag[e]]] + a): np.log(p) for a, p in enumerate(block)}
            assert found == pytest.approx(expected, rel=1e-4)
    given_tags = grammar.lexicon.base.gold_rows(["N"], ["dog"])
    if "N" in grammar.base.tags:
        assert (lexical.score[lexical.at[given_tags[0]] : lexical.at[given_tags[0] + 1]] == 0.0).all()


TAGGED = [
    [("the", "D"), ("dog", "N"), ("walked", "V")],
    [("The", "D"), ("cats", "N"), ("walked", "V"), ("the", "D"), ("dog", "N")],
    [("Dog", "N"), ("walks", "V")],
] * 3


def entries(lexicon: LatentLexicon, word: str, tag: str) -> list[int]:
    """The entries of a word and a tag, in one row or two."""
    at, tags, _ = lexicon.base.table()
    rows = {lexicon.base._number(word, first) for first in (False, True)}
    return [e for row in rows for e in range(at[row], at[row + 1]) if lexicon.base.tags[tags[e]] == tag]


def test_frequent_words_have_substates_of_their_own_and_new_words_those_of_rare_words() -> None:
    lexicon = LatentLexicon.learn(TAGGED, rare=4).passed_on([np.array([[0.5, 0.5]])] * 3)
    counts = lexicon.counts.copy()
    for word, share in (("dog", 1.0), ("cats", 0.0), ("Dog", 0.0)):
        for e in entries(lexicon, word, "N"):
            block = counts[lexicon.at[e] : lexicon.at[e + 1]]
            block[:] = block.sum() * np.array([share, 1.0 - share])
    lexicon = lexicon.with_counts(lexicon.substates, counts)
    emission = lexicon.emission()
    odds = {}
    for word in ("dog", "cats", "bats"):
        first, second = emission[lexicon.at[entries(lexicon, word, "N")[0]] :][:2]
        odds[word] = first / second
    assert odds["dog"] > 10 * odds["cats"]
    assert odds["dog"] > 3 * odds["bats"]  # which is like what is rare


@examples(10)
@given(treebanks, seeds)
def test_grammars_survive_being_arrays(treebank: list[Tree], seed: int) -> None:
    grammar = split(LatentGrammar.from_treebank(treebank), seed, 2)
    arrays = grammar.to_arrays()
    again = LatentGrammar.from_arrays(arrays)
    assert (again.binary == grammar.binary).all()
    assert (again.unary == grammar.unary).all()
    for one, two in zip(grammar.lexical(), again.lexical(), strict=True):
        assert (one == two).all()
    for name, array in arrays.items():
        assert (again.to_arrays()[name] == array).all()
        with pytest.raises(ModelError, match=r"damaged|lacks"):
            LatentGrammar.from_arrays({key: value for key, value in arrays.items() if key != name})
    with pytest.raises(ModelError, match="grammar is damaged"):
        LatentGrammar.from_arrays({**arrays, "unary.places": arrays["unary.places"] + 10**9})
    with pytest.raises(ModelError, match="lexicon is damaged"):
        LatentGrammar.from_arrays({**arrays, "lexicon.emitted.values": grammar.lexicon.counts[:0]})
