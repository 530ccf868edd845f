"""Parsing as a Markov decision process (Neu & Szepesvári 2009, §3), for traces and tests.

Charts find the best tree of a sentence without representing states. This module implements the process that they solve,
in plain Python. A *state* is a partial tree: constituents, some of them *unexpanded*. An *action* expands one of these
by a rule of the grammar, and its reward is the rule's weight; if constituents have rewards themselves
(:mod:`treewright.constituency.charts.span_rewards`), that of the expanded one is added. An episode ends when nothing
can be expanded: in a full tree, or in a *failure*, for which the last reward is −∞. So the total reward of an episode
is the score of its tree, and an optimal policy builds the best tree (Proposition 1).

>>> grammar = Grammar.from_rules(
...     [("S", "NP", "VP", 0.0, 3), ("VP", "VBD", "NP", -0.5, 3), ("VP", "VP", "NP", -1.0, 1)],
...     [("TOP", "S", (), 0.0, 3), ("NP", "PRP", (), -1.0, 2), ("NP", "NN", (), -0.5, 4)])
>>> mdp = TopDownMDP(grammar, "it was love".split(), [{"PRP": -0.5}, {"VBD": -0.25}, {"NN": -0.25, "VBD": -2.0}])
>>> state = mdp.step(mdp.initial(), mdp.actions(mdp.initial())[0])
>>> print(state, mdp.value(state))
(TOP S[0:3]) -3.0
>>> for action in mdp.actions(state):
...     print(action, "|", mdp.reward(state, action), mdp.advantage(state, action))
S[0:3]: S -> NP VP, split at 1 | 0.0 0.0
S[0:3]: S -> NP VP, split at 2 | 0.0 -inf
>>> for action in mdp.follow_optimal_policy(state).actions[2:]:
...     print(action)
PRP[0:1]: PRP -> "it"
VP[1:3]: VP -> VBD NP, split at 2
VBD[1:2]: VBD -> "was"
NP[2:3]: NP -> NN
NN[2:3]: NN -> "love"

Every constituent is expanded independently of the others. So the value of a state is the sum of the values of its
unexpanded constituents, which are the Viterbi inside scores of a chart. The advantage of an action depends only on the
scores of the constituents in it (Proposition 2).

In the paper, grammars are in Chomsky normal form. Here there are also unary rules: actions without a split. A rule for
a whole chain (:mod:`treewright.constituency.grammar.pcfg`) introduces one constituent for the middle of the chain,
named as in the text of the rule (``[NP] [X]``), and one for its bottom. Words are constituents in quotation marks.
Positions are counted from 0; an end is the position after the last word, and a split is the position of the first word
of the right part.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.chart import new_space, row_offsets
from treewright.constituency.charts.passes import k_best_of
from treewright.constituency.charts.recurrence import fill
from treewright.constituency.charts.semirings import POSSIBLE, VITERBI_64
from treewright.constituency.grammar.binarisation import TOP
from treewright.constituency.grammar.pcfg import Grammar
from treewright.constituency.grammar.rules import Lexical, Weighted
from treewright.corpora import Tree
from treewright.errors import CorpusError, TaskError
from treewright.search.compiling import kernel
from treewright.settings import whole_number

__all__ = ["Action", "Constituent", "Rule", "State", "TopDownMDP", "Trajectory"]

TagScores = Sequence[Mapping[str, float]]


class Constituent(NamedTuple):
    """A symbol (or a word, in quotation marks) over the words from ``start`` to ``end``, which is exclusive."""

    symbol: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.symbol}[{self.start}:{self.end}]"


class Rule(NamedTuple):
    """A rule by the names of its symbols: two children, or one, perhaps with the middle of a chain, or a word."""

    parent: str
    children: tuple[str, ...]
    middle: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.parent} -> {' '.join([*(f'[{name}]' for name in self.middle), *self.children])}"


class Action(NamedTuple):
    """An unexpanded constituent, a rule that expands it, and the split of a binary rule."""

    constituent: Constituent
    rule: Rule
    split: int | None = None

    def __str__(self) -> str:
        return f"{self.constituent}: {self.rule}{'' if self.split is None else f', split at {self.split}'}"

    @property
    def introduced(self) -> tuple[Constituent, ...]:
        """The constituents that the action adds to a state, parents before children and left before right."""
        _, start, end = self.constituent
        if self.split is not None:
            left, right = self.rule.children
            return Constituent(left, start, self.split), Constituent(right, self.split, end)
        names = [" ".join(f"[{name}]" for name in self.rule.middle)] if self.rule.middle else []
        return tuple(Constituent(name, start, end) for name in (*names, *self.rule.children))

    @property
    def to_expand(self) -> tuple[Constituent, ...]:
        """The unexpanded ones of them: neither the middle of a chain nor a word."""
        new = self.introduced[1 if self.rule.middle else 0 :]
        return () if _is_word(new[0].symbol) else new


class State(NamedTuple):
    """A partial tree: all constituents, parents before children and left before right, and the unexpanded ones.

    The order of the constituents determines the children of each, and does not depend on the order of expansions.
    """

    constituents: tuple[Constituent, ...]
    unexpanded: tuple[Constituent, ...]

    @property
    def is_complete(self) -> bool:
        """Whether it is a full tree."""
        return not self.unexpanded

    def __str__(self) -> str:
        parts: list[str] = []
        ends: list[int] = []  # of the constituents that are open
        for constituent in self.constituents:
            parts.append(" " if parts else "")
            if _is_word(constituent.symbol) or constituent in self.unexpanded:
                parts.append(constituent.symbol if _is_word(constituent.symbol) else str(constituent))
                while ends and ends[-1] == constituent.end:
                    parts.append(")")
                    ends.pop()
            else:
                parts.append(f"({constituent.symbol}")
                ends.append(constituent.end)
        return "".join(parts)


class Trajectory(NamedTuple):
    """States, one more than there are actions, the actions between them, and their rewards."""

    states: list[State]
    actions: list[Action]
    rewards: list[float]

    @property
    def total(self) -> float:
        """The sum of the rewards."""
        return sum(self.rewards)


@kernel
def inside_pass(grammar: Weighted, words: Any, anchored: Any) -> Any:
    """The values of a sentence's Viterbi chart, and the offsets of its rows."""
    space = new_space(VITERBI_64, grammar.rules.is_top.shape[0], words.shape[0])
    chart = fill(VITERBI_64, grammar, words, anchored, np.inf, space)
    return space.values, chart.offsets


