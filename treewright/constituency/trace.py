"""A tree built step by step, top-down and leftmost first: each constituent, the rule that expands it, and the rivals.

This is an episode of the parsing MDP (:mod:`treewright.constituency.charts.mdp`): the reward of a step is the weight
of its
rule, or the lexicon's score of a tag; its advantage is how much less the best tree after it is worth than the best tree
without it, so that 0 is optimal. A parser's own steps are all optimal; those of a gold tree need not be, and where they
are not, learning has something to do.

>>> from treewright.corpora import Sentence, builtin_corpus
>>> train, dev, test = builtin_corpus(train=100, dev=0, test=0)
>>> parser = ConstituencyParser(learner="maximum-likelihood").fit(train)
>>> for step in trace(parser, "she sees it .".split())[:3]:
...     print(f"{step.number} {step.constituent} {' '.join(step.words)!r}: {step.rule}, {step.split}, {step.advantage}")
0 TOP 'she sees it .': TOP -> S^TOP, None, 0.0
1 S^TOP 'she sees it .': S^TOP -> NP^S @S^TOP|NP, 1, 0.0
2 NP^S 'she': NP^S -> PRP, None, 0.0

A parser with an agenda builds its tree from the words up, in the order of priorities: :func:`trace_pops`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from treewright.constituency.agenda.parser import Pop
from treewright.constituency.charts.mdp import Action, Constituent, Rule, TopDownMDP
from treewright.constituency.grammar.pcfg import Grammar, NotInGrammar, _Span, label_of
from treewright.constituency.parser import ConstituencyParser
from treewright.corpora import Sentence, Tree, clean_tree
from treewright.errors import ConfigError, CorpusError
from treewright.settings import whole_number

__all__ = ["DONE", "PoppedStep", "Step", "expert_actions", "trace", "trace_pops"]

DONE = "Done"

_TIE = 1e-9  # the chart adds in another order
_MOST_POPS = 1_000_000  # so many are shown at most


@dataclass(frozen=True)
class Step:
    """A constituent, the action that expands it, and how good that is; the last one has the rule ``Done``.

    ``start``, ``end`` and ``split`` are positions between words. ``value`` is what an optimal policy still collects
    from here on, and ``total`` what was collected before. ``rivals`` are the best of the other actions with their
    advantages. ``correct`` says whether the gold tree has this action, and ``expert`` what it has instead for the same
    constituent, if it has that; both are None where there is no gold tree.
    """

    number: int
    constituent: str
    start: int
    end: int
    words: tuple[str, ...]
    rule: str
    split: int | None
    reward: float | None
    advantage: float | None
    value: float
    total: float
    correct: bool | None = None
    expert: str | None = None
    rivals: dict[str, float] = field(default_factory=dict)

    @property
    def action(self) -> str:
        """The rule, and where it splits the constituent."""
        return _text(self.rule, self.split)


def trace(
    parser: ConstituencyParser, sentence: Sentence | Sequence[str], *, follow: str = "parser", top: int = 3
) -> list[Step]:
    """The steps to the best tree of a sentence, or with ``follow="gold"`` to its gold tree.

    Empty where the grammar has no tree for the sentence; :class:`NotInGrammar` where it cannot derive the gold tree
    that is to be followed. Where the sentence has a gold tree, steps say whether they are correct. ``top`` is the
    number of rivals. The best tree is that of exact search, whatever the parser's decoder and beam are.
    """
    if not isinstance(sentence, Sentence):
        sentence = Sentence.from_words(sentence)
    top = whole_number("top", top, 0)
    mdp = _mdp(parser, sentence)
    tree = None if sentence.tree is None else clean_tree(sentence.tree)
    binary = None if tree is None else parser._markovisation().binarise(tree)
    if follow == "gold":
        if binary is None:
            raise CorpusError(
                "this sentence has no constituency tree; give a treebank in brackets (.ptb, .mrg)",
                path=sentence.path,
                line=sentence.line,
            )
        try:
            mdp.from_tree(binary)
        except NotInGrammar as error:
            raise NotInGrammar(str(error), path=sentence.path, line=sentence.line) from None
    elif mdp.value(mdp.initial()) == -math.inf:
        return []
    expert = None if binary is None else expert_actions(parser.grammar_, binary)
    return list(_steps(mdp, expert, follow == "gold", top))


@dataclass(frozen=True)
class PoppedStep:
    """A constituent that the agenda parser pops: its inside score, its priority, and what the priority is made of.

    ``features`` are those that are not 0, and ``shares`` what they add to the priority, each the feature times its
    weight. ``used`` says whether the constituent is a part of the parse in the end, ``correct`` whether the gold tree
    has it; None where there is no gold tree, and for symbols that are no constituents of it.
    """

    number: int
    constituent: str
    start: int
    end: int
    words: tuple[str, ...]
    inside: float
    priority: float
    features: dict[str, float]
    shares: dict[str, float]
    used: bool
    correct: bool | None = None


def trace_pops(parser: ConstituencyParser, sentence: Sentence | Sequence[str]) -> list[PoppedStep]:
    """What a parser with an agenda pops for a sentence, in order.

    >>> from treewright.corpora import builtin_corpus
    >>> train, dev, test = builtin_corpus(train=100, dev=0, test=0)
    >>> parser = ConstituencyParser(learner="maximum-likelihood", search="agenda").fit(train)
    >>> for pop in trace_pops(parser, "she sees it .".split())[:3]:
    ...     print(f"{pop.constituent} {' '.join(pop.words)!r}: {pop.priority:.2f}")
    PRP 'she': 0.00
    VBZ 'sees': 0.00
    PRP 'it': 0.00
    """
    if not isinstance(sentence, Sentence):
        sentence = Sentence.from_words(sentence)
    parser._check_fitted()
    if parser.priority_ is None:
        raise ConfigError("this parser has no agenda, so it pops nothing: train it with search='agenda'")
    agenda, words = parser._agenda, list(sentence.forms)
    if not words:
        raise CorpusError("a sentence without words; remove it", path=sentence.path, line=sentence.line)
    packed = agenda.pack([words], [parser._rows(words, parser._given_tags(sentence))])
    order = np.full((min(agenda.bound(len(words)), _MOST_POPS), 3), -1.0)
    weights, prune = parser.priority_.weights, parser.priority_.prune
    [nodes] = agenda.parse(packed, weights, prune=prune, order=order).derivations
    pops = [agenda.pop(*row) for row in order[order[:, 0] >= 0.0].tolist()]
    symbols, tops = parser.grammar_.symbols, parser.grammar_.unary
    built = {(symbols[node[0]], node[3], node[4]) for node in nodes.tolist()}
    built |= {(symbols[tops[node[1], 0]], node[3], node[4]) for node in nodes.tolist() if node[1] >= 0}
    tree = None if sentence.tree is None else clean_tree(sentence.tree)
    gold = None if tree is None else set(_brackets(tree))
    names = [agenda.priorities.describe(f) for f in range(len(weights))]

    def step(number: int, pop: Pop, φ: list[float]) -> PoppedStep:
        label = label_of(pop.symbol)
        there = [f for f, value in enumerate(φ) if value]
        return PoppedStep(
            number,
            *pop[:3],
            tuple(words[pop.start : pop.end]),
            pop.inside,
            pop.priority,
            {names[f]: φ[f] for f in there},
            {names[f]: float(weights[f]) * φ[f] for f in there if weights[f]},
            pop[:3] in built,
            None if gold is None or label is None else (label, pop.start, pop.end) in gold,
        )

    features = agenda.explain(packed, 0, pops).tolist()
    return [step(number, pop, φ) for number, (pop, φ) in enumerate(zip(pops, features, strict=True))]


def _brackets(tree: Tree) -> Iterator[tuple[str, int, int]]:
    """The constituents of a tree, with its tags."""
    stack, at = [tree], 0
    while stack:
        node = stack.pop()
        yield node.label, at, at + len(node.leaves())
        at += node.is_preterminal
        stack.extend(child for child in reversed(node.children) if isinstance(child, Tree))


def expert_actions(grammar: Grammar, tree: Tree) -> dict[Constituent, Action]:
    """What a binarised tree does with each of its constituents, whether the grammar has these rules or not.

    Where it has them all, they are the actions of :meth:`TopDownMDP.from_tree`.
    """
    found: dict[Constituent, Action] = {}
    stack = [(tree, 0)]
    while stack:
        node, start = stack.pop()
        chain = [node.label]
        while len(node.children) == 1 and isinstance(node.children[0], Tree):
            node = node.children[0]
            chain.append(node.label)
        end = start + len(node.leaves())
        top, middle, bottom = grammar._namer.split(_Span(tuple(chain), node))
        if top is not None or len(chain) > 1:
            above = Constituent(top or chain[0], start, end)
            found[above] = Action(above, Rule(above.symbol, (bottom,), middle))
        here = Constituent(bottom, start, end)
        if node.is_preterminal:
            found[here] = Action(here, Rule(bottom, (f'"{node.children[0]}"',)))
        else:
            left, right = (child for child in node.children if isinstance(child, Tree))
            split = start + len(left.leaves())
            found[here] = Action(here, Rule(bottom, (grammar._namer.top(left), grammar._namer.top(right))), split)
            stack += [(right, split), (left, start)]
    return found


def _mdp(parser: ConstituencyParser, sentence: Sentence) -> TopDownMDP:
    parser._check_fitted()
    words = list(sentence.forms)
    if not words:
        raise CorpusError("a sentence without words; remove it", path=sentence.path, line=sentence.line)
    if len(words) > (longest := parser._longest(8)):
        raise CorpusError(
            f"a sentence of {len(words)} words, of which {longest} fit into the parser's memory of {parser.memory:g} "
            "gigabytes: longer ones are parsed in parts, whose steps cannot be shown",
            path=sentence.path,
            line=sentence.line,
        )
    rows = parser._rows(words, parser._given_tags(sentence))
    return TopDownMDP.from_lexical(parser.grammar_, words, parser._lexical, rows)


def _steps(mdp: TopDownMDP, expert: dict[Constituent, Action] | None, follow_gold: bool, top: int) -> Iterator[Step]:
    state, total, number = mdp.initial(), 0.0, 0
    while state.unexpanded:
        constituent = state.unexpanded[0]
        gains = {action: _gain(mdp, action) for action in mdp.actions(state)}
        right = None if expert is None else expert.get(constituent)
        chosen = right if follow_gold and right is not None else max(gains, key=gains.__getitem__)
        others = sorted((action for action in gains if action != chosen), key=lambda action: -gains[action])
        reward = _weight(mdp, chosen)
        yield Step(
            number=number,
            constituent=constituent.symbol,
            start=constituent.start,
            end=constituent.end,
            words=mdp.words[constituent.start : constituent.end],
            rule=str(chosen.rule),
            split=chosen.split,
            reward=reward,
            advantage=gains.get(chosen, -math.inf),
            value=mdp.value(state),
            total=total,
            correct=None if expert is None else right == chosen,
            expert=None if right is None else _text(str(right.rule), right.split),
            rivals={_text(str(a.rule), a.split): gains[a] for a in others[:top] if gains[a] > -math.inf},
        )
        state, total, number = mdp.step(state, chosen), total + reward, number + 1
    n = len(mdp.words)
    yield Step(number, mdp.initial().constituents[0].symbol, 0, n, mdp.words, DONE, None, None, None, 0.0, total)


def _weight(mdp: TopDownMDP, action: Action) -> float:
    try:
        return mdp.weight(action)
    except KeyError:  # a gold tag that the lexicon does not allow for the word
        return -math.inf


def _gain(mdp: TopDownMDP, action: Action) -> float:
    """The advantage of an action in a state that is no failure elsewhere: without going there, which takes long."""
    after = _weight(mdp, action) + mdp._inside(action.to_expand)
    gain = -math.inf if after == -math.inf else after - mdp._inside([action.constituent])
    return 0.0 if abs(gain) < _TIE else gain


def _text(rule: str, split: int | None) -> str:
    return rule if split is None else f"{rule} at {split}"
