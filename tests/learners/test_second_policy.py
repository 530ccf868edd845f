"""A second kind of policy: embeddings and one hidden layer, learned with NumPy. No learner and no task knows it.

It *encodes*: before the episodes of some sentences run it makes a table of what each word adds to the hidden units at
each position, and a state costs a few additions of rows. It sees the words at the task's ``positions`` and nothing
else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from tests.learners.test_structured import pack_words
from tests.toys import CUE, FORK, OPEN, Token, Track, sha
from treewright.corpora import builtin_corpus
from treewright.errors import ConfigError
from treewright.learners import DAgger, train
from treewright.policies import LearnablePolicy, Trainer
from treewright.search import Scorer, Scoring, Sizes, decode, record, trajectory
from treewright.search.examples import dense_costs
from treewright.tagging import SequenceLabelling
from treewright.tagging.task import LOWER, SUFFIX2, SUFFIX3

ROWS, UNITS = 2048, 24
Prepared = record(("table", "at", "bias", "output", "output_bias"))


class Reading(Scoring):
    """What is observed is the number of the sentence and the task's positions."""

    @staticmethod
    def observe(task, x, i, state, n, scratch):
        scratch.observed[0] = i
        count = task.positions(x, state, scratch.one)
        for k in range(count):
            scratch.observed[1 + k] = scratch.one[k]
        return 1 + count

    @staticmethod
    def score(arrays, member, size, n, scratch):
        hidden, start = scratch.sums, arrays.at[scratch.observed[0]]
        for j in range(hidden.shape[0]):
            hidden[j] = arrays.bias[j]
        for k in range(size - 1):
            position = scratch.observed[1 + k]
            if position >= 0:
                for j in range(hidden.shape[0]):
                    hidden[j] += arrays.table[start + position, k, j]
        for k in range(n):
            action = scratch.actions[k]
            total = arrays.output_bias[action]
            for j in range(hidden.shape[0]):
                if hidden[j] > np.float32(0.0):
                    total += hidden[j] * arrays.output[j, action]
            scratch.scores[k] = total

    def sizes(self, task):
        return Sizes(observed=1 + task.max_positions, sums=UNITS, one=task.max_positions)


READING = Reading()


def word_rows(packed, columns):
    """The embeddings of each word, one for each of some fields of the instances; and where sentences begin."""
    a = packed.arrays
    fields = [getattr(a, name).astype(np.int64) for name in columns]
    if columns == ("words",):  # rows of a table of what is known of words: here the form and its suffixes
        fields = [a.table[a.words, attribute].astype(np.int64) for attribute in (LOWER, SUFFIX2, SUFFIX3)]
    rows = np.stack([(31 * field + 7 * k) % ROWS for k, field in enumerate(fields)], axis=1)
    return rows, getattr(a, columns[0] + "_at")


@dataclass(frozen=True)
class Network(LearnablePolicy):
    """Embeddings of the words, by some fields of the instances, and one layer of hidden units."""

    columns: tuple[str, ...]
    parameters: Mapping[str, Any]
    block: int | None = None

    @classmethod
    def untrained(cls, task, columns, *, seed=0, **options):
        rng, d = np.random.default_rng(seed), 12
        shapes = {
            "embeddings": (ROWS, d),
            "slots": (task.max_positions, d, UNITS),
            "bias": (UNITS,),
            "output": (UNITS, task.n_actions),
            "output_bias": (task.n_actions,),
        }
        drawn = {name: (0.3 * rng.normal(size=shape)).astype(np.float32) for name, shape in shapes.items()}
        return cls(columns, drawn, **options)

    def prepare(self, packed, which):
        rows, word_at = word_rows(packed, self.columns)
        at, starts, parts = np.full(len(packed), -1, np.int64), 0, [rows[:0]]
        for i in which:
            at[i] = starts
            parts.append(rows[word_at[i] : word_at[i + 1]])
            starts += len(parts[-1])
        p = self.parameters
        words = p["embeddings"][np.concatenate(parts)].sum(axis=1)
        table = np.ascontiguousarray(np.einsum("wd,kdh->wkh", words, p["slots"]))
        return Scorer(READING, Prepared(table, at, p["bias"], p["output"], p["output_bias"]), self.mixture)

    def trainer(self, packed, update):
        return Descent(self, packed)

    def to_arrays(self):
        return {**self.parameters, "columns": np.array(self.columns)}

    @classmethod
    def from_arrays(cls, arrays):
        parameters = dict(arrays)
        return cls(tuple(parameters.pop("columns").tolist()), parameters)


