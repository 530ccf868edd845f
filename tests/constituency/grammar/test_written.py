from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.constituency import WrittenGrammar, trace_written
from treewright.constituency.charts.cells import CellChart
from treewright.constituency.written_trace import _chart, agenda_parse
from treewright.corpora import Tree
from treewright.errors import ConfigError, CorpusError

TELESCOPE = """
S -> NP VP            # two readings
NP -> Det N [3] | NP PP [1]
VP -> V NP [2] | VP PP [1] | 'saw' NP P NP
PP -> P NP
Det -> the
N -> man | dog | telescope
V -> "saw"
P -> with
"""
WORDS = ["the", "man", "saw", "the", "dog", "with", "the", "telescope"]


def derivations(grammar: WrittenGrammar, symbol: str, words: tuple[str, ...], above: frozenset[str] = frozenset()):
    """All trees of a symbol over some words with their scores, by trying everything."""
    for rule in grammar.rules:
        if rule.parent != symbol:
            continue
        for cut in cuts(len(words), len(rule.parts)):
            parts = []
            for part, (a, b) in zip(rule.parts, cut, strict=True):
                if part.startswith("'"):
                    parts.append([(words[a], 0.0)] if words[a:b] == (part[1:],) else [])
                elif len(rule.parts) == 1 and part in above | {symbol}:
                    parts.append([])
                else:
                    chain = above | {symbol} if len(rule.parts) == 1 else frozenset()
                    parts.append(list(derivations(grammar, part, words[a:b], chain)))
            for chosen in product(*parts):
                score = math.log(rule.probability) + sum(score for _, score in chosen)
                yield Tree(symbol, tuple(tree for tree, _ in chosen)), score


def cuts(n: int, parts: int):
    """Yield every way to cut ``n`` items into ``parts`` pieces, none of them empty."""
    if parts == 1:
        yield [(0, n)] if n else []
        return
    for first in range(1, n - parts + 2):
        for rest in cuts(n - first, parts - 1):
            yield [(0, first), *((first + a, first + b) for a, b in rest)]


def test_the_k_best_trees_are_those_of_trying_everything():
    grammar = WrittenGrammar.from_text(TELESCOPE)
    right = sorted(derivations(grammar, "S", tuple(WORDS)), key=lambda each: -each[1])
    found = grammar.k_best(WORDS, 10)
    assert len(found) == len(right) == 3
    assert [round(each.score, 9) for each in found] == [round(score, 9) for _, score in right]
    assert {each.tree for each in found} == {tree for tree, _ in right}


SYMBOLS = st.sampled_from(["S", "A", "B"])
PARTS = st.lists(st.one_of(SYMBOLS, st.sampled_from(["'a", "'b"])), min_size=1, max_size=3)


@given(
    st.lists(st.tuples(SYMBOLS, PARTS, st.integers(1, 5)), min_size=1, max_size=7),
    st.lists(st.sampled_from("ab"), min_size=1, max_size=4),
)
def test_any_grammar_has_the_best_trees_of_trying_everything(rules, words):
    lines = dict.fromkeys((parent, tuple(parts)) for parent, parts, _ in rules)
    text = "\n".join(
        f"{p} -> {' '.join(f'{x}{chr(39)}' if x[0] == chr(39) else x for x in parts)}" for p, parts in lines
    )
    text = "S -> 'a' | A\nA -> B | 'b' 'a'\nB -> 'b' | S\n" + "\n".join(
        line
        for line in text.splitlines()
        if line not in ("S -> 'a'", "S -> A", "A -> B", "A -> 'b' 'a'", "B -> 'b'", "B -> S")
    )
    grammar = WrittenGrammar.from_text(text)
    right = sorted((score for _, score in derivations(grammar, "S", tuple(words))), reverse=True)
    known = [word for word in words if word in grammar.lexical]
    if len(known) < len(words):
        return
    found = grammar.k_best(words, 3)
    assert [round(each.score, 6) for each in found] == [round(score, 6) for score in right[:3]]
    chart = _chart(grammar, words)
    score, _ = agenda_parse(grammar, words)
    if right:
        assert chart.best == pytest.approx(right[0])
        assert score == pytest.approx(right[0])
    else:
        assert chart.best == -math.inf
        assert score is None


def test_inside_and_outside_add_up_to_the_best_tree_with_an_item():
    grammar = WrittenGrammar.from_text(TELESCOPE)
    chart = _chart(grammar, WORDS)
    trees = list(derivations(grammar, "S", tuple(WORDS)))
    seen = 0
    for start in range(len(WORDS)):
        for end in range(start + 1, len(WORDS) + 1):
            for item in chart.items(start, end):
                if item.symbol.startswith(("@", "'")):
                    continue
                scores = [score for tree, score in trees if (item.symbol, start, end) in spans(tree)]
                assert item.through == pytest.approx(max(scores, default=-math.inf))
                seen += 1
    assert seen == 17


def spans(tree: Tree, start: int = 0) -> set[tuple[str, int, int]]:
    found = {(tree.label, start, start + len(tree.leaves()))}
    for child in tree.children:
        if isinstance(child, Tree):
            found |= spans(child, start)
            start += len(child.leaves())
        else:
            start += 1
    return found


def test_the_best_nodes_of_a_chart_are_the_best_tree():
    grammar = WrittenGrammar.from_text(TELESCOPE)
    [best] = grammar.k_best(WORDS, 1)
    nodes = {node for node in _chart(grammar, WORDS).best_nodes() if not node[0].startswith(("@", "'"))}
    assert nodes == spans(best.tree)
    assert CellChart(["S"], [], [], [], [], [{}], 0).best_nodes() == []


def test_a_trace_fills_the_chart_width_by_width():
    trace = trace_written(WrittenGrammar.from_text(TELESCOPE), WORDS)
    widths = [step.state["end"] - step.state["start"] for step in trace.steps[:-1]]
    assert widths == sorted(widths)
    assert len(widths) == 36
    assert trace.result["tree"] == str(WrittenGrammar.from_text(TELESCOPE).k_best(WORDS)[0].tree)
    last = trace.steps[-2].state["items"][0]
    assert (last["symbol"], last["used"], last["split"]) == ("S", True, 2)


def test_pops_come_best_first_and_end_with_the_tree():
    trace = trace_written(WrittenGrammar.from_text(TELESCOPE), WORDS, "agenda")
    priorities = [step.measures["priority"] for step in trace.decisions]
    assert priorities == sorted(priorities, reverse=True)
    assert trace.decisions[-1].action == "S[0:8]"
    with pytest.raises(ConfigError, match="search"):
        trace_written(WrittenGrammar.from_text(TELESCOPE), WORDS, "magic")


@pytest.mark.parametrize(
    ("text", "line", "fact"),
    [
        ("S NP VP", 1, "S NP VP"),
        ("S -> NP\nNP ->", 2, "NP"),
        ("S -> NP | | VP", 1, "nothing"),
        ("S -> NP [x]", 1, "x"),
        ("S -> NP [-1]", 1, "-1"),
        ("S -> 'a", 1, "quotation"),
        ("S -> a\nS -> a", 2, "twice"),
        ("S -> 'a b'", 1, "a b"),
        ("@S -> a", 1, "@"),
        ("# nothing", None, "no rule"),
    ],
)
def test_what_is_no_grammar(text, line, fact):
    with pytest.raises(CorpusError, match=fact) as error:
        WrittenGrammar.from_text(text, "toy.cfg")
    assert error.value.line == line


def test_unknown_words_are_named():
    with pytest.raises(CorpusError, match="cat"):
        WrittenGrammar.from_text(TELESCOPE).k_best(["the", "cat"])
