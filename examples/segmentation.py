"""A task of your own, whole: put the spaces back into text that was written without any.

Run it with ``python examples/segmentation.py``. The state is how far we have read and where the current word began;
at each letter there are two actions, go on or start a new word; the loss counts the boundaries that are wrong.
"""

from itertools import pairwise

from treewright import builtin_corpus, check_task
from treewright.learners import DAgger, train
from treewright.policies import AROW
from treewright.search import Task, compiled, cross2, mix


@compiled
def letter(x, i):
    """The letter at position i, 0 beyond the ends."""
    if 0 <= i < x.n:
        return x.letters[i]
    return 0


class Segmentation(Task):
    state = {"position": 1, "began": 1, "starts": "n", "errors": 1}
    instance = ("letters", "gold")
    n_actions = 2
    max_steps = "n"
    max_features = 24
    max_positions = 6

    def is_final(x, state):
        return state.position[0] == x.n

    def step(x, state, action):
        i = state.position[0]
        state.starts[i] = action
        if action == 1:
            state.began[0] = i
        if action != x.gold[i]:
            state.errors[0] += 1
        state.position[0] = i + 1

    def features(x, state, out):
        i = state.position[0]
        n = 0
        for k in range(-4, 5):
            out[n] = cross2(1, k, letter(x, i + k))
            out[n + 1] = mix(cross2(2, k, letter(x, i + k)), letter(x, i + k + 1))
            n += 2
        word = 0  # the word so far, and with its next letters
        for k in range(state.began[0], i):
            word = mix(word, x.letters[k])
        out[n] = cross2(3, word, 0)
        out[n + 1] = cross2(4, word, letter(x, i))
        out[n + 2] = mix(cross2(5, word, letter(x, i)), letter(x, i + 1))
        return n + 3

    def positions(x, state, out):  # for policies with an encoder: letters around, and where the word began
        i = state.position[0]
        for k in range(5):
            out[k] = i + k - 2 if 0 <= i + k - 2 < x.n else -1
        out[5] = state.began[0]
        return 6

    def expert_costs(x, state, actions, n, out):
        for k in range(n):
            out[k] = 0.0 if actions[k] == x.gold[state.position[0]] else 1.0

    def loss(x, state):
        return float(state.errors[0])

    # From here on it is ordinary Python.

    def encode(self, words):
        return {
            "letters": [ord(letter) for word in words for letter in word],
            "gold": [int(k == 0) for word in words for k in range(len(word))],
        }

    def length(self, words):
        return sum(len(word) for word in words)


def segment(task, policy, text):
    """The words of a text without spaces."""
    starts = policy.decode(task.pack([[text]])).state(0).starts
    cuts = [0, *(i for i in range(1, len(text)) if starts[i]), len(text)]
    return [text[a:b] for a, b in pairwise(cuts)]


def main():
    task = Segmentation()
    corpus = builtin_corpus()
    training, test = ([[w.lower() for w in s.forms] for s in part] for part in (corpus.train, corpus.test))
    print(check_task(task, [["a", "cat"], ["no"]]))
    learner = DAgger(passes=5, update=AROW())
    trained = train(learner, task.pack(training), bits=16, report=lambda p: print(f"pass {p.iteration}: {p.loss:.4f}"))
    packed = task.pack(test)
    errors, letters = trained.policy.decode(packed).losses.sum(), packed.lengths.sum()
    print(f"{1 - errors / letters:.2%} of {letters} boundaries right on new sentences")
    print(" ".join(segment(task, trained.policy, "shewantstobuythenewbook.")))


if __name__ == "__main__":
    main()