class TopDownMDP:
    """The top-down parsing MDP of a sentence (Definition 1).

    Args:
        grammar: the rules and their weights σ(R).
        words: the sentence.
        tag_scores: for each word the tags that it can have, as named in ``grammar.tags``, and their scores: these are
            the lexical rules. Scores are kept in 32 bits, as in charts.
        leftmost: whether only the leftmost unexpanded constituent may be expanded (§5.1), which changes no value; or
            all of them, as in Definition 1.
    """

    def __init__(self, grammar: Grammar, words: Sequence[str], tag_scores: TagScores, *, leftmost: bool = True) -> None:
        if len(words) != len(tag_scores) or not words:
            raise CorpusError(
                f"{len(words)} words, and tags for {len(tag_scores)}: a sentence has words, all with tags"
            )
        for word, tags in zip(words, tag_scores, strict=True):
            if unknown := sorted(set(tags) - set(grammar.tags)):
                raise CorpusError(f"the grammar has no tag {unknown[0]!r}, which the word {word!r} is said to have")
        at = np.cumsum([0, *map(len, tag_scores)], dtype=np.int64)
        symbols = [grammar.tags[tag] for tags in tag_scores for tag in tags]
        scores = [score for tags in tag_scores for score in tags.values()]
        self._begin(grammar, words, Lexical(at, np.array(symbols, np.int32), np.array(scores, np.float32)), leftmost)

    @classmethod
    def from_lexical(
        cls,
        grammar: Grammar,
        words: Sequence[str],
        lexical: Lexical,
        rows: npt.ArrayLike,
        *,
        leftmost: bool = True,
        anchored: npt.NDArray[np.float32] | None = None,
    ) -> Self:
        """The same from a lexicon's table: ``rows`` are those of the words.

        ``anchored`` are rewards of constituents, in the layout of a chart.
        """
        numbers = np.asarray(rows, np.int64)
        if len(words) != len(numbers) or not words:
            raise CorpusError(f"{len(words)} words, and rows for {len(numbers)}: a sentence has words, all with a row")
        entries = [np.arange(lexical.at[row], lexical.at[row + 1]) for row in numbers]
        chosen = np.concatenate(entries)
        at = np.cumsum([0, *map(len, entries)], dtype=np.int64)
        mdp = cls.__new__(cls)
        mdp._begin(grammar, words, Lexical(at, lexical.symbol[chosen], lexical.score[chosen]), leftmost)
        mdp._anchored = anchored
        return mdp

    def _begin(self, grammar: Grammar, words: Sequence[str], lexical: Lexical, leftmost: bool) -> None:
        self.grammar, self.words, self.leftmost = grammar, tuple(words), leftmost
        self._lexical = lexical
        self._anchored: npt.NDArray[np.float32] | None = None
        names = grammar.symbols
        if confusing := [name for name in names if _is_word(name) or _is_middle(name)]:
            raise TaskError(f"the symbol {confusing[0]} has the form of a word or of the middle of a chain here")
        self._tags = [
            {names[lexical.symbol[k]]: float(lexical.score[k]) for k in range(lexical.at[i], lexical.at[i + 1])}
            for i in range(len(words))
        ]
        self._numbers: dict[Rule, int] = {}
        for a, b, c in grammar.binary.tolist():
            self._numbers[Rule(names[a], (names[b], names[c]))] = len(self._numbers)
        for (a, b), middle in zip(grammar.unary.tolist(), grammar.middles, strict=True):
            self._numbers[Rule(names[a], (names[b],), middle)] = len(self._numbers)
        self._rules: dict[str, list[Rule]] = defaultdict(list)
        for rule in self._numbers:
            self._rules[rule.parent].append(rule)

    # ---- the process: Definition 1

    def initial(self, constituent: Constituent | None = None) -> State:
        """The state of one unexpanded constituent: the root over all words, or another one (an initial state of M̂)."""
        root = Constituent(TOP, 0, len(self.words)) if constituent is None else constituent
        return State((root,), (root,))

    def actions(self, state: State) -> list[Action]:
        """A(x): the actions of a state, including those that cannot lead to a tree."""
        chosen = state.unexpanded[:1] if self.leftmost else state.unexpanded
        return [action for constituent in chosen for action in self._expansions(constituent)]

    def _expansions(self, constituent: Constituent) -> Iterator[Action]:
        symbol, start, end = constituent
        for rule in self._rules.get(symbol, ()):
            if len(rule.children) == 1:
                yield Action(constituent, rule)
            else:
                for split in range(start + 1, end):
                    yield Action(constituent, rule, split)
        if end - start == 1 and symbol in self._tags[start]:
            yield Action(constituent, Rule(symbol, (f'"{self.words[start]}"',)))

    def step(self, state: State, action: Action) -> State:
        """T(x, a): the state with the constituents that the action introduces."""
        if action.constituent not in state.unexpanded:
            raise TaskError(f"{action.constituent} is not an unexpanded constituent of {state}")
        here = state.constituents.index(action.constituent) + 1
        place = state.unexpanded.index(action.constituent)
        return State(
            (*state.constituents[:here], *action.introduced, *state.constituents[here:]),
            (*state.unexpanded[:place], *action.to_expand, *state.unexpanded[place + 1 :]),
        )

    def is_terminal(self, state: State) -> bool:
        """Whether there are no actions."""
        chosen = state.unexpanded[:1] if self.leftmost else state.unexpanded
        return not any(True for constituent in chosen for _ in self._expansions(constituent))

    def is_failure(self, state: State) -> bool:
        """Whether the episode ends here without a full tree."""
        return not state.is_complete and self.is_terminal(state)

    def reward(self, state: State, action: Action) -> float:
        """r(x, a): the weight of the rule; −∞ if the episode ends in a failure by this action."""
        return -math.inf if self.is_failure(self.step(state, action)) else self.weight(action)

    def weight(self, action: Action) -> float:
        """σ(R): the weight of an action's rule in the grammar, or the score of a tag for its word.

        The reward of the expanded constituent is added, if it has one.
        """
        number = self.number(action.rule)
        if number is None:
            weight = self._tags[action.constituent.start][action.rule.parent]
        else:
            weight = float(self.grammar.weights[number])
        return weight + self.own_reward(action.constituent)

    def own_reward(self, constituent: Constituent) -> float:
        """The reward of a constituent itself, whichever rule expands it; 0 if there are no such rewards."""
        if self._rewards is None:
            return 0.0
        return float(self._rewards[self.grammar.number[constituent.symbol], constituent.start, constituent.end])

    @cached_property
    def _rewards(self) -> npt.NDArray[np.float64] | None:
        """The rewards of constituents: symbols × starts × ends."""
        if self._anchored is None:
            return None
        n, symbols = len(self.words), len(self.grammar.symbols)
        offsets = row_offsets(n)
        table = self._anchored[: symbols * offsets[n + 1]].reshape(symbols, -1)
        found = np.zeros((symbols, n, n + 1))
        for width in range(1, n + 1):
            starts = np.arange(n - width + 1)
            found[:, starts, starts + width] = table[:, offsets[width] + starts]
        return found

    def number(self, rule: Rule) -> int | None:
        """The number of a rule among the grammar's weights, which is its feature; None for lexical rules."""
        return self._numbers.get(rule)

    # ---- values: Proposition 2

    @cached_property
    def inside_scores(self) -> dict[Constituent, float]:
        """``insideScores``: the value of every constituent that can be completed, from a chart."""
        names, n = self.grammar.symbols, len(self.words)
        rows = np.arange(n, dtype=np.int32)
        values, offsets = inside_pass(self.grammar.weighted(self._lexical), rows, self._anchored)
        table = values[: len(names) * offsets[n + 1]].reshape(len(names), -1)
        scores: dict[Constituent, float] = {}
        for width in range(1, n + 1):
            row = table[:, offsets[width] : offsets[width] + n - width + 1]
            for symbol, start in np.argwhere(row > POSSIBLE).tolist():
                scores[Constituent(names[symbol], start, start + width)] = float(row[symbol, start])
        return scores

    def _inside(self, constituents: Sequence[Constituent]) -> float:
        return sum(self.inside_scores.get(constituent, -math.inf) for constituent in constituents)

    def value(self, state: State) -> float:
        """V*(x): the reward of an optimal policy from here on; −∞ if failure cannot be avoided, and in a failure."""
        return self._inside(state.unexpanded)

    def advantage(self, state: State, action: Action) -> float:
        """A*(x, a) by eq. 5; −∞ for an action that leads only to failures."""
        return -math.inf if self.reward(state, action) == -math.inf else self._gain(action)

    def _gain(self, action: Action) -> float:
        """Eq. 5 with σ(R) as the reward: the advantage of an action, if there is no failure elsewhere."""
        after = self.weight(action) + self._inside(action.to_expand)
        return -math.inf if after == -math.inf else after - self._inside([action.constituent])

    def optimal_action(self, state: State) -> Action | None:
        """An action of the largest advantage, the first one among equals; None in a terminal state."""
        return max(self.actions(state), key=self._gain, default=None)  # where there are failures, all lead to one

    def follow_optimal_policy(self, state: State | None = None) -> Trajectory:
        """An episode under an optimal policy, from the initial state or from another one."""
        trajectory = Trajectory([self.initial() if state is None else state], [], [])
        while (action := self.optimal_action(trajectory.states[-1])) is not None:
            self._go_on(trajectory, action)
        return trajectory

    def boltzmann_policy(self, state: State, temperature: float) -> dict[Action, float]:
        """π(a|x) of eq. 17, by advantages, for the actions that can lead to a tree."""
        advantages = {action: self.advantage(state, action) for action in self.actions(state)}
        highest = max(advantages.values(), default=-math.inf)
        found = {a: math.exp((v - highest) / temperature) for a, v in advantages.items() if v > -math.inf}
        total = sum(found.values())
        return {action: p / total for action, p in found.items()}

    # ---- trees

    def viterbi_parse(self, constituent: Constituent | None = None) -> State | None:
        """``viterbiParse``: the best tree of the sentence, or of one constituent; None if there is none."""
        return self._completed(self.initial(constituent))

    def viterbi_parse_starting_with(self, action: Action) -> State | None:
        """``viterbiParseStartingWith``: the best tree of the action's constituent whose first action is this one."""
        return self._completed(self.step(self.initial(action.constituent), action))

    def _completed(self, state: State) -> State | None:
        return self.follow_optimal_policy(state).states[-1] if self.value(state) > -math.inf else None

    def maximum_scoring_trees(self, k: int) -> list[State]:
        """``maximumScoringTrees``: the k best trees of the sentence, best first; fewer if there are fewer."""
        k, n = whole_number("k", k, 1), len(self.words)
        rows = np.arange(n, dtype=np.int32)
        best = k_best_of(self.grammar.weighted(self._lexical), rows, k, anchored=self._anchored)
        return [self.from_derivation(best.trees[rank]) for rank in range(best.found[0])]

    def score(self, tree: State) -> float:
        """``score``: the sum of the weights of the rules of a tree or a partial tree."""
        return sum(self.weight(action) for action in self.actions_in(tree))

    def rule_counts(self, tree: State) -> npt.NDArray[np.float64]:
        """f(R, τ) of eq. 1 for all rules of the grammar: the features of a tree, whose weights are learned."""
        counts = np.zeros(len(self.grammar))
        for action in self.actions_in(tree):
            number = self.number(action.rule)
            if number is not None:
                counts[number] += 1.0
        return counts

    def actions_in(self, tree: State) -> list[Action]:
        """The actions that build a tree, leftmost first: the expert's actions, if it is the expert's tree."""
        found = []
        for k, constituent in enumerate(tree.constituents):
            if _is_word(constituent.symbol) or _is_middle(constituent.symbol) or constituent in tree.unexpanded:
                continue
            middle: tuple[str, ...] = ()
            child = tree.constituents[k + 1]
            if _is_middle(child.symbol):
                middle, child = tuple(name[1:-1] for name in child.symbol.split(" ")), tree.constituents[k + 2]
            if child.end == constituent.end:
                found.append(Action(constituent, Rule(constituent.symbol, (child.symbol,), middle)))
            else:  # the right child is the first that begins where the left one ends
                right = next(other for other in tree.constituents[k + 2 :] if other.start == child.end)
                rule = Rule(constituent.symbol, (child.symbol, right.symbol))
                found.append(Action(constituent, rule, child.end))
        return found

    def trajectory(self, tree: State) -> Trajectory:
        """The episode that builds a tree, leftmost constituents first."""
        trajectory = Trajectory([self.initial(tree.constituents[0])], [], [])
        for action in self.actions_in(tree):
            self._go_on(trajectory, action)
        return trajectory

    def _go_on(self, trajectory: Trajectory, action: Action) -> None:
        state = trajectory.states[-1]
        trajectory.rewards.append(self.reward(state, action))
        trajectory.actions.append(action)
        trajectory.states.append(self.step(state, action))

    def state_of(self, tree: State, constituent: Constituent) -> State:
        """``state``: a tree without the descendants of one of its constituents, which becomes unexpanded."""
        if constituent not in tree.constituents or _is_word(constituent.symbol) or _is_middle(constituent.symbol):
            raise TaskError(f"{constituent} is not a constituent of {tree} that was expanded")
        here = tree.constituents.index(constituent) + 1
        rest = here
        while rest < len(tree.constituents) and tree.constituents[rest].start < constituent.end:
            rest += 1
        kept = tree.constituents[:here] + tree.constituents[rest:]
        below = set(tree.constituents[here:rest])
        open_ones = {*tree.unexpanded, constituent} - below
        return State(kept, tuple(c for c in kept if c in open_ones))

    def is_correct(self, action: Action, tree: State) -> bool:
        """``isCorrect``: whether the (expert's) tree expands the constituent by this action.

        In Chomsky normal form this holds if all constituents that the action introduces are in the tree, which is the
        paper's definition. With chains, an action may skip the upper part of a chain, so that its constituents are in
        the tree, but further down; this is not correct.
        """
        return action in self.actions_in(tree)

    # ---- from and to other forms of trees

    def from_derivation(self, derivation: npt.ArrayLike) -> State:
        """The tree of a derivation (see :mod:`treewright.constituency.charts.derivations`)."""
        names, found = self.grammar.symbols, []
        for symbol, one, two, start, end in np.asarray(derivation).tolist():
            if one >= 0:
                top, middle = self.grammar.unary[one, 0], self.grammar.middles[one]
                found.append(Constituent(names[top], start, end))
                if middle:
                    found.append(Constituent(" ".join(f"[{name}]" for name in middle), start, end))
            found.append(Constituent(names[symbol], start, end))
            if two < 0:
                found.append(Constituent(f'"{self.words[start]}"', start, end))
        return State(tuple(found), ())

    def derivation(self, tree: State) -> npt.NDArray[np.int32]:
        """The derivation of a full tree."""
        if not tree.is_complete:
            raise TaskError(f"only full trees have derivations, and {tree.unexpanded[0]} is unexpanded")
        nodes: list[list[int]] = []
        above = -1
        for action in self.actions_in(tree):
            number = self.number(action.rule)
            if number is not None and number >= len(self.grammar.binary):
                above = number - len(self.grammar.binary)
            else:
                symbol, start, end = action.constituent
                nodes.append([self.grammar.number[symbol], above, -1 if number is None else number, start, end])
                above = -1
        return np.array(nodes, np.int32).reshape(-1, 5)

    def from_tree(self, tree: Tree) -> State:
        """A binarised tree (:class:`~treewright.constituency.grammar.binarisation.Markovisation`) as a state: the
        expert's."""
        if tree.leaves() != self.words:
            raise CorpusError(f"the tree is over {' '.join(tree.leaves())!r}, and not over {' '.join(self.words)!r}")
        return self.from_derivation(self.grammar.derivation(tree))

    def to_tree(self, tree: State) -> Tree:
        """The treebank's tree: original labels, nothing binarised."""
        return self.grammar.tree(self.derivation(tree), self.words)


def _is_word(symbol: str) -> bool:
    return len(symbol) > 2 and symbol[0] == symbol[-1] == '"'  # a tag may well be named "


def _is_middle(symbol: str) -> bool:
    return symbol.startswith("[") and symbol.endswith("]")