class Descent(Trainer):
    """AdaGrad on −log Σ{p(a) : c(a) = 0}, in batches of examples."""

    policy_class = Network
    batch = 4

    def __init__(self, start, packed):
        self.start, self.packed = start, packed
        self.rows, self.word_at = word_rows(packed, start.columns)
        self.parameters = {name: array.copy() for name, array in start.parameters.items()}
        self.squares = {name: np.full_like(array, 1e-6) for name, array in self.parameters.items()}

    def policy(self):
        return replace(self.start, parameters=self.parameters)

    def kept(self, policy, previous):
        return replace(policy, parameters={name: array.copy() for name, array in policy.parameters.items()})

    def learn(self, examples, order, mistakes, tell):
        total, (admits, all_costs) = 0.0, dense_costs(examples, self.packed.task.n_actions)
        for first in range(0, len(order), 32):
            some = order[first : first + 32]
            words, there, hidden, scores = self.forward(examples, some)
            admissible, costs = admits[some], np.where(admits[some], all_costs[some], np.inf)
            costs -= costs.min(axis=1, keepdims=True)
            scores = np.where(admissible, scores, -np.inf)
            p = np.exp(scores - scores.max(axis=1, keepdims=True))
            right = np.where(costs == 0.0, p, 0.0)
            self.descend(words, there, hidden, p / p.sum(1, keepdims=True) - right / right.sum(1, keepdims=True))
            regret = costs[np.arange(len(some)), scores.argmax(axis=1)]
            mistakes[some] += regret > 0.0
            total += float(regret.sum())
            if tell is not None:
                tell(first + len(some))
        return total

    def credit(self, examples):
        if examples.size:
            words, there, hidden, scores = self.forward(examples, np.arange(examples.size))
            admissible, costs = dense_costs(examples, scores.shape[1])
            self.descend(words, there, hidden, np.where(admissible, costs, 0.0))

    def forward(self, examples, some):
        """The embeddings that each example looks at, whether they are there, the hidden units and the scores."""
        size = int(examples.observed_at[1])
        observed = examples.observed.reshape(-1, size)[some]
        there = observed[:, 1:] >= 0
        places = np.where(there, self.word_at[observed[:, :1]] + observed[:, 1:], 0)
        words, p = self.rows[places], self.parameters
        embedded = p["embeddings"][words].sum(axis=2) * there[:, :, None]
        hidden = np.maximum(np.einsum("ekd,kdh->eh", embedded, p["slots"]) + p["bias"], 0.0)
        return words, there, hidden, hidden @ p["output"] + p["output_bias"]

    def descend(self, words, there, hidden, by_score):
        """One step along the gradient, given that by the scores."""
        p = self.parameters
        by_hidden = (by_score @ p["output"].T) * (hidden > 0.0)
        embedded = p["embeddings"][words].sum(axis=2) * there[:, :, None]
        by_word = np.einsum("eh,kdh->ekd", by_hidden, p["slots"]) * there[:, :, None]
        by_embedding = np.zeros_like(p["embeddings"])
        np.add.at(by_embedding, words, by_word[:, :, None, :])
        gradients = {
            "embeddings": by_embedding,
            "slots": np.einsum("ekd,eh->kdh", embedded, by_hidden),
            "bias": by_hidden.sum(axis=0),
            "output": hidden.T @ by_score,
            "output_bias": by_score.sum(axis=0),
        }
        for name, gradient in gradients.items():
            self.squares[name] += (gradient**2).astype(np.float32)
            p[name] -= (0.1 * gradient / np.sqrt(self.squares[name])).astype(np.float32)

    def fresh(self):
        return Descent(self.start, self.packed)

    def settings(self):
        return {"policy": "network", "start": sha(*self.start.parameters.values())}

    def to_arrays(self):
        return {**self.parameters, **{f"squares of {name}": array for name, array in self.squares.items()}}

    def restore(self, arrays):
        self.parameters = {name: arrays[name] for name in self.parameters}
        self.squares = {name: arrays[f"squares of {name}"] for name in self.squares}


