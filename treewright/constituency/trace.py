"""Constituency trees step by step: a top-down derivation, or the pops of an agenda parser.

A *derivation* is an episode of the parsing MDP (:mod:`treewright.constituency.charts.mdp`), top-down and leftmost
first: each step expands a constituent by a rule. The reward of a step is the weight of its rule, or the lexicon's score
of a tag; with span features, the reward of the constituent is added. The score of an action is its advantage: the score
of the best tree with it minus the score of the best tree, so that 0 is optimal. All steps of an exact parser are
optimal. The steps of a gold tree need not be, nor the steps of a parser that prunes or has another decoder.

>>> from treewright.constituency import ConstituencyParser
>>> from treewright.corpora import Sentence, builtin_corpus
>>> train, dev, test = builtin_corpus(train=100, dev=0, test=0)
>>> parser = ConstituencyParser(learner="maximum-likelihood").fit(train)
>>> for step in parser.trace("she sees it .".split()).steps[:3]:
...     print(step.state["focus"]["symbol"], "|", step.action, "|", step.choice.score)
TOP | TOP -> S^TOP | 0.0
S^TOP | S^TOP -> NP^S @S^TOP|NP at 1 | 0.0
NP^S | NP^S -> PRP | 0.0

A parser with an agenda builds its tree from the words up, in the order of priorities: :func:`trace_pops`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treewright.constituency.agenda.parser import Pop
from treewright.constituency.agenda.search import NOTED
from treewright.constituency.charts.cells import CellChart
from treewright.constituency.charts.mdp import Action, Constituent, Rule, State, TopDownMDP
from treewright.constituency.charts.span_rewards import explain_span
from treewright.constituency.grammar.binarisation import TOP
from treewright.constituency.grammar.pcfg import Grammar, NotInGrammar, _Span, label_of
from treewright.constituency.grammar.rules import Lexical
from treewright.constituency.written_trace import chart_steps
from treewright.corpora import Sentence, Tree, clean_tree
from treewright.errors import ConfigError, CorpusError
from treewright.search.stepping import find_action, wishes
from treewright.tracing import Candidate, Feature, Step, Trace, softmax

if TYPE_CHECKING:
    from treewright.constituency.latent_parser import LatentParser
    from treewright.constituency.parser import ConstituencyParser

__all__ = ["expert_actions", "trace_chart", "trace_derivation", "trace_pops"]

_TIE = 1e-9  # the chart adds in another order
_ALL_GAPS = 1e4  # no scores of a span differ by more
_MOST_CHARTED = 40  # words
_MOST_POPS = 1_000_000  # in a trace
_WAITING = 8  # constituents on the agenda that a step shows
_MOST_WAITING = 50_000  # of all steps together


def trace_derivation(
    parser: ConstituencyParser | LatentParser,
    sentence: Sentence,
    gold: Sentence | None,
    follow: str,
    *,
    grammar: Grammar,
    lexical: Lexical,
) -> Trace:
    """The steps to the tree that a parser finds, or with ``follow="gold"`` to the gold tree.

    There are no steps if the grammar has no tree for the sentence; :class:`NotInGrammar` is raised if it cannot derive
    the gold tree with ``follow="gold"``. ``grammar`` and ``lexical`` score the steps. Candidates are the actions that
    can lead to a tree, the chosen one, and the expert's if the grammar has it.
    """
    tree = None if gold is None else _gold_tree(gold)
    binary = None if tree is None else parser._markovisation().binarise(tree)
    mdp = _process(parser, sentence, grammar, lexical)
    if prefix := wishes().prefix:
        path = list(_after(mdp, prefix))
        final = mdp.initial()
        for action in path:
            final = mdp.step(final, action)
        result = str(parser._topped(mdp.to_tree(final)))
    elif follow == "gold" and gold is not None and tree is not None and binary is not None:
        try:
            target = mdp.from_tree(binary)
        except NotInGrammar as error:
            raise NotInGrammar(str(error), path=gold.path, line=gold.line) from None
        path, result = mdp.actions_in(target), str(parser._topped(tree))
    else:
        result, nodes = _predicted(parser, sentence)
        path = [] if nodes is None else mdp.actions_in(mdp.from_derivation(nodes))
    expert = None if binary is None else expert_actions(grammar, binary)
    explained = _explanations(parser, sentence, mdp) if wishes().explain else None
    steps = tuple(_steps(mdp, path, expert, explained)) if path else ()
    return _trace(parser, "derivation", sentence, steps, result, gold, {"follow": follow})


def _explanations(
    parser: ConstituencyParser | LatentParser, sentence: Sentence, mdp: TopDownMDP
) -> Callable[[Action], tuple[Feature, ...]]:
    """The features of an action: its rule, and those of the span of the constituent that it expands, if it has any."""
    spans, words, grammar = getattr(parser, "_spans", None), sentence.forms, mdp.grammar
    rows = parser._rows(list(words), parser._given_tags(sentence))
    tags = [] if spans is None else [grammar.symbols[symbol] for symbol in spans.tag_of[rows]]

    def features(action: Action) -> tuple[Feature, ...]:
        own = mdp.own_reward(action.constituent)
        found = [Feature(f"rule: {action.rule}", 1.0, _weight(mdp, action) - own)]
        symbol, *span = action.constituent
        label = -1 if spans is None else int(spans.label_of[grammar.number[symbol]])
        if spans is not None and label >= 0:
            names, places = explain_span(spans, rows, words, tags, (span[0], span[1]))
            weights = spans.weights[places + label].tolist()
            found += [Feature(name, 1.0, weight) for name, weight in zip(names, weights, strict=True) if weight]
        return tuple(found)

    return features


def _after(mdp: TopDownMDP, prefix: Sequence[str]) -> Iterator[Action]:
    """The given actions, and then the actions of the best tree that begins with them."""
    state = mdp.initial()
    while state.unexpanded:
        actions = mdp.actions(state)
        if prefix:
            action = actions[find_action(prefix[0], [_name(each) for each in actions], len(state.constituents))]
            prefix = prefix[1:]
        else:
            if mdp.value(state) == -math.inf:
                raise ConfigError(f"leads to {state}, which the grammar cannot complete", setting="prefix")
            action = max(actions, key=lambda each: _gain(mdp, each))
        yield action
        state = mdp.step(state, action)


def trace_chart(
    parser: ConstituencyParser | LatentParser,
    sentence: Sentence,
    gold: Sentence | None,
    *,
    grammar: Grammar,
    lexical: Lexical,
) -> Trace:
    """The cells of a chart, width by width, with inside and outside scores, and marks of pruning.

    Constituents count as pruned if the best tree with them is less probable than the parser's threshold times the best
    tree. The scores are those of ``grammar``.
    """
    if len(sentence) > _MOST_CHARTED:
        raise CorpusError(
            f"a sentence of {len(sentence)} words: charts are shown of up to {_MOST_CHARTED}",
            path=sentence.path,
            line=sentence.line,
        )
    mdp = _process(parser, sentence, grammar, lexical)
    chart = CellChart.of_grammar(grammar, mdp._tags, TOP, mdp._rewards)
    gaps = [-math.log(parser.prune)] if parser.prune > 0.0 else []
    gaps += [float(gap)] if (gap := getattr(parser, "max_gap", None)) is not None else []
    result, nodes = _predicted(parser, sentence)
    used = None
    if nodes is not None:
        used = {(each.symbol, each.start, each.end) for each in mdp.from_derivation(nodes).constituents}
    right = None if gold is None else set(_brackets(_gold_tree(gold)))
    steps = tuple(chart_steps(chart, label_of, min(gaps, default=None), right, used))
    about = {"follow": "model", "pruning": min(gaps, default=None)}
    return _trace(parser, "chart", sentence, steps, result, gold, about)


def trace_pops(parser: ConstituencyParser, sentence: Sentence, gold: Sentence | None) -> Trace:
    """The constituents that a parser with an agenda pops for a sentence, in order.

    A step has one candidate, the popped constituent, with its priority as its score, and the features of the priority.
    Its state has the back-pointer of the constituent and the best constituents on the agenda before the pop. The
    candidate costs 0 if the gold tree has it and 1 if not; symbols that are not constituents of a tree have no cost.
    """
    if parser.priority_ is None:
        raise ConfigError("this parser has no agenda, so it pops nothing: train it with search='agenda'")
    agenda, words = parser._agenda, list(sentence.forms)
    packed = agenda.pack([words], [parser._rows(words, parser._given_tags(sentence))])
    weights, max_gap = parser.priority_.weights, parser.priority_.max_gap
    while True:  # iterative deepening: the last attempt is shown
        parses = agenda.parse(packed, weights, max_gap=max_gap)
        if parses.whole[0] or not parser._growth or np.isinf(max_gap):
            break
        max_gap = max_gap * parser._growth if max_gap < _ALL_GAPS else np.inf
    [nodes] = parses.derivations
    count = min(int(parses.pops[0]), _MOST_POPS)
    order = np.full((count, NOTED + 3 + 2 * min(_WAITING, _MOST_WAITING // max(count, 1))), -1.0)
    agenda.parse(packed, weights, max_gap=max_gap, order=order)
    pops = [agenda.pop(*row) for row in order[:, :NOTED].tolist()]
    symbols, tops = parser.grammar_.symbols, parser.grammar_.unary
    built = {(symbols[node[0]], node[3], node[4]) for node in nodes.tolist()}
    built |= {(symbols[tops[node[1], 0]], node[3], node[4]) for node in nodes.tolist() if node[1] >= 0}
    right = None if gold is None else set(_brackets(_gold_tree(gold)))
    names = [agenda.priorities.describe(f) for f in range(len(weights))]

    def state(pop: Pop, rule: float, split: float, size: float, *waiting: float) -> dict[str, Any]:
        parts = agenda.parts(*pop[:3], int(rule), int(split))
        others = [
            agenda.pop(item, 0.0, key) for item, key in zip(waiting[::2], waiting[1::2], strict=True) if item >= 0
        ]
        return {
            "item": {**_plain(Constituent(*pop[:3])), "parts": [_plain(Constituent(*part)) for part in parts]},
            "used": pop[:3] in built,
            "agenda": [{**_plain(Constituent(*each[:3])), "priority": each.priority} for each in others],
            "waiting": int(size),
        }

    def step(number: int, pop: Pop, φ: list[float], agenda_then: list[float]) -> Step:
        name, label = str(Constituent(*pop[:3])), label_of(pop.symbol)
        cost = None if right is None or label is None else float((label, pop.start, pop.end) not in right)
        features = tuple(Feature(names[f], value, float(weights[f])) for f, value in enumerate(φ) if value)
        return Step(
            number,
            state(pop, *agenda_then),
            (Candidate(name, pop.priority, cost, features=features),),
            0,
            (name,) if cost == 0.0 else (),
            {"inside": pop.inside, "priority": pop.priority},
        )

    features = agenda.explain(packed, 0, pops).tolist()
    rows = zip(pops, features, order[:, NOTED:].tolist(), strict=True)
    steps = [step(number, *row) for number, row in enumerate(rows)]
    steps.append(Step(len(steps), {"item": None, "used": False, "agenda": [], "waiting": 0}))
    if parses.whole[0] and len(words) <= parser._longest():
        result = str(parser._topped(parser.grammar_.trees(nodes, words)[0]))
    else:
        result, _ = _predicted(parser, sentence)
    return _trace(parser, "pops", sentence, steps, result, gold, {"follow": "model"})


def _trace(
    parser: ConstituencyParser | LatentParser,
    kind: str,
    sentence: Sentence,
    steps: Sequence[Step],
    tree: str,
    gold: Sentence | None,
    about: dict[str, Any],
) -> Trace:
    about = {"model": type(parser).__name__, "decoder": parser.decoder, **about}
    return Trace(parser.task, kind, sentence.forms, tuple(steps), {"tree": tree}, gold is not None, about)


def _gold_tree(gold: Sentence) -> Tree:
    tree = None if gold.tree is None else clean_tree(gold.tree)
    if tree is None:
        message = "this sentence has no constituency tree; give a treebank in brackets (.ptb, .mrg)"
        raise CorpusError(message, path=gold.path, line=gold.line)
    return tree


def _predicted(parser: ConstituencyParser | LatentParser, sentence: Sentence) -> tuple[str, Any]:
    """The tree that a parser finds, and its derivation; None if the grammar has none, so that pieces are joined."""
    [found] = parser._decode([sentence], 1)
    return str(None if found.tree is None else parser._topped(found.tree)), found.nodes


def _brackets(tree: Tree) -> Iterator[tuple[str, int, int]]:
    """The constituents of a tree, with its tags."""
    stack, at = [tree], 0
    while stack:
        node = stack.pop()
        yield node.label, at, at + len(node.leaves())
        at += node.is_preterminal
        stack.extend(child for child in reversed(node.children) if isinstance(child, Tree))


def expert_actions(grammar: Grammar, tree: Tree) -> dict[Constituent, Action]:
    """The actions of a binarised tree, whether the grammar has these rules or not.

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


