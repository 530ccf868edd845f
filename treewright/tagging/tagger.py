"""The tagger: sequence labelling, learned as an apprentice."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from treewright.corpora import Sentence, corpus_hash, load_corpus
from treewright.errors import ConfigError, CorpusError
from treewright.estimators import Corpus, Estimator, Running
from treewright.learners import make_learner, train
from treewright.learners.checkpoints import Judge
from treewright.learners.imitation import Learner
from treewright.models import pack_strings, unpack_strings
from treewright.policies import LinearPolicy
from treewright.search import Packed
from treewright.settings import whole_number
from treewright.tagging.scores import TaggingScores, score_tagging
from treewright.tagging.task import SequenceLabelling
from treewright.tagging.words import WordTable

__all__ = ["Tagger"]


_BATCH = 20_000  # tokens decoded at a time when streaming
_MOST_FORMS = 500_000  # forms kept in the table while streaming


class Tagger(Estimator):
    """Labels every word of a sentence, from left to right.

    Args:
        column: the column of CoNLL-U that is learned: ``upos``, ``xpos``, ``feats``, ``deprel``, ``lemma``, …
        learner: a row of the table of imitation learners, by name, as settings, or as an object.
        bits: the size of the table of hashed features, 2^bits rows.
        beam: how many hypotheses to keep while tagging; 1 is greedy.
        min_count: words rarer than this in training are told apart by their affixes and shape only, like new words.
        seed: the same seed gives the same model.

    >>> from treewright.corpora import builtin_corpus
    >>> train, dev, test = builtin_corpus(train=300, dev=50, test=50)
    >>> tagger = Tagger(learner={"name": "exploration", "iterations": 2}, bits=14).fit(train, dev=dev)
    >>> [sentence] = tagger.tag(["she can see the can".split()])
    >>> sentence.column("upos")
    ('PRON', 'AUX', 'VERB', 'DET', 'NOUN')
    """

    task: ClassVar[str] = "tagging"

    def __init__(
        self,
        column: str = "upos",
        *,
        learner: str | Learner | dict[str, Any] = "exploration",
        bits: int = 18,
        beam: int = 1,
        min_count: int = 1,
        seed: int = 0,
    ) -> None:
        self.column = column
        self.learner = learner
        self.bits = bits
        self.beam = beam
        self.min_count = min_count
        self.seed = seed

    labels_: list[str]
    vocabulary_: dict[str, int]
    policy_: LinearPolicy
    _table: WordTable

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        learner = make_learner(self.learner)
        sentences = _sentences(corpus, self.column)
        self.labels_ = self._collect_labels(sentences)
        counts = Counter(form.lower() for sentence in sentences for form in sentence.forms)
        self.vocabulary_ = {word: count for word, count in counts.items() if count >= self.min_count}
        self._table = WordTable(self.vocabulary_)
        packed = self._pack_gold(sentences)
        corpora, evaluate = {"train": corpus_hash(sentences)}, None
        if dev is not None:
            dev_sentences = _sentences(dev, self.column)
            corpora["dev"] = corpus_hash(dev_sentences)
            evaluate = Judge(self._accuracy_on(self._pack_gold(dev_sentences), running["jobs"]), corpora["dev"])
        trained = train(learner, packed, bits=self.bits, beam=self.beam, seed=self.seed, evaluate=evaluate, **running)
        self.policy_, self.history_ = trained.policy, trained.history
        self.card_ = self._make_card(corpora, self._dev_score("dev accuracy"))

    def predict(self, sentences: Iterable[Sentence | Sequence[str]], *, jobs: int = 1) -> list[list[str]]:
        """The labels of sentences (or lists of words), and nothing else: the fastest way to have them."""
        self._check_fitted()
        return [labels for _, found in self._label(sentences, jobs) for labels in found]

    def tag(self, sentences: Iterable[Sentence | Sequence[str]], *, jobs: int = 1) -> list[Sentence]:
        """Label sentences (or lists of words) and return them with the column filled in."""
        return list(self.tag_stream(sentences, jobs=jobs))

    def tag_stream(self, sentences: Iterable[Sentence | Sequence[str]], *, jobs: int = 1) -> Iterator[Sentence]:
        """Label sentences as they come, some thousand words at a time: memory does not grow with their number."""
        self._check_fitted()
        for batch, found in self._label(sentences, jobs):
            for sentence, labels in zip(batch, found, strict=True):
                whole = sentence if isinstance(sentence, Sentence) else Sentence.from_words(sentence)
                yield whole.with_column(self.column, labels)

    def _label(
        self, sentences: Iterable[Sentence | Sequence[str]], jobs: int
    ) -> Iterator[tuple[list[Sentence | Sequence[str]], list[list[str]]]]:
        """Batches of sentences, each with the labels of its sentences."""
        names = np.array(self.labels_, dtype=object)
        for batch in _batches(sentences):
            forms = [s.forms if isinstance(s, Sentence) else s for s in batch]
            decoded = self.policy_.decode(self._pack(forms), beam=self.beam, seed=self.seed, jobs=jobs)
            numbers, at = decoded.field("labels")
            labels, edges = names[numbers].tolist(), at.tolist()
            yield batch, [labels[a:b] for a, b in pairwise(edges)]

    def evaluate(self, corpus: Corpus, *, jobs: int = 1) -> TaggingScores:
        """Label a corpus whose labels are known, and compare."""
        self._check_fitted()
        gold = _sentences(corpus, self.column)
        self._collect_labels(gold)
        return score_tagging(gold, self.tag(gold, jobs=jobs), self.column, known=self.knows, seed=self.seed)

    def knows(self, form: str) -> bool:
        """Was this word seen in training (in upper or lower case)?"""
        return form.lower() in self.vocabulary_

    def _check_settings(self) -> None:
        known = [name for name in Sentence.from_words(["x"]).tokens[0]._fields if name not in ("form", "head")]
        if self.column not in known:
            raise ConfigError(f"column cannot be {self.column!r}; it is one of: {', '.join(known)}")
        for name, least, most in (
            ("bits", 1, 30),
            ("beam", 1, 1000),
            ("min_count", 1, 2**31 - 1),
            ("seed", 0, 2**31 - 1),
        ):
            setattr(self, name, whole_number(name, getattr(self, name), least, most))

    def _collect_labels(self, sentences: Sequence[Sentence]) -> list[str]:
        labels = {getattr(token, self.column) for sentence in sentences for token in sentence.tokens}
        if not labels:
            raise CorpusError("there is nothing to learn from or to score: no sentences")
        if labels == {"_"}:
            raise CorpusError(
                f"the column {self.column} is empty (_) everywhere: is this the right column?", path=sentences[0].path
            )
        return sorted(labels)

    def _accuracy_on(self, packed: Packed, jobs: int) -> Callable[[LinearPolicy], float]:
        tokens = max(1, int(packed.lengths.sum()))

        def accuracy(policy: LinearPolicy) -> float:
            losses = policy.decode(packed, beam=self.beam, seed=self.seed, jobs=jobs).losses
            return 1.0 - float(losses.sum()) / tokens

        return accuracy

    def _pack(self, forms: Sequence[Sequence[str]], labels: Iterable[str] | None = None) -> Packed:
        """Words as rows of the table and gold labels as numbers, −1 for one that is not known."""
        if len(self._table) > _MOST_FORMS:
            self._table = WordTable(self.vocabulary_)
        lengths = np.array([len(words) for words in forms], np.int32)
        at = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
        words = np.array(self._table.numbers([form for words in forms for form in words]), np.int32)
        numbers = {label: number for number, label in enumerate(self.labels_)}
        gold = np.full(len(words), -1, np.int32)
        if labels is not None:
            gold[:] = [numbers.get(label, -1) for label in labels]
        task = SequenceLabelling(len(self.labels_), self._table.array())
        return task.packed(lengths, {"words": words, "words_at": at, "gold": gold, "gold_at": at})

    def _pack_gold(self, sentences: Sequence[Sentence]) -> Packed:
        labels = [label for sentence in sentences for label in sentence.column(self.column)]
        return self._pack([sentence.forms for sentence in sentences], labels)

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        words = sorted(self.vocabulary_)
        counts = np.array([self.vocabulary_[word] for word in words], np.int32)
        arrays = {**self.policy_.to_arrays(), **pack_strings(words, "words"), "word_counts": counts}
        return {"labels": self.labels_}, arrays

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.labels_ = list(settings["labels"])
        words = unpack_strings(arrays, "words")
        self.vocabulary_ = dict(zip(words, arrays["word_counts"].tolist(), strict=True))
        self._table = WordTable(self.vocabulary_)
        self.policy_ = LinearPolicy.from_arrays(arrays)


def _sentences(corpus: Corpus, column: str) -> Sequence[Sentence]:
    if isinstance(corpus, (str, os.PathLike)):
        return load_corpus(corpus, column=column)
    sentences = list(corpus)
    for sentence in sentences:
        if not isinstance(sentence, Sentence):
            raise ConfigError(
                "a corpus is a path or a list of Sentence objects with labels; from words and labels: "
                'Sentence.from_words(["a", "dog"]).with_column("upos", ["DET", "NOUN"])'
            )
    return sentences


def _batches(sentences: Iterable[Sentence | Sequence[str]]) -> Iterator[list[Sentence | Sequence[str]]]:
    batch: list[Sentence | Sequence[str]] = []
    tokens = 0
    for sentence in sentences:
        if not isinstance(sentence, Sentence) and (
            isinstance(sentence, str) or not all(isinstance(word, str) for word in sentence[:1])
        ):
            raise ConfigError(
                "what is labelled is a list of sentences, each a Sentence or a list of words, such as "
                f'[["she", "can", "see"]]; {sentence!r} is not a sentence'
            )
        batch.append(sentence)
        tokens += len(sentence)
        if tokens >= _BATCH:
            yield batch
            batch, tokens = [], 0
    if batch:
        yield batch
