"""Truecasing: which of the forms that training saw of a word is meant? Structured actions and shared tables.

Every word has candidates of its own, so actions are *structured*: an action is the number of a form, and a state offers
the forms of one word. The tables of candidates are *shared* by all sentences. The estimator saves them with the model.

    python examples/truecasing.py
    treewright --import truecasing train truecasing:Truecaser train.conllu --out case.tw     # in the folder examples
    treewright --import truecasing parse case.tw text.txt
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from treewright import Sentence, Task, builtin_corpus, check_task
from treewright.estimators import TaskEstimator
from treewright.models import pack_strings, unpack_strings
from treewright.search import cross2, mix, string_hash

MOST = 8  # candidates of a word


class Truecasing(Task):
    """One of the forms of each word, from left to right."""

    state = {"position": 1, "errors": 1, "forms": "n"}
    instance = ("words", "gold")
    shared = ("first", "candidates", "looks")
    structured = True
    n_actions = MOST
    max_features = 8

    def is_final(x, state):
        return state.position[0] >= x.n

    def actions(x, state, out):
        word = x.words[state.position[0]]
        n = 0
        for k in range(x.first[word], x.first[word + 1]):
            out[n] = x.candidates[k]
            n += 1
        return n

    def step(x, state, action):
        i = state.position[0]
        state.forms[i] = action
        if x.gold[i] >= 0 and x.gold[i] != action:
            state.errors[0] += 1
        state.position[0] = i + 1

    def features(x, state, out):
        i = state.position[0]
        before = x.words[i - 1] if i > 0 else -1
        after = x.words[i + 1] if i + 1 < x.n else -1
        out[0] = mix(1, x.words[i])
        out[1] = cross2(2, x.words[i], before)
        out[2] = cross2(3, x.words[i], after)
        return 3

    def action_features(x, state, action, out):
        # what forms have in common: capitals at the beginning of a sentence say something about all words
        i = state.position[0]
        look = x.looks[action]
        before = x.looks[state.forms[i - 1]] if i > 0 else np.int64(7)
        out[0] = mix(11, look)
        out[1] = cross2(12, look, before)
        return 2

    def expert_costs(x, state, actions, n, out):
        gold = x.gold[state.position[0]]
        known = False
        for k in range(n):
            known = known or actions[k] == gold
        for k in range(n):
            out[k] = 0.0 if actions[k] == gold or not known else 1.0

    def loss(x, state):
        return float(state.errors[0])

    def __init__(self, arrays):
        self.arrays = arrays
        self.forms = unpack_strings(arrays, "forms")
        self.numbers = {form: number for number, form in enumerate(self.forms)}
        self.words = {word: number for number, word in enumerate(unpack_strings(arrays, "words"))}

    def shared_arrays(self):
        return {name: self.arrays[name] for name in self.shared}

    def length(self, item):
        return len(item[0])

    def encode(self, item):
        forms, gold = item
        words = [self.words.get(form.lower(), 0) for form in forms]
        right = [self.numbers.get(form, -1) if gold else -1 for form in forms]
        return {"words": np.array(words, np.int32), "gold": np.array(right, np.int32)}


class Truecaser(TaskEstimator):
    """Restores capitals; a word that training never saw stays as it is."""

    def learn(self, sentences):
        forms = defaultdict(Counter)
        for form in (form for sentence in sentences for form in sentence.forms):
            forms[form.lower()][form] += 1
        words = ["", *sorted(forms)]  # the first stands for words that are not known
        candidates = [[""], *([form for form, _ in forms[word].most_common(MOST)] for word in words[1:])]
        names = [form for own in candidates for form in own]
        tables = {
            "first": np.cumsum([0, *map(len, candidates)]).astype(np.int32),
            "candidates": np.arange(len(names), dtype=np.int32),
            "looks": np.array([string_hash("Xx"[form[:1].islower()] + "Xx"[form[1:].islower()]) for form in names]),
        }
        return {}, {**tables, **pack_strings(names, "forms"), **pack_strings(words, "words")}

    def make_task(self, values, arrays):
        return Truecasing(arrays)

    def item(self, sentence, gold):
        return sentence.forms, gold

    def annotated(self, sentence, state):
        forms = self.make_task(self.values_, self.arrays_).forms
        found = [forms[k] or form for k, form in zip(state.forms.tolist(), sentence.forms, strict=True)]
        return Sentence(tuple(t._replace(form=f) for t, f in zip(sentence, found, strict=True)), sentence.comments)


def main() -> None:
    train, dev, test = builtin_corpus(train=500, dev=100, test=100)
    truecaser = Truecaser(learner={"name": "exploration", "passes": 3}, bits=14).fit(train, dev=dev)
    task = truecaser.make_task(truecaser.values_, truecaser.arrays_)
    print(check_task(task, [(sentence.forms[:4], True) for sentence in test[:5]]))
    print(f"{truecaser.evaluate(test).accuracy:.1%}")
    lower = [form.lower() for form in test[0].forms]
    print(*lower, "→", *truecaser.predict([lower])[0].forms)


if __name__ == "__main__":
    main()
