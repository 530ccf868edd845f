"""The dependency parser: transitions, learned as an apprentice."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence, Token, corpus_hash, load_corpus
from treewright.dependency.projective import LIFTED, deprojectivize, lift_corpus, plain_label
from treewright.dependency.scores import DependencyScores, score_dependencies
from treewright.dependency.systems import TransitionSystem, find_system, system_names
from treewright.dependency.task import DependencyParsing, parsing_task
from treewright.dependency.templates import FEATURE_SETS, Templates
from treewright.dependency.trees import check_trees
from treewright.dependency.words import NOTHING_ROW, ROOT_ROW, WordTable
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.estimators import Corpus, Estimator, Running
from treewright.estimators.settings import BEAM, BITS, MIN_COUNT, SEED
from treewright.learners import Imitation, Learner, Structured, learner_rows, learner_settings, make_learner, train
from treewright.learners.checkpoints import Judge
from treewright.models import pack_strings, unpack_strings
from treewright.policies import LinearPolicy
from treewright.search import Decoded, Packed, TransitionEnvironment
from treewright.settings import Choice, Like, Real, Setting, one_of

__all__ = ["DependencyParser"]

Features = str | Sequence[str] | dict[str, Sequence[str]]

_BATCH = 20_000  # tokens decoded at a time when streaming
_MOST_WORDS = 500_000  # words kept in the table while streaming
_LIFTED_COUNT = 10  # lifted labels rarer than this are not worth a class of their own

MODE_BITS = {"accurate": 19, "fast": 20}
#: so many weights are kept, the largest: about three bytes each in the model file
MOST_WEIGHTS = {"accurate": 10_000_000, "fast": 4_000_000}
#: what a learner is given where it says nothing of these, chosen on development data
UPDATES: dict[str, dict[str, Any]] = {
    "accurate": {"name": "perceptron", "margin": 30.0},
    "fast": {"name": "perceptron", "margin": 50.0},
}
EXPLORING: dict[str, dict[str, Any]] = {"accurate": {"k": 0, "passes": 12}, "fast": {"k": 0, "passes": 20}}


def _check_features(features: Any) -> Any:
    parts = features.values() if isinstance(features, dict) else [features]
    if not isinstance(features, str) and not all(_are_texts(part) for part in parts):
        raise ValueError
    _make_templates(features, "accurate")
    return features


def _are_texts(part: Any) -> bool:
    return isinstance(part, (list, tuple)) and all(isinstance(each, str) for each in part)


class _Systems(Choice):
    """The names of transition systems, and transition systems."""

    def normal(self, value: Any) -> Any:
        """Return the system."""
        return find_system(value if isinstance(value, TransitionSystem) else super().normal(value))

    def plain(self, value: Any) -> Any:
        """Return the name of the system."""
        return value.name


SYSTEM = Setting("system", _Systems(system_names), "The transition system: how trees are built")
FEATURES = Setting(
    "features",
    Like(_check_features, "the name of a set, a list of templates, or a table of such lists, moves and labels"),
    "What is looked at: rich, basic, or templates such as 's0.w; s0.t b0.t'",
)
MODE = Setting(
    "mode",
    Choice({"accurate": "a move and its label at once", "fast": "first the move"}),
    "How transitions are chosen",
)
ORACLE = Setting(
    "oracle",
    Choice({"dynamic": "knows what every action costs in every state", "static": "knows one way"}),
    "Who says what is right",
)
LABEL_WEIGHT = Setting(
    "label_weight", Real(0, 1), "What a wrong label costs where the head is right; a wrong head costs 1"
)


class DependencyParser(Estimator):
    """Parses sentences into dependency trees, by transitions.

    Args:
        system: ``arc-standard``, ``arc-standard-buffer``, ``arc-eager``, ``arc-hybrid``, ``swap``, the name of a system
            of an installed package, or a :class:`~treewright.dependency.systems.TransitionSystem`. All but swap build
            projective trees; crossing arcs are lifted before learning and put back after parsing
            (:mod:`treewright.dependency.projective`).
        learner: a learner by name, as settings, or as an object. Unless it says otherwise it uses the averaged
            perceptron with a margin of 30 (accurate) or 50 (fast).
        features: ``rich``, ``basic`` (the lecture's Fig. 14.9), a list of templates such as ``["s0.w", "s0.t b0.w"]``,
            or lists for ``moves`` and ``labels``; see :mod:`treewright.dependency.templates`.
        mode: ``accurate`` chooses a move and its label at once; ``fast`` the move first and then the label.
        oracle: ``dynamic``, which knows what every action costs in every state, or ``static``.
        beam: how many hypotheses to keep while parsing; 1 is greedy.
        bits: the size of the table of hashed features, 2^bits rows; by default 19 (accurate) or 20 (fast).
        min_count: words rarer than this in training look like new words.
        label_weight: what a wrong label costs where the head is right; a wrong head costs 1.
        seed: the same seed gives the same model.

    >>> from treewright.corpora import builtin_corpus
    >>> train, dev, test = builtin_corpus(train=300, dev=50, test=50)
    >>> parser = DependencyParser(learner={"name": "exploration", "passes": 3}, features="basic", bits=14)
    >>> parser = parser.fit(train, dev=dev)
    >>> scores = parser.evaluate(test)
    >>> scores.las > 0.7
    True
    """

    task: ClassVar[str] = "dependency"
    settings: ClassVar[tuple[Setting, ...]] = (
        SYSTEM,
        FEATURES,
        MODE,
        ORACLE,
        BEAM,
        replace(BITS, none=f"{MODE_BITS['accurate']}, or {MODE_BITS['fast']} in the mode fast"),
        MIN_COUNT,
        LABEL_WEIGHT,
        SEED,
    )
    learners: ClassVar[tuple[type[Learner], ...]] = (Imitation, Structured)

    def __init__(
        self,
        system: str | TransitionSystem = "arc-hybrid",
        *,
        learner: str | Learner | dict[str, Any] = "exploration",
        features: Features = "rich",
        mode: str = "accurate",
        oracle: str = "dynamic",
        beam: int = 1,
        bits: int | None = None,
        min_count: int = 2,
        label_weight: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.system = system
        self.learner = learner
        self.features = features
        self.mode = mode
        self.oracle = oracle
        self.beam = beam
        self.bits = bits
        self.min_count = min_count
        self.label_weight = label_weight
        self.seed = seed

    labels_: list[str]
    root_labels_: list[int]
    word_labels_: list[int]
    vocabulary_: set[str]
    templates_: Templates
    policy_: LinearPolicy
    _table: WordTable
    _system: TransitionSystem

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        learner = self._make_learner()
        sentences = _treebank(corpus)
        dev_sentences = None if dev is None else _treebank(dev)
        corpora = {"train": corpus_hash(sentences)}
        self._learn_words(sentences)
        packed = self._pack_gold(sentences, learn_labels=True)
        evaluate = None
        if dev_sentences is not None:
            corpora["dev"] = corpus_hash(dev_sentences)
            evaluate = Judge(self._las_on(dev_sentences, running["jobs"]), corpora["dev"])
        del sentences, dev_sentences  # they are packed: what was read from a file here need not wait in memory
        trained = train(
            learner,
            packed,
            bits=self._bits,
            beam=self.beam,
            seed=self.seed,
            evaluate=evaluate,
            **running,
        )
        self.policy_, self.history_ = trained.policy.compressed(MOST_WEIGHTS[self.mode]), trained.history
        self.card_ = self._make_card(corpora, self._dev_score("dev LAS"))

    def predict(
        self, sentences: Iterable[Sentence | Sequence[str]], *, jobs: int = 1
    ) -> list[tuple[list[int], list[str]]]:
        """The heads (0 is the root) and labels of the words of each sentence, and nothing else."""
        self._check_fitted()
        return [tree for _, found in self._parse(sentences, jobs) for tree in found]

    def parse(self, sentences: Iterable[Sentence | Sequence[str]], *, jobs: int = 1) -> list[Sentence]:
        """Parse sentences (or lists of words) and return them with heads and relations filled in."""
        return list(self.parse_stream(sentences, jobs=jobs))

    def parse_stream(self, sentences: Iterable[Sentence | Sequence[str]], *, jobs: int = 1) -> Iterator[Sentence]:
        """Parse sentences as they come, some thousand words at a time: memory does not grow with their number."""
        self._check_fitted()
        for batch, found in self._parse(sentences, jobs):
            for sentence, (heads, labels) in zip(batch, found, strict=True):
                yield sentence.with_tree(heads, labels)

    def _parse(
        self, sentences: Iterable[Sentence | Sequence[str]], jobs: int
    ) -> Iterator[tuple[list[Sentence], list[tuple[list[int], list[str]]]]]:
        """Batches of sentences, each with the trees of its sentences; one is parsed while the next one is read."""
        with ThreadPoolExecutor(1, thread_name_prefix="treewright") as pool:
            waiting: tuple[list[Sentence], Future[Decoded]] | None = None
            for batch in _batches(sentences):
                packed = self._pack([s.tokens for s in batch])
                future = pool.submit(self.policy_.decode, packed, beam=self.beam, seed=self.seed, jobs=jobs)
                if waiting is not None:
                    yield waiting[0], self._named_trees(waiting[1].result())
                waiting = batch, future
            if waiting is not None:
                yield waiting[0], self._named_trees(waiting[1].result())

    def _named_trees(self, decoded: Decoded) -> list[tuple[list[int], list[str]]]:
        """The trees of final states, with the names of labels, and with lifted words back in their places."""
        heads, labels, at = self._trees(decoded)
        names = np.array(self.labels_, dtype=object)
        all_heads, all_labels = heads.tolist(), names[labels].tolist()
        trees = [(all_heads[a:b], all_labels[a:b]) for a, b in pairwise(at.tolist())]
        for i in self._lifted_sentences(labels, at):
            trees[i] = deprojectivize(*trees[i])
        return trees

    def evaluate(self, corpus: Corpus, *, jobs: int = 1) -> DependencyScores:
        """Parse a treebank and compare."""
        self._check_fitted()
        gold = _treebank(corpus)
        return score_dependencies(gold, self.parse(gold, jobs=jobs), seed=self.seed)

    def environment(
        self, corpus: Corpus, *, tradeoff: float = 0.0, initial: npt.ArrayLike | None = None
    ) -> TransitionEnvironment:
        """A treebank as an environment, for :func:`~treewright.learners.rl_training.train_rl`.

        The accuracy is the share of words that are right, a wrong label counting ``label_weight``; ``tradeoff`` is the
        price of a transition, and ``initial`` the weights to begin with, zeros unless they are given. A parser that has
        seen no treebank yet takes its words and labels from this one.
        """
        self._check_settings()
        sentences = _treebank(corpus)
        is_new = not hasattr(self, "labels_")
        if is_new:
            self._learn_words(sentences)
        packed = self._pack_gold(sentences, learn_labels=is_new)
        return TransitionEnvironment(packed, bits=self._bits, tradeoff=tradeoff, initial=initial)

    def _make_learner(self) -> Learner:
        """The learner, with what is good for parsing where it says nothing."""
        if isinstance(self.learner, Learner):
            return make_learner(self.learner, Imitation, Structured)
        settings = learner_settings(self.learner, Imitation, Structured)
        usual: dict[str, Any] = {}
        if settings["name"] in learner_rows(Imitation):  # the others have no such choices
            exploring = EXPLORING[self.mode] if settings["name"] == "exploration" else {}
            usual = {"update": UPDATES[self.mode], **exploring}
        return make_learner({**usual, **settings}, Imitation, Structured)

    def resolved_config(self) -> dict[str, Any]:
        """Return every setting as a plain value, with the learner's choices spelled out: what a model file records."""
        config = super().resolved_config()
        return {**config, "bits": self._bits}

    @property
    def _bits(self) -> int:
        return MODE_BITS[self.mode] if self.bits is None else int(self.bits)

    # ---- what is learned before the weights are

    def _learn_words(self, sentences: Sequence[Sentence]) -> None:
        """The vocabulary, the table of words, the templates, and the transition system that a name means."""
        self._system = find_system(self.system)
        counts: Counter[str] = Counter()
        for sentence in sentences:
            for form, lemma, *_ in sentence.tokens:
                counts[form.lower()] += 1
                if lemma.lower() != form.lower():
                    counts[lemma.lower()] += 1
        self.vocabulary_ = {word for word, count in counts.items() if count >= self.min_count}
        self._table = WordTable(self.vocabulary_)
        self.templates_ = _make_templates(self.features, self.mode)

    def _pack_gold(self, sentences: Sequence[Sentence], *, learn_labels: bool) -> Packed:
        """Sentences with their gold trees, made projective where the system needs it."""
        tokens = [sentence.tokens for sentence in sentences]
        at = _offsets(tokens)
        heads = np.fromiter((t.head or 0 for s in tokens for t in s), np.int32, int(at[-1]))
        labels = [t.deprel for s in tokens for t in s]
        if self._system.projective:
            heads, labels = lift_corpus(heads, labels, at, min_count=_LIFTED_COUNT)
        if learn_labels:
            # plain labels first: those with the encoding of a lift come behind them
            self.labels_ = sorted(set(labels), key=lambda label: (LIFTED in label, label))
            of_root = {label for label, head in zip(labels, heads.tolist(), strict=True) if head == 0}
            of_words = {label for label, head in zip(labels, heads.tolist(), strict=True) if head != 0}
            self.root_labels_ = [k for k, label in enumerate(self.labels_) if label in of_root]
            # where all sentences have one word, any label may do for what is not the root
            self.word_labels_ = [k for k, label in enumerate(self.labels_) if label in (of_words or of_root)]
        numbers = {label: number for number, label in enumerate(self.labels_)}
        return self._pack(tokens, heads, np.array([numbers.get(label, -1) for label in labels], np.int32))

    def _task(self) -> DependencyParsing:
        return parsing_task(self._system, self.templates_)(
            len(self.labels_),
            staged=self.mode == "fast",
            static=self.oracle == "static",
            label_weight=self.label_weight,
            root_labels=self.root_labels_,
            word_labels=self.word_labels_,
        )

    def _pack(
        self,
        tokens: Sequence[Sequence[Token]],
        heads: npt.NDArray[np.int32] | None = None,
        labels: npt.NDArray[np.int32] | None = None,
    ) -> Packed:
        """The attributes of the words between those of the root and of nothing, and the gold tree likewise."""
        if len(self._table) > _MOST_WORDS:
            self._table = WordTable(self.vocabulary_)
        at = _offsets(tokens)
        lengths = np.diff(at).astype(np.int32)
        rows = _framed(
            np.array(self._table.numbers([t for s in tokens for t in s]), np.int32), at, ROOT_ROW, NOTHING_ROW
        )
        attributes = self._table.array()[rows].reshape(-1)
        framed_at = at + 2 * np.arange(len(at))
        missing = np.full(int(at[-1]), -1, np.int32)
        flat: dict[str, Any] = {
            "attributes": attributes,
            "attributes_at": framed_at * self._table.array().shape[1],
            "gold_heads": _framed(missing if heads is None else heads, at, -1, -1),
            "gold_heads_at": framed_at,
            "gold_labels": _framed(missing if labels is None else labels, at, -1, -1),
            "gold_labels_at": framed_at,
            "prepared": np.zeros(0, np.int32),
            "prepared_at": np.zeros(len(at), np.int64),
        }
        if self._system.prepare is not None and heads is not None:
            prepared = [self._system.prepare(heads[a:b]) for a, b in pairwise(at.tolist())]
            flat |= {"prepared": np.concatenate(prepared), "prepared_at": _offsets(prepared)}
        return self._task().packed(lengths, flat)

    # ---- trees out of final states

    def _trees(self, decoded: Decoded) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """The heads and labels of all words, and where each sentence begins."""
        heads, framed_at = decoded.field("heads")
        labels, _ = decoded.field("labels")
        inner = np.ones(len(heads), np.bool_)
        inner[framed_at[:-1]] = inner[framed_at[1:] - 1] = False
        return heads[inner], labels[inner], framed_at - 2 * np.arange(len(framed_at))

    def _lifted_sentences(self, labels: npt.NDArray[np.int32], at: npt.NDArray[np.int64]) -> list[int]:
        """The sentences with a label that says that its word was lifted."""
        plain = sum(LIFTED not in label for label in self.labels_)
        words = np.flatnonzero(labels >= plain)
        return sorted(set((np.searchsorted(at, words, side="right") - 1).tolist()))

    def _las_on(self, sentences: Sequence[Sentence], jobs: int) -> Callable[[LinearPolicy], float]:
        """A function that parses with a policy and gives the LAS."""
        packed = self._pack_gold(sentences, learn_labels=False)
        gold_heads = np.array([t.head for s in sentences for t in s.tokens], np.int32)
        numbers = {label: number for number, label in enumerate(self.labels_)}
        gold_labels = np.array([numbers.get(t.deprel, -1) for s in sentences for t in s.tokens], np.int32)
        plain = np.array([numbers.get(plain_label(label), -1) for label in self.labels_])

        def las(policy: LinearPolicy) -> float:
            decoded = policy.decode(packed, beam=self.beam, seed=self.seed, jobs=jobs)
            heads, labels, at = self._trees(decoded)
            for i in self._lifted_sentences(labels, at):
                a, b = at[i], at[i + 1]
                names = [self.labels_[k] for k in labels[a:b]]
                heads[a:b] = deprojectivize(heads[a:b].tolist(), names)[0]
            right = (heads == gold_heads) & (plain[labels] == gold_labels)
            return float(right.mean())

        return las

    # ---- the model file

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        settings = {
            "labels": self.labels_,
            "root_labels": self.root_labels_,
            "word_labels": self.word_labels_,
            "moves": list(self.templates_.moves),
            "label_templates": list(self.templates_.labels),
        }
        return settings, {**self.policy_.to_arrays(), **pack_strings(sorted(self.vocabulary_), "words")}

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.labels_ = list(settings["labels"])
        self.root_labels_ = [int(k) for k in settings["root_labels"]]
        self.word_labels_ = [int(k) for k in settings["word_labels"]]
        self.templates_ = Templates(settings["moves"], settings["label_templates"])
        try:
            self._system = find_system(self.system)
        except ConfigError as error:
            raise ModelError(
                f"this model needs the transition system {self.system!r}: {error}. Install the package that has it"
            ) from error
        self.vocabulary_ = set(unpack_strings(arrays, "words"))
        self._table = WordTable(self.vocabulary_)
        self.policy_ = LinearPolicy.from_arrays(arrays)


def _make_templates(features: Features, mode: str) -> Templates:
    """Templates from the name of a set, a list of templates, or two lists by the names ``moves`` and ``labels``."""
    if isinstance(features, str):
        if features not in FEATURE_SETS:
            raise ConfigError(one_of(features, FEATURE_SETS), setting="features", value=features)
        templates = FEATURE_SETS[features]
    elif isinstance(features, dict):
        if not set(features) <= {"moves", "labels"}:
            raise ConfigError(
                f"are given for 'moves' and 'labels', not for {', '.join(map(repr, features))}",
                setting="features",
                value=features,
            )
        templates = Templates(features.get("moves", ()), features.get("labels", ()))
    else:
        templates = Templates(features)
    if mode == "fast" and not templates.labels:
        return Templates(templates.moves, FEATURE_SETS["rich"].labels)
    return templates


def _offsets(parts: Sequence[Sequence[Any]]) -> npt.NDArray[np.int64]:
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)


