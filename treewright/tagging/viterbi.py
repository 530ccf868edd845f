"""A tagger with exact search: the Viterbi algorithm is the planner, and rewards are learned from its plans.

:class:`~treewright.tagging.Tagger` decides word by word and learns the consequences of each decision. Here all
labellings of a sentence are compared at once. Labels are scored individually (*emissions*: features of the word and its
neighbours, crossed with the label) and in pairs (*transitions*), where the boundary of the sentence is a neighbour of
the first and the last. The best labelling is found by dynamic programming, and any of the six methods of
:mod:`treewright.learners.irl` can learn the scores, because they need only a planner. With ``maxent`` and ``n_best=0``
this is a conditional random field (Lafferty, McCallum & Pereira 2001), with ``max-margin`` a max-margin Markov network
(Taskar, Guestrin & Koller 2003), with ``irl-perceptron`` the structured perceptron of Collins (2002).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence, corpus_hash
from treewright.estimators import Corpus, Running
from treewright.estimators.settings import BITS, MIN_COUNT, SEED
from treewright.policies import LinearPolicy
from treewright.search.compiling import kernel
from treewright.search.forests import HypergraphPlanner, Sums, add
from treewright.search.hashing import mix
from treewright.search.hypergraph import Hypergraph, fan
from treewright.search.running import run_shards
from treewright.settings import Setting, Whole
from treewright.tagging.base import COLUMN, TaggingEstimator
from treewright.tagging.corpus import collect_labels, count_words, labelled_corpus, words_from_arrays, words_to_arrays
from treewright.tagging.trace import trace_plan
from treewright.tagging.words import ATTRIBUTES, word_rows
from treewright.tracing import Trace

if TYPE_CHECKING:
    from treewright.learners import InverseRL, Learner

__all__ = ["ViterbiPlanner", "ViterbiTagger"]

Int = Any  # an integer of NumPy or Numba, of any width
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int32]

#: the features of a word, of its neighbours (``-1.lower``: the word before), and crosses of two: the features of
#: :class:`~treewright.tagging.SequenceLabelling` without labels
SEEN = tuple(
    feature.strip()
    for feature in """
    form · lower · suffix1 · suffix2 · suffix3 · suffix4 · suffix5 · prefix1 · prefix2 · prefix3 · prefix4
    shape · shape suffix2 · shape -1.shape · shape +1.shape · -1.lower · -2.lower · +1.lower · +2.lower
    -1.suffix3 · +1.suffix3 · +1.suffix2 · lower -1.lower · lower +1.lower · lower -1.suffix3 · lower +1.suffix3
    -1.lower +1.lower
    """.replace("\n", "·").split("·")
    if feature.strip()
)
FEATURES = 1 + len(SEEN)  # and one for the label alone


def _atoms() -> Shorts:
    """A row for each feature: the offset of the first word and its attribute, and the same for the second, or −1."""
    rows = []
    for feature in SEEN:
        row = [0, -1, 0, -1]
        for k, atom in enumerate(feature.split()):
            place, _, name = atom.rpartition(".")
            row[2 * k : 2 * k + 2] = int(place or 0), ATTRIBUTES.index(name)
        rows.append(row)
    return np.array(rows, np.int32)


ATOMS = _atoms()
_AT_ONCE = 100  # sentences labelled at a time, because all their parts are in memory

ORDER = Setting("order", Whole(0, 1), "1: score pairs of neighbouring labels; 0: do not")

_SETTINGS: dict[str, Any] = {"passes": 15, "batch": 4, "step": "constant", "normalise": False, "averaged": True}
#: defaults of learners, chosen on development data
USUAL: dict[str, dict[str, Any]] = {
    "max-margin": {**_SETTINGS, "step_size": 4.0, "margin": 40.0},
    "irl-perceptron": {**_SETTINGS, "step_size": 4.0},
    "maxent": {**_SETTINGS, "step_size": 1.0, "n_best": 0},
    "policy-matching": {**_SETTINGS, "step_size": 40.0, "temperature": 5.0},
    "mwal": {**_SETTINGS, "step_size": 0.05},
    "projection": {"passes": 100},
}


class ViterbiTagger(TaggingEstimator):
    """Labels the words of a sentence by exact search: the labelling with the highest score.

    Args:
        column: the column of CoNLL-U that is learned: ``upos``, ``xpos``, ``feats``, ``deprel``, ``lemma``, …
        learner: a method of inverse reinforcement learning, by name, as settings, or as an object: ``max-margin``,
            ``irl-perceptron``, ``maxent``, ``policy-matching``, ``mwal``, ``projection``. The defaults of other
            settings are chosen for tagging: small batches, averaging, few passes.
        bits: the size of the table of hashed features, 2^bits rows with a weight for each label.
        order: 1 scores pairs of neighbouring labels; 0 does not, so that each word is labelled independently.
        min_count: words rarer than this in training count as unknown: only their affixes and shape distinguish them.
        seed: the same seed gives the same model.

    >>> from treewright.corpora import builtin_corpus
    >>> train, dev, test = builtin_corpus(train=300, dev=50, test=50)
    >>> tagger = ViterbiTagger(learner={"name": "max-margin", "passes": 3}, bits=12).fit(train, dev=dev)
    >>> tagger.labels(["she can see the can".split()])
    [['PRON', 'AUX', 'VERB', 'DET', 'NOUN']]
    """

    task: ClassVar[str] = "viterbi"
    settings: ClassVar[tuple[Setting, ...]] = (COLUMN, BITS, ORDER, MIN_COUNT, SEED)

    def __init__(
        self,
        column: str = "upos",
        *,
        learner: str | InverseRL | dict[str, Any] = "max-margin",
        bits: int = 18,
        order: int = 1,
        min_count: int = 1,
        seed: int = 0,
    ) -> None:
        self.column = column
        self.learner = learner
        self.bits = bits
        self.order = order
        self.min_count = min_count
        self.seed = seed

    policy_: LinearPolicy

    @classmethod
    def learners(cls) -> tuple[type[Learner], ...]:
        """Return the classes of supported learners."""
        from treewright.learners import InverseRL

        return (InverseRL,)

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        from treewright.learners import train_irl
        from treewright.learners.checkpoints import Judge

        learner = self._make_learner()
        sentences = labelled_corpus(corpus, self.column)
        self.labels_ = collect_labels(sentences, self.column)
        self.vocabulary_ = count_words(sentences, self.min_count)
        corpora, evaluate = {"train": corpus_hash(sentences)}, None
        if dev is not None:
            dev_sentences = labelled_corpus(dev, self.column)
            corpora["dev"] = corpus_hash(dev_sentences)
            evaluate = Judge(self._accuracy_of(dev_sentences, running["jobs"]), corpora["dev"])
        trained = train_irl(
            learner,
            self._planner([s.forms for s in sentences], [s.column(self.column) for s in sentences]),
            seed=self.seed,
            evaluate=evaluate,
            **running,
        )
        self._keep(LinearPolicy(trained.weights.reshape(1, -1, 1)).compressed())
        self.history_ = trained.history
        self.card_ = self._make_card(corpora, self._dev_score("dev accuracy"))

    def _decode(self, batch: Sequence[Sentence | Sequence[str]], jobs: int) -> list[list[str]]:
        forms = [s.forms if isinstance(s, Sentence) else s for s in batch]
        names = np.array(self.labels_, dtype=object)
        labels = names[self._planner(forms).best_labels(self._weights, jobs)].tolist()
        return [labels[a:b] for a, b in pairwise(np.cumsum([0, *map(len, forms)]).tolist())]

    def _trace(self, sentence: Sentence, gold: Sentence | None, follow: str) -> Trace:
        return trace_plan(self, sentence, gold, follow)

    def _usual(self, learner: Mapping[str, Any]) -> Mapping[str, Any]:
        return USUAL.get(learner["name"], {})

    def _accuracy_of(self, sentences: Sequence[Sentence], jobs: int) -> Callable[[Floats], float]:
        """A function that labels with given weights and returns the accuracy."""
        planner = self._planner([sentence.forms for sentence in sentences])
        numbers = {label: number for number, label in enumerate(self.labels_)}
        gold = np.array([numbers.get(label, -1) for s in sentences for label in s.column(self.column)])
        return lambda weights: int((planner.best_labels(weights, jobs) == gold).sum()) / max(1, len(gold))

    def _planner(self, forms: Sequence[Sequence[str]], labels: Sequence[Sequence[str]] | None = None) -> ViterbiPlanner:
        """Words as rows of a table, and gold labels as numbers; empty sentences are skipped."""
        lengths = np.array([len(words) for words in forms if len(words)], np.int64)
        words, table = word_rows(list(chain.from_iterable(forms)), self.vocabulary_)
        numbers = {label: number for number, label in enumerate(self.labels_)}
        gold = None if labels is None else np.array([numbers[label] for row in labels for label in row], np.int32)
        return ViterbiPlanner(lengths, words, table, len(self.labels_), gold, bits=self.bits, order=self.order)

    def _keep(self, policy: LinearPolicy) -> None:
        """Store the weights, as the integers of the model file and as floats for computation."""
        self.policy_, self._weights = policy, policy.weights.reshape(-1).astype(np.float32)

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"labels": self.labels_}, {**self.policy_.to_arrays(), **words_to_arrays(self.vocabulary_)}

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.labels_, self.vocabulary_ = list(settings["labels"]), words_from_arrays(arrays)
        self._keep(LinearPolicy.from_arrays(arrays))


class ViterbiPlanner(HypergraphPlanner):
    """The planner of sequence labelling, for a corpus whose words are rows of a table.

    Args:
        lengths: the number of words of each sentence, at least one.
        words: the rows of all words, and ``table``, the attributes of each
            (:func:`~treewright.tagging.words.word_rows`).
        labels: the number of labels.
        gold: the labels of all words, if they are known.
        bits, order: as of the tagger.

    The weights are the weights of transitions, if any, and then a table of 2^bits rows, one weight per label.
    """

    def __init__(
        self,
        lengths: Ints,
        words: Shorts,
        table: Shorts,
        labels: int,
        gold: Shorts | None = None,
        *,
        bits: int = 18,
        order: int = 1,
    ) -> None:
        self.lengths, self.labels = lengths, labels
        self.at = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.pairs = labels * (labels + 2) if order else 0
        rows = 1 << bits
        self.rows = np.empty((len(words), FEATURES), np.int32)
        rows_pass(ATOMS, words, self.at, table, rows - 1, self.rows)
        kinds, graph = np.unique(lengths, return_inverse=True)
        anchors = gold_parts = np.zeros(0, np.int32), np.zeros(len(lengths) + 1, np.int64)
        if gold is not None:
            emissions = self.pairs + (np.arange(len(words)) - np.repeat(self.at[:-1], lengths)) * labels + gold
            anchors = gold_parts = emissions.astype(np.int32), self.at
            if order:
                gold_parts = _with_transitions(emissions, gold, self.at, labels)
        graphs = [labelling_graph(int(n), labels, order) for n in kinds]
        super().__init__(self.pairs + rows * labels, graphs, graph.astype(np.int64), *gold_parts, anchors=anchors)

    def score(self, θ: Any, which: Ints, at: Ints, scores: Floats) -> None:
        """Emissions and transitions."""
        score_pass(θ, which, at, self.at, self.rows, self.labels, self.pairs, scores)

    def collect(self, which: Ints, at: Ints, weights: Floats, sums: Sums) -> None:
        """The features of emissions and transitions."""
        collect_pass(which, at, self.at, self.rows, self.labels, self.pairs, weights, sums)

    def best_labels(self, θ: Any, jobs: int = 1) -> Ints:
        """The numbers of the labels of all words in the best plans."""
        found = np.zeros(len(self.rows), np.int64)

        def work(first: int, last: int, control: Any, slot: int) -> None:
            for start in range(first, last, _AT_ONCE):
                which = np.arange(start, min(start + _AT_ONCE, last))
                at, weights = self.best_parts(θ, which)
                labels_pass(which, at, self.at, self.labels, self.pairs, weights, found)

        if len(self):
            run_shards(work, len(self), jobs=jobs)
        return found


def labelling_graph(n: int, labels: int, order: int = 1) -> Hypergraph:
    """The forest of all labellings of n words.

    Its parts are pairs of labels (that of the second word times ``labels``, plus that of the first; then those that
    begin a sentence, and those that end it), if ``order`` is 1, and then the labels of each word. A word has two nodes
    per label: one is built from any label of the word before, and the other adds the word itself.
    """
    return _kept_graph(n, labels, order) if n <= 128 else _labelling_graph(n, labels, order)


@lru_cache(maxsize=256)
def _kept_graph(n: int, labels: int, order: int) -> Hypergraph:
    return _labelling_graph(n, labels, order)


def _labelling_graph(n: int, labels: int, order: int) -> Hypergraph:
    K, y = labels, np.arange(labels)
    if not order:  # one node a word
        words = np.arange(n)
        fans = fan(np.where(words, words - 1, n), 0, n, 0, words * K, 1, K)
        return Hypergraph(words.astype(np.int32), np.arange(n + 1, dtype=np.int32), fans, n, n * K)
    begin, end, emit = K * K, K * K + K, K * K + 2 * K
    nothing, i = n * 2 * K + 1, np.arange(n)[:, None]  # the root is the node before that
    entered, labelled = i * 2 * K + y, i * 2 * K + K + y
    enter = fan(labelled[:-1, :1], 1, nothing, 0, y * K, 1, K) if n > 1 else np.zeros((0, K, 7), np.int32)
    first = fan(nothing, 0, nothing, 0, begin + y, 0, 1)[None]
    label = fan(entered, 0, nothing, 0, emit + i * K + y, 0, 1)
    finish = fan(labelled[-1, :1], 1, nothing, 0, end, 1, K)
    fans = np.stack([np.concatenate([first, enter]), label], axis=1).reshape(-1, 7)
    nodes = np.arange(nothing, dtype=np.int32)
    return Hypergraph(
        nodes, np.arange(nothing + 1, dtype=np.int32), np.concatenate([fans, finish]), nothing, emit + n * K
    )


def _with_transitions(emissions: Ints, gold: Shorts, at: Ints, labels: int) -> tuple[Shorts, Ints]:
    """The parts of each sentence: its emissions, its n − 1 pairs, and the labels that begin and end it."""
    parts, K, numbers = [np.zeros(0, np.int64)], labels, gold.astype(np.int64)
    for a, b in pairwise(at.tolist()):
        own = numbers[a:b]
        parts += [emissions[a:b], own[1:] * K + own[:-1], np.array([K * K + own[0], K * K + K + own[-1]])]
    return np.concatenate(parts).astype(np.int32), 2 * at + np.arange(len(at))


# ---- kernels


@kernel
def rows_pass(atoms: Any, words: Any, at: Any, table: Any, last: Int, out: Any) -> None:
    """The rows of the weights of each word: a row for all words, and then one for each feature."""
    for s in range(at.shape[0] - 1):
        for i in range(at[s], at[s + 1]):
            out[i, 0] = mix(1, 0) & last
            for k in range(atoms.shape[0]):
                h = k + 2
                for a in range(0, 4, 2):
                    if atoms[k, a + 1] >= 0:
                        j = i + atoms[k, a]
                        word = np.int64(words[j]) if at[s] <= j < at[s + 1] else np.int64(0)
                        h = mix(h, table[word, atoms[k, a + 1]])
                out[i, k + 1] = h & last


@kernel
def score_pass(θ: Any, which: Any, at: Any, words_at: Any, rows: Any, labels: Int, pairs: Int, scores: Any) -> None:
    """The scores of all parts of sentences: weights of pairs as they are, and of labels the sums of their features'."""
    for s in range(which.shape[0]):
        out = scores[at[s] : at[s + 1]]
        for p in range(pairs):
            out[p] = np.float64(θ[p])
        place = np.int64(pairs)
        for i in range(words_at[which[s]], words_at[which[s] + 1]):
            for k in range(rows.shape[1]):
                row = np.int64(pairs) + np.int64(rows[i, k]) * labels
                for y in range(labels):
                    out[place + y] += np.float64(θ[row + y])
            place += labels


@kernel
def collect_pass(
    which: Any, at: Any, words_at: Any, rows: Any, labels: Int, pairs: Int, weights: Any, sums: Sums
) -> None:
    """Add the features of all parts of sentences, multiplied by their weights."""
    for s in range(which.shape[0]):
        own = weights[at[s] : at[s + 1]]
        for p in range(pairs):
            if own[p] != 0.0:
                add(sums, p, own[p])
        place = np.int64(pairs)
        for i in range(words_at[which[s]], words_at[which[s] + 1]):
            for y in range(labels):
                if own[place + y] != 0.0:
                    for k in range(rows.shape[1]):
                        add(sums, np.int64(pairs) + np.int64(rows[i, k]) * labels + y, own[place + y])
            place += labels


@kernel
def labels_pass(which: Any, at: Any, words_at: Any, labels: Int, pairs: Int, weights: Any, found: Any) -> None:
    """The labels whose parts have a weight."""
    for s in range(which.shape[0]):
        place = at[s] + np.int64(pairs)
        for i in range(words_at[which[s]], words_at[which[s] + 1]):
            for y in range(labels):
                if weights[place + y] != 0.0:
                    found[i] = y
            place += labels