# ---- tasks that say which words matter in a state


class PlacedTrack(Track):
    """The token to label, and the one before it."""

    max_positions = 2

    @staticmethod
    def positions(x, state, out):
        out[0] = state.position[0]
        out[1] = state.position[0] - 1
        return 2


class PlacedLabelling(SequenceLabelling):
    """The word to label, and its neighbours."""

    max_positions = 5

    @staticmethod
    def positions(x, state, out):
        for k in range(5):
            i = state.position[0] + k - 2
            out[k] = i if 0 <= i < x.n else -1
        return 5


def pack_placed(sentences, part):
    """Some of the sentences, with the words and labels of all."""
    packed = pack_words(sentences)
    n, at, a = packed.lengths[part], packed.arrays.words_at, packed.arrays
    first, last = at[part.start], at[part.stop]
    fields = {"words": a.words[first:last], "gold": a.gold[first:last]}
    offsets = at[part.start : part.stop + 1] - first
    task = PlacedLabelling(packed.task.n_actions, packed.task.table)
    return task.packed(n, {**fields, "words_at": offsets, "gold_at": offsets})


@pytest.fixture(scope="module")
def track():
    """Tokens that can be labelled by what they are."""
    rng = np.random.default_rng(5)
    kinds, values = rng.choice([CUE, OPEN, FORK], (40, 5)), rng.integers(0, 3, (40, 5))
    sentences = [
        [Token(int(k), int(v), 1 + int(v)) for k, v in zip(*both, strict=True)]
        for both in zip(kinds, values, strict=True)
    ]
    return PlacedTrack().pack(sentences).plain()  # compiled code is tested with tagging


@pytest.fixture(scope="module")
def tagging():
    """The words of the built-in corpus, to learn from and held out."""
    training, held_out, _ = builtin_corpus(train=120, dev=40, test=1)
    return pack_placed([*training, *held_out], slice(0, 120)), pack_placed([*training, *held_out], slice(120, 160))


@pytest.fixture(scope="module")
def few():
    """A few sentences to tag."""
    return pack_placed(builtin_corpus(train=6, dev=1, test=1)[0], slice(0, 6))


def network(packed, seed=0, **options):
    columns = ("words",) if isinstance(packed.task, SequenceLabelling) else ("kind", "value")
    return Network.untrained(packed.task, columns, seed=seed, **options)


LEARNERS = ["supervised", "dagger", "exploration", "v-dagger"]


@pytest.mark.parametrize("learner", [*LEARNERS, "lols", "aggravate"])
def test_it_learns_a_toy_task(track, learner):
    trained = train({"name": learner, "passes": 6}, track, policy=network(track))
    tokens = track.lengths.sum()
    assert decode(track, network(track)).losses.sum() / tokens > 0.5
    assert trained.policy.decode(track).losses.sum() / tokens < 0.05
    assert trained.history[-1].loss < trained.history[0].loss


@pytest.mark.parametrize("learner", ["early-update", "max-violation"])
def test_it_learns_with_a_beam(track, learner):
    trained = train({"name": learner, "passes": 8}, track, beam=3, policy=network(track))
    assert trained.policy.decode(track, beam=3).losses.sum() / track.lengths.sum() < 0.1
    assert trained.history[-1].examples < trained.history[0].examples


