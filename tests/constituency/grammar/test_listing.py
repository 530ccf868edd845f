from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from treewright.constituency import ConstituencyParser
from treewright.constituency.grammar.listing import list_rules, sizes
from treewright.corpora import builtin_corpus
from treewright.errors import ConfigError


@pytest.fixture(scope="module", params=["v1h0", "v2h1", "v2hinf-head"])
def grammar(request):
    train = builtin_corpus(train=60, dev=0, test=0).train
    return ConstituencyParser(request.param, learner="maximum-likelihood").fit(train).grammar_


def test_all_rules_by_frequency(grammar):
    rules = list_rules(grammar)
    assert len(rules) == len(grammar)
    assert [rule.count for rule in rules] == sorted(grammar.counts, reverse=True)
    lines = {line.split("\t")[0] for line in grammar.lines()}
    assert {rule.text for rule in rules} == lines
    totals = defaultdict(float)
    for rule in rules:
        totals[rule.parent] += rule.probability
        assert np.isclose(np.exp(rule.weight), rule.probability)
    assert np.allclose(list(totals.values()), 1.0)


def test_rules_of_a_symbol(grammar):
    symbol = next(name for name in grammar.symbols if name + "~" in grammar.number and name != "TOP")
    rules = list_rules(grammar, symbol)
    assert {rule.parent for rule in rules} == {symbol, symbol + "~"}
    assert rules == [rule for rule in list_rules(grammar) if rule.parent in (symbol, symbol + "~")]
    assert {rule.kind for rule in rules if rule.parent == symbol} == {"unary"}


def test_sizes(grammar):
    found = sizes(grammar)
    assert found["symbols"] == len(grammar.symbols)
    assert found["rules"] == found["binary"] + found["unary"] == len(grammar)
    assert found["seen once"] == np.count_nonzero(grammar.counts == 1)


def test_symbols_that_are_not_there(grammar):
    with pytest.raises(ConfigError, match="there is no symbol 'NPP' in the grammar"):
        list_rules(grammar, "NPP")
    with pytest.raises(ConfigError, match="'DT' is a tag"):
        list_rules(grammar, "DT")