def _process(
    parser: ConstituencyParser | LatentParser, sentence: Sentence, grammar: Grammar, lexical: Lexical
) -> TopDownMDP:
    """The parsing MDP of a sentence."""
    words = list(sentence.forms)
    if len(words) > (longest := min(parser._longest(8), parser._longest())):
        raise CorpusError(
            f"a sentence of {len(words)} words, of which {longest} fit into the parser's memory of {parser.memory:g} "
            "gigabytes: longer ones are parsed in parts, whose steps cannot be shown",
            path=sentence.path,
            line=sentence.line,
        )
    rows = parser._rows(words, parser._given_tags(sentence))
    return TopDownMDP.from_lexical(grammar, words, lexical, rows, anchored=parser._anchored(rows))


def _steps(
    mdp: TopDownMDP,
    path: Sequence[Action],
    expert: dict[Constituent, Action] | None,
    explained: Callable[[Action], tuple[Feature, ...]] | None,
) -> Iterator[Step]:
    """The steps of an episode, and its final state; candidates have features if they are ``explained``."""
    state, total = mdp.initial(), 0.0
    for number, chosen in enumerate(path):
        right = None if expert is None else expert.get(chosen.constituent)
        gains = {action: _gain(mdp, action) for action in mdp.actions(state)}
        shown = [action for action, gain in gains.items() if gain > -math.inf or action in (chosen, right)]
        if chosen not in gains:  # a gold tag that the lexicon does not allow for the word
            shown.append(chosen)
        scores = [gains.get(action, -math.inf) for action in shown]
        costs = [None if expert is None else float(action != right) for action in shown]
        reward = _weight(mdp, chosen)
        features = [()] * len(shown) if explained is None else [explained(action) for action in shown]
        yield Step(
            number,
            _drawn(state),
            tuple(map(Candidate, map(_name, shown), scores, costs, softmax(scores), features)),
            shown.index(chosen),
            () if right is None else (_name(right),),
            {"reward": reward, "value": mdp.value(state), "total": total},
        )
        state, total = mdp.step(state, chosen), total + reward
    yield Step(len(path), _drawn(state), measures={"value": 0.0, "total": total})


def _drawn(state: State) -> dict[str, Any]:
    waiting = [_plain(constituent) for constituent in state.unexpanded]
    return {
        "constituents": [_plain(constituent) for constituent in state.constituents],
        "open": waiting,
        "focus": waiting[0] if waiting else None,
    }


def _plain(constituent: Constituent) -> dict[str, Any]:
    label = None if constituent.symbol.startswith("[") else label_of(constituent.symbol)
    return {"symbol": constituent.symbol, "label": label, "start": int(constituent.start), "end": int(constituent.end)}


def _name(action: Action) -> str:
    """The rule, and where it splits the constituent."""
    return str(action.rule) if action.split is None else f"{action.rule} at {action.split}"


def _weight(mdp: TopDownMDP, action: Action) -> float:
    try:
        return mdp.weight(action)
    except KeyError:  # a gold tag that the lexicon does not allow for the word
        return -math.inf


def _gain(mdp: TopDownMDP, action: Action) -> float:
    """The advantage of an action in a state without failures elsewhere, without computing the next state."""
    after = _weight(mdp, action) + mdp._inside(action.to_expand)
    gain = -math.inf if after == -math.inf else after - mdp._inside([action.constituent])
    return 0.0 if abs(gain) < _TIE else gain