@pytest.mark.jit
@pytest.mark.parametrize("learner", LEARNERS)
def test_it_learns_to_tag(tagging, learner):
    training, held_out = tagging
    policy = train({"name": learner, "passes": 4}, training, policy=network(training)).policy
    majority = np.bincount(training.arrays.gold).argmax()
    baseline = float((held_out.arrays.gold == majority).mean())
    accuracy = 1.0 - policy.decode(held_out).losses.sum() / held_out.lengths.sum()
    assert baseline < 0.35
    assert accuracy > 0.7


@pytest.mark.parametrize("learner", LEARNERS)
def test_one_seed_gives_one_result_whatever_the_number_of_threads(track, learner):
    def trained(**options):
        policy = network(track, seed=options.pop("start", 0))
        trained = train({"name": learner, "passes": 2}, track, policy=policy, **{"seed": 3, **options})
        return sha(*trained.policy.parameters.values())

    first = trained()
    assert trained() == trained(jobs=3) == first
    assert len({first, trained(seed=4), trained(start=1)}) == 3


def test_sentences_may_be_prepared_in_blocks(track):
    whole, blocks = (train(DAgger(passes=2), track, policy=network(track, block=block)) for block in (None, 3))
    assert sha(*whole.policy.parameters.values()) == sha(*blocks.policy.parameters.values())
    for options in ({}, {"beam": 2}, {"jobs": 2}):
        decoded = [decode(track, trained.policy, **options) for trained in (whole, blocks)]
        np.testing.assert_array_equal(decoded[0].states, decoded[1].states)


@pytest.mark.parametrize("learner", LEARNERS)
def test_resumed_training_is_the_same_to_the_bit(track, learner, tmp_path):
    def trained(iterations, **options):
        evaluate = lambda policy: -float(policy.decode(track).losses.sum())  # noqa: E731
        settings = {"name": learner, "passes": iterations}
        return train(settings, track, policy=network(track), evaluate=evaluate, **options)

    whole = trained(4)
    trained(2, checkpoint=tmp_path)
    reported = []
    resumed = trained(4, checkpoint=tmp_path, resume=True, report=reported.append)
    assert [row.iteration for row in reported] == [3, 4]
    assert sha(*resumed.policy.parameters.values()) == sha(*whole.policy.parameters.values())
    assert [replace(row, seconds=0.0) for row in resumed.history] == [
        replace(row, seconds=0.0) for row in whole.history
    ]
    with pytest.raises(ConfigError, match="start"):
        train(learner, track, policy=network(track, seed=1), checkpoint=tmp_path, resume=True)


@pytest.mark.jit
def test_compiled_and_interpreted_code_do_the_same_to_the_bit(few):
    for learner in ("exploration", "v-dagger", "dagger"):
        trained = [train({"name": learner, "passes": 2}, some, policy=network(some)) for some in (few, few.plain())]
        assert sha(*trained[0].policy.parameters.values()) == sha(*trained[1].policy.parameters.values())
        policy = trained[0].policy
        for options in ({}, {"beam": 3}):
            one, other = (decode(some, policy, **options) for some in (few, few.plain()))
            np.testing.assert_array_equal(one.states, other.states)
            np.testing.assert_array_equal(one.losses, other.losses)
        assert trajectory(few, 1, policy).actions == trajectory(few.plain(), 1, policy).actions


def test_policies_that_cannot_be_mixed_are_not_for_searn(track):
    with pytest.raises(ConfigError, match="Descent cannot mix policies"):
        train("searn", track, policy=network(track))


def test_a_linear_policy_still_learns_the_same_task(track):
    """It looks at features where the network looks at positions."""
    policy = train({"name": "dagger", "passes": 4}, track, bits=10).policy
    assert policy.decode(track).losses.sum() == 0.0
