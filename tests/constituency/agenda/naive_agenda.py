"""The agenda parser, slow and obvious: dictionaries, a sweep over the agenda for each pop, features by their names."""

from __future__ import annotations

import math

import numpy as np

from treewright.constituency.agenda.environment import AgendaEnvironment
from treewright.constituency.agenda.features import NAMES, SCALES
from treewright.constituency.agenda.parser import AgendaParser
from treewright.constituency.agenda.priorities import Priorities, label_classes
from treewright.constituency.agenda.punctuation import mark_of, pattern_of
from treewright.corpora import Tree

VOCABULARY = ("The", "cat", ",", "12", "``", "%", "Sat", ".")


class PlainAgenda:
    """Chart and agenda of one sentence. A constituent is (symbol, start, end)."""

    def __init__(self, problem, priority, Δ=math.inf):
        self.problem, self.priority, self.Δ = problem, priority, Δ
        self.score, self.agenda, self.chart, self.popped = {}, {}, set(), []
        self.best, self.pushes, self.built = {}, 0, set()
        for i, tags in enumerate(problem.tags):
            lift = max(0.0, *tags.values()) if tags else 0.0
            for tag, score in tags.items():
                self.offer((tag, i, i + 1), score - lift)
        self.push()

    def kind(self, item):
        return item[1:], item[0] in self.problem.tops

    def is_pruned(self, item, score):
        return score < self.best.get(self.kind(item), -math.inf) - self.Δ

    def offer(self, item, score):
        if not self.is_pruned(item, score):
            self.pushes += 1
            if score > self.score.get(item, -math.inf):
                self.score[item] = score
                self.built.add(item)

    def push(self):
        for item in self.built:
            self.best[self.kind(item)] = max(self.best.get(self.kind(item), -math.inf), self.score[item])
        for item in self.built:
            waits = item in self.agenda
            if waits or (item not in self.popped and not self.is_pruned(item, self.score[item])):
                self.agenda[item] = self.priority(item, self.score[item])
        self.built = set()

    def number(self, item):
        symbol, start, end = item
        return (end * (end - 1) // 2 + start) * len(self.problem.names) + symbol

    def best_item(self):
        return max(self.agenda, key=lambda item: (self.agenda[item], -self.number(item)))

    def pop(self, item):
        del self.agenda[item]
        self.popped.append(item)
        if self.is_pruned(item, self.score[item]):
            return
        self.chart.add(item)
        symbol, start, end = item
        rules, weights = self.problem.binary, self.problem.weights
        for rule, (top, bottom) in enumerate(self.problem.unary):
            if bottom == symbol:
                self.offer((top, start, end), self.score[item] + weights[len(rules) + rule])
        for rule, (parent, left, right) in enumerate(rules):
            for other, first, last in sorted(self.chart):
                if left == symbol and right == other and first == end:
                    both = self.score[item] + self.score[other, first, last]
                    self.offer((parent, start, last), both + weights[rule])
                if right == symbol and left == other and last == start:
                    both = self.score[other, first, last] + self.score[item]
                    self.offer((parent, first, end), both + weights[rule])
        self.push()

    @property
    def goal(self):
        return self.problem.root, 0, self.problem.n

    @property
    def is_over(self):
        return not self.agenda or self.goal in self.popped

    def run(self):
        while not self.is_over:
            self.pop(self.best_item())
        return self


def environment(problem, seed=0, gold=None, **settings):
    """An environment of one sentence, with random words and random tables.

    The gold tree is that of a random derivation, or of the one given; or it is ``flat``.
    """
    rng = np.random.default_rng(seed)
    words = [str(word) for word in rng.choice(VOCABULARY, problem.n)]
    if gold == "flat":
        tags = np.array([(min(tags), -1, -1, i, i + 1) for i, tags in enumerate(problem.tags)])
        tree = Tree("S", tuple(problem.grammar.trees(tags, words)))
    else:
        gold = problem.trees[rng.integers(len(problem.trees))] if gold is None else gold
        tree = problem.grammar.tree(np.array(gold), words)
    classes = label_classes(problem.grammar)[1]
    tags = sorted({classes[label_classes(problem.grammar)[0][s]] for s in problem.lexical.symbol.tolist()})
    tables = rng.normal(-2.0, 1.0, (2, len(tags) + 1, len(classes)))
    patterns = ["x", "x ,", "x , x", ", x", "`` x", "x .", ",", "x ``", "x `` x", "x , x ."]
    priorities = Priorities(classes, tags, tables[0], tables[1], patterns)
    rows = [problem.words.astype(np.int32)]
    parser = AgendaParser(problem.grammar, problem.lexical, priorities)
    return AgendaEnvironment(parser, [words], rows, [tree], **settings)


def plain_features(problem, environment, item, inside):
    """φ by the words of §2.3, scaled: the features that have weights, without the cheating one."""
    symbol, start, end = item
    words, n, learned = environment.sentences[0], problem.n, environment.parser.priorities
    of, classes = label_classes(problem.grammar)
    label = learned.classes.index(classes[of[symbol]])

    def tag(i):
        if not 0 <= i < n:
            return len(learned.tags)
        best = max(problem.tags[i].values())
        first = next(t for t, score in problem.tags[i].items() if score == best)
        return learned.tags.index(classes[of[first]])

    found = dict.fromkeys(NAMES, 0.0)
    found["inside"] = inside
    found["at start"], found["at end"] = float(start == 0), float(end == n)
    found["length"], found["length / sentence"] = float(end - start), (end - start) / n
    found["label | tag before"] = learned.before[tag(start - 1), label]
    found["label | tag after"] = learned.after[tag(end), label]
    for place, i in (("before", start - 1), ("after", end), ("first", start)):
        if 0 <= i < n:
            first = words[i][0]
            is_kind = [first.isupper(), first.islower(), first.isdigit()]
            kind = next((k for k, yes in zip(("upper", "lower", "number"), is_kind, strict=True) if yes), "symbol")
            found[f"{place}: {kind}"] = 1.0
    pattern = pattern_of([mark_of(word) for word in words[start:end]])
    for k, each in enumerate(learned.patterns):
        found[f"punctuation {'+' if k < 5 else '-'}{k % 5 + 1}"] = float(each == pattern)
    found["unary to come"] = float(symbol not in problem.tops)
    return (np.array(list(found.values())) / SCALES)[environment.features]
