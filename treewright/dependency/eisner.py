"""A dependency parser with exact search: Eisner's algorithm is the planner, and rewards are learned from its plans.

:class:`~treewright.dependency.DependencyParser` builds a tree by transitions. Here all projective trees of a sentence
are compared at once. The score of a tree is the sum of the scores of its labelled arcs (McDonald, Crammer & Pereira
2005), and the best tree is found in O(n³) steps (Eisner 1996) by joining *spans*, whose head is at one of their ends::

    J(i, j)   two spans that meet: i … k with the head i, and k + 1 … j with the head j
    I→(i, j)  these, joined by an arc from i to j; I← by an arc from j to i
    C→(i, j)  all that i has on its right as far as j: an arc to k, and then all that k has there; C← likewise

They are the nodes of a hypergraph (:mod:`treewright.search.hypergraph`). It also has a node for each arc, with an
incoming edge for each label. So arcs and labels are decided together in one exact plan, and any of the six methods of
:mod:`treewright.learners.irl` can learn their scores. Every projective tree with one root has exactly one derivation.
The features are in :mod:`treewright.dependency.eisner_features`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence, Token, corpus_hash
from treewright.corpora.columns import filled_columns
from treewright.dependency.arc_trace import trace_arcs
from treewright.dependency.base import DependencyEstimator
from treewright.dependency.eisner_features import SIGHT, Labels, collect_pass, score_pass, trees_pass
from treewright.dependency.treebank import (
    Arcs,
    framed,
    gold_arcs,
    las_against,
    named_trees,
    offsets,
    read_treebank,
    words_of,
)
from treewright.dependency.words import NOTHING_ROW, ROOT_ROW, word_rows
from treewright.errors import CorpusError
from treewright.estimators import Corpus, Running
from treewright.estimators.settings import BITS, MIN_COUNT, SEED
from treewright.models import pack_strings, unpack_strings
from treewright.policies import LinearPolicy
from treewright.search.forests import Batch, HypergraphPlanner, Sums, best_pass, pack_graphs
from treewright.search.hypergraph import Hypergraph
from treewright.search.running import run_shards
from treewright.settings import Setting
from treewright.tracing import Trace

if TYPE_CHECKING:
    from treewright.learners import InverseRL, Learner

__all__ = ["EisnerParser", "EisnerPlanner"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int32]

_LABEL_BITS = 4  # there are 2⁴ times as many weights for arcs as rows of labels

ONE = Labels(1, 1, 0)  # if the best label of each arc is already known


def tree_graph(n: int, labels: Labels) -> Hypergraph:
    """The forest of all projective trees of n words with one root, and all their labels.

    Its parts are the arcs from 0 (the root) … n to 1 … n with each label: (head·n + dependent − 1)·labels + label.
    """
    return _kept_tree_graph(n, labels) if n <= 128 else _tree_graph(n, labels)  # large graphs are rare: not cached


@lru_cache(maxsize=512)
def _kept_tree_graph(n: int, labels: Labels) -> Hypergraph:
    return _tree_graph(n, labels)


def _tree_graph(n: int, labels: Labels) -> Hypergraph:
    arcs, words = (n + 1) * n, np.arange(n)
    halves = arcs + 5 * n * n
    root, nothing, no_part = halves + n, halves + n + 1, arcs * labels.number

    # places, of words from 0 on, so that the root is −1; within a block, spans with the same head are neighbours
    def arc(head: Any, dependent: Any) -> Any:
        return (head + 1) * n + dependent

    def meeting(i: Any, j: Any) -> Any:
        return arcs + i * n + j

    def joined(i: Any, j: Any, left: bool) -> Any:
        return arcs + n * n + (n * n + j * n + i if left else i * n + j)

    def complete(i: Any, j: Any, left: bool) -> Any:
        return arcs + 3 * n * n + (n * n + j * n + i if left else i * n + j)

    head, dependent = (grid.reshape(-1) for grid in np.meshgrid(np.arange(-1, n), words, indexing="ij"))
    head, dependent = head[head != dependent], dependent[head != dependent]
    first = np.where(head < 0, 0, labels.word)
    count = np.where(head < 0, labels.root, labels.number - labels.word)
    i, j = np.triu_indices(n, 1)
    narrow_first = np.argsort(j - i, kind="stable")
    i, j = i[narrow_first], j[narrow_first]
    width = j - i
    # nodes, each with its fan: its left tail and its step, its right tail and its step, its part and its step, its size
    rows = [
        (arc(head, dependent), nothing, 0, nothing, 0, arc(head, dependent) * labels.number + first, 1, count),
        *((complete(words, words, left), nothing, 0, nothing, 0, no_part, 0, 1) for left in (False, True)),
    ]
    spans = [
        (meeting(i, j), complete(i, i, False), 1, complete(i + 1, j, True), 1, no_part, 0, width),
        (joined(i, j, False), meeting(i, j), 0, arc(i, j), 0, no_part, 0, 1),
        (joined(i, j, True), meeting(i, j), 0, arc(j, i), 0, no_part, 0, 1),
        (complete(i, j, False), joined(i, i + 1, False), 1, complete(i + 1, j, False), n, no_part, 0, width),
        (complete(i, j, True), complete(i, i, True), n, joined(i, j, True), 1, no_part, 0, width),
    ]
    ends = [
        (halves + words, complete(0, words, True), 0, complete(words, n - 1, False), 0, no_part, 0, 1),
        (np.array([root]), halves, 1, arc(-1, 0), 1, no_part, 0, n),
    ]
    by_span = np.stack([_table(row) for row in spans], axis=1).reshape(-1, 8)  # all nodes of a span are consecutive
    whole = np.concatenate([*map(_table, rows), by_span, *map(_table, ends)])
    fans_at = np.arange(len(whole) + 1, dtype=np.int32)
    return Hypergraph(np.ascontiguousarray(whole[:, 0]), fans_at, np.ascontiguousarray(whole[:, 1:]), nothing, no_part)


def _table(columns: tuple[Any, ...]) -> Shorts:
    return np.stack(np.broadcast_arrays(*columns), axis=-1).astype(np.int32)


_SETTINGS: dict[str, Any] = {"passes": 15, "batch": 4, "step": "constant", "normalise": False, "averaged": True}
#: defaults of learners, chosen on development data
USUAL: dict[str, dict[str, Any]] = {
    "max-margin": {**_SETTINGS, "step_size": 4.0, "margin": 150.0},
    "irl-perceptron": {**_SETTINGS, "step_size": 4.0},
    "maxent": {**_SETTINGS, "step_size": 0.1, "n_best": 50},
    "policy-matching": {**_SETTINGS, "step_size": 400.0, "temperature": 20.0},
    "mwal": {**_SETTINGS, "step_size": 0.3},
    "projection": {"passes": 100},
}

_AT_ONCE = 100  # sentences parsed at a time, because all their arcs are in memory
_LONGEST = 400  # words; longer sentences are cut, because the parsing time is cubic in the length
_LONGEST_TO_LEARN = 1000


class EisnerParser(DependencyEstimator):
    """Parses sentences into dependency trees by exact search: the projective tree with the highest score.

    Args:
        learner: a method of inverse reinforcement learning, by name, as settings, or as an object: ``max-margin``,
            ``irl-perceptron``, ``maxent``, ``policy-matching``, ``mwal``, ``projection``. The defaults of other
            settings are chosen for parsing: small batches, averaging, few passes.
        bits: the size of the table of hashed features: 2^bits weights for arcs, and 2^(bits − 4) rows of labels.
        min_count: words rarer than this in training count as unknown.
        seed: the same seed gives the same model.

    Crossing arcs are lifted before learning and put back after parsing (:mod:`treewright.dependency.projective`).
    Sentences of more than 400 words are cut into pieces and so are parsed in linear time.

    >>> from treewright.corpora import builtin_corpus
    >>> train, dev, test = builtin_corpus(train=200, dev=30, test=30)
    >>> parser = EisnerParser(learner={"name": "max-margin", "passes": 3}, bits=14).fit(train, dev=dev)
    >>> parser.evaluate(test).las > 0.8
    True
    """

    task: ClassVar[str] = "eisner"
    settings: ClassVar[tuple[Setting, ...]] = (BITS, MIN_COUNT, SEED)

    def __init__(
        self,
        *,
        learner: str | InverseRL | dict[str, Any] = "max-margin",
        bits: int = 20,
        min_count: int = 2,
        seed: int = 0,
    ) -> None:
        self.learner = learner
        self.bits = bits
        self.min_count = min_count
        self.seed = seed

    @classmethod
    def learners(cls) -> tuple[type[Learner], ...]:
        """Return the classes of supported learners."""
        from treewright.learners import InverseRL

        return (InverseRL,)

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        from treewright.learners import train_irl
        from treewright.learners.checkpoints import Judge

        learner = self._make_learner()
        sentences = read_treebank(corpus)
        _check_lengths(sentences)
        corpora, evaluate = {"train": corpus_hash(sentences)}, None
        self.vocabulary_ = words_of(sentences, self.min_count)
        planner = self._gold_planner(sentences)
        if dev is not None:
            dev_sentences = read_treebank(dev)
            corpora["dev"] = corpus_hash(dev_sentences)
            evaluate = Judge(self._las_of(dev_sentences, running["jobs"]), corpora["dev"])
        trained = train_irl(learner, planner, seed=self.seed, evaluate=evaluate, **running)
        self._keep(LinearPolicy(trained.weights.reshape(1, -1, 1)).compressed())
        self.history_ = trained.history
        self.card_ = {**self._make_card(corpora, self._dev_score("dev LAS")), "columns": filled_columns(sentences)}

    def _decode(self, batch: list[Sentence], jobs: int) -> list[Arcs]:
        return named_trees(*self._best(self._weights, [sentence.tokens for sentence in batch], jobs), self.labels_)

    def _trace(self, sentence: Sentence, gold: Sentence | None, follow: str, *, labelled: bool = True) -> Trace:
        return trace_arcs(self, sentence, gold, follow, labelled=labelled)

    def _best(self, weights: Any, sentences: Sequence[Sequence[Token]], jobs: int) -> tuple[Shorts, Shorts, Ints]:
        """The best trees of sentences: heads, labels, and the offset of each sentence.

        Long sentences are cut. Then the heads of the pieces are parsed like a sentence.
        """
        at = offsets(sentences)
        pieces = [s[k : k + _LONGEST] for s in sentences for k in range(0, len(s), _LONGEST)]
        heads, labels = self._planner(pieces).best_trees(weights, jobs)
        for i in np.flatnonzero(np.diff(at) > _LONGEST).tolist():
            own_heads, own_labels = heads[at[i] : at[i + 1]], labels[at[i] : at[i + 1]]  # views, changed below
            roots = np.flatnonzero(own_heads == 0)
            own_heads += (np.arange(len(own_heads)) // _LONGEST * _LONGEST).astype(np.int32)
            above, their_labels, _ = self._best(weights, [[sentences[i][int(k)] for k in roots]], jobs)
            own_heads[roots] = np.where(above == 0, 0, roots[above - 1] + 1)
            own_labels[roots] = their_labels
        return heads, labels, at

    def _usual(self, learner: Mapping[str, Any]) -> Mapping[str, Any]:
        return USUAL.get(learner["name"], {})

    # ---- words, labels and trees as numbers

    def _gold_planner(self, sentences: Sequence[Sentence]) -> EisnerPlanner:
        """Sentences with their trees, made projective, and the labels that are in them."""
        heads, names, _ = gold_arcs(sentences, lifted=True)
        of_root = {name for name, head in zip(names, heads.tolist(), strict=True) if head == 0}
        # if all sentences have one word, words other than the root may have any label
        of_words = {name for name, head in zip(names, heads.tolist(), strict=True) if head != 0} or of_root
        # first the labels of the root only, then those of both, then those of other words only
        self.labels_ = sorted(of_root | of_words, key=lambda name: (name in of_words, name not in of_root, name))
        self._label_counts = Labels(len(self.labels_), len(of_root), len(self.labels_) - len(of_words))
        numbers = {label: number for number, label in enumerate(self.labels_)}
        tokens = [sentence.tokens for sentence in sentences]
        return self._planner(tokens, heads, np.array([numbers[name] for name in names], np.int32))

    def _planner(
        self, tokens: Sequence[Sequence[Token]], heads: Shorts | None = None, labels: Shorts | None = None
    ) -> EisnerPlanner:
        """A planner for sentences; empty sentences are skipped."""
        tokens = [words for words in tokens if words]
        at = offsets(tokens)
        rows, table = word_rows(chain.from_iterable(tokens), self.vocabulary_)
        words = framed(rows, at, ROOT_ROW, NOTHING_ROW)
        return EisnerPlanner(np.diff(at), words, table, self._label_counts, heads, labels, bits=self.bits)

    def _las_of(self, sentences: Sequence[Sentence], jobs: int) -> Callable[[Floats], float]:
        """A function that parses with given weights and returns the LAS."""
        tokens = [sentence.tokens for sentence in sentences]
        las = las_against(sentences, self.labels_)
        return lambda weights: las(*self._best(weights.astype(np.float32), tokens, jobs))

    # ---- the model file

    def _keep(self, policy: LinearPolicy) -> None:
        """Store the weights, as the integers of the model file and as floats for computation."""
        self.policy_, self._weights = policy, policy.weights.reshape(-1).astype(np.float32)

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        settings = {
            "labels": self.labels_,
            "root_labels": self._label_counts.root,
            "first_word_label": self._label_counts.word,
        }
        return settings, {**self.policy_.to_arrays(), **pack_strings(sorted(self.vocabulary_), "words")}

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.labels_ = list(settings["labels"])
        self._label_counts = Labels(len(self.labels_), int(settings["root_labels"]), int(settings["first_word_label"]))
        self.vocabulary_ = set(unpack_strings(arrays, "words"))
        self._keep(LinearPolicy.from_arrays(arrays))


def _check_lengths(sentences: Sequence[Sentence]) -> None:
    for number, sentence in enumerate(sentences, 1):
        if len(sentence) > _LONGEST_TO_LEARN:
            raise CorpusError(
                f"sentence {number} has {len(sentence):,} words, but training compares all trees of at most "
                f"{_LONGEST_TO_LEARN:,}; split it",
                path=sentence.path,
                line=sentence.line,
            )


class EisnerPlanner(HypergraphPlanner):
    """The planner of Eisner's algorithm, for a corpus whose words are rows of a table.

    Args:
        lengths: the number of words of each sentence, at least one.
        words: the rows of all words, each sentence between those of the root and of nothing, and ``table``, the
            attributes of each (:func:`~treewright.dependency.words.word_rows`).
        labels: the number of labels, and which of them the root may have.
        heads, gold: the heads (0 is the root) and the labels of all words, if they are known: projective trees. Without
            them the planner cannot be used for training, only for :meth:`best_trees`.
        bits: the size of the table of hashed features, 2^bits weights for arcs, and 2^(bits − 4) rows of labels.
    """

    def __init__(
        self,
        lengths: Ints,
        words: Shorts,
        table: Shorts,
        labels: Labels,
        heads: Shorts | None = None,
        gold: Shorts | None = None,
        *,
        bits: int = 20,
    ) -> None:
        self.lengths, self.words, self.table, self.labels = lengths, words, table, labels
        self.at = np.concatenate([[0], np.cumsum(lengths + 2)]).astype(np.int64)
        self.arcs, self.rows = 1 << bits, 1 << max(bits - _LABEL_BITS, 0)
        self.kinds, graph = np.unique(lengths, return_inverse=True)
        parts = np.zeros(0, np.int32), np.zeros(len(lengths) + 1, np.int64)
        if heads is not None and gold is not None:
            at = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            position = np.arange(at[-1]) - np.repeat(at[:-1], lengths)
            arcs = heads.astype(np.int64) * np.repeat(lengths, lengths) + position
            parts = (arcs * labels.number + gold).astype(np.int32), at
        graphs = [] if gold is None else [tree_graph(int(n), labels) for n in self.kinds]
        super().__init__(self.arcs + self.rows * labels.number, graphs, graph.astype(np.int64), *parts)

    def score(self, θ: Any, which: Ints, at: Ints, scores: Floats) -> None:
        """Arcs with each of their labels."""
        self._score(θ, which, at, scores, np.zeros(0, np.int16))

    def _score(self, θ: Any, which: Ints, at: Ints, scores: Floats, best: npt.NDArray[np.int16]) -> None:
        # fmt: off
        score_pass(SIGHT, θ, which, at, self.at, self.words, self.table, self.labels, self.arcs, self.rows,
                   scores, best)
        # fmt: on

    def collect(self, which: Ints, at: Ints, weights: Floats, sums: Sums) -> None:
        """The features of arcs and labels."""
        # fmt: off
        collect_pass(SIGHT, which, at, self.at, self.words, self.table, self.labels, self.arcs, self.rows,
                     weights, sums)
        # fmt: on

    def best_trees(self, θ: Any, jobs: int = 1) -> tuple[Shorts, Shorts]:
        """The heads and labels of all words in the best plans.

        The best label of an arc is known before the tree, so there is one part per arc here.
        """
        heads, labels = (np.zeros(int(self.lengths.sum()), np.int32) for _ in range(2))
        words_at = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        forests = pack_graphs([tree_graph(int(n), ONE) for n in self.kinds])

        def work(first: int, last: int, control: Any, slot: int) -> None:
            for start in range(first, last, _AT_ONCE):
                which = np.arange(start, min(start + _AT_ONCE, last))
                n = self.lengths[which]
                at = np.concatenate([[0], np.cumsum((n + 1) * n + 1)]).astype(np.int64)
                scores, weights, best = np.zeros(at[-1]), np.zeros(at[-1]), np.zeros(at[-1], np.int16)
                self._score(θ, which, at, scores, best)
                none = np.zeros(0, np.int32), np.zeros(len(which) + 1, np.int64)
                batch = Batch(self.graph[which], scores, at, *none)
                best_pass(forests, batch, weights, np.zeros(len(which)))
                trees_pass(which, at, words_at, weights, best, heads, labels)

        if len(self):
            run_shards(work, len(self), jobs=jobs)
        return heads, labels