def _framed(values: npt.NDArray[np.int32], at: npt.NDArray[np.int64], before: int, after: int) -> npt.NDArray[np.int32]:
    """The values of each sentence with one more before and one more after them."""
    n = len(at) - 1
    framed = np.empty(len(values) + 2 * n, np.int32)
    edges = at + 2 * np.arange(n + 1)
    inner = np.ones(len(framed), np.bool_)
    inner[edges[:-1]] = inner[edges[1:] - 1] = False
    framed[inner] = values
    framed[edges[:-1]] = before
    framed[edges[1:] - 1] = after
    return framed


def _treebank(corpus: Corpus) -> list[Sentence]:
    """The sentences of a corpus, all with proper trees."""
    if isinstance(corpus, (str, os.PathLike)):
        corpus = load_corpus(corpus)
    sentences = list(corpus)
    for sentence in sentences:
        if not isinstance(sentence, Sentence):
            raise ConfigError(f"a treebank is a file or a list of Sentence objects, not of {type(sentence).__name__}")
    if not sentences:
        raise CorpusError("there is nothing to learn from or to score: no sentences")
    check_trees(sentences)
    return sentences


def _batches(sentences: Iterable[Sentence | Sequence[str]]) -> Iterator[list[Sentence]]:
    """Some thousand words at a time."""
    batch: list[Sentence] = []
    words = 0
    for sentence in sentences:
        if isinstance(sentence, str):
            raise ConfigError(
                "what is parsed is a list of sentences, each a Sentence or a list of words, such as "
                f'[["she", "can", "see"]]; {sentence!r} is not a sentence'
            )
        whole = sentence if isinstance(sentence, Sentence) else Sentence.from_words(sentence)
        batch.append(whole)
        words += len(whole)
        if words >= _BATCH:
            yield batch
            batch, words = [], 0
    if batch:
        yield batch
