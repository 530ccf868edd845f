"""The tagger: sequence labelling by imitation learning."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treewright.corpora import Sentence, corpus_hash
from treewright.estimators import Corpus, Running
from treewright.estimators.encoded import DEVICE, MAX_VECTORS, POLICY, VECTORS, EncodedSettings
from treewright.estimators.settings import BEAM, BITS, MIN_COUNT, SEED
from treewright.policies import LinearPolicy
from treewright.search import Packed
from treewright.settings import Setting
from treewright.tagging.base import COLUMN, TaggingEstimator
from treewright.tagging.corpus import collect_labels, count_words, labelled_corpus, words_from_arrays, words_to_arrays
from treewright.tagging.task import SequenceLabelling
from treewright.tagging.trace import trace_tags
from treewright.tagging.words import ATTRIBUTES, word_rows
from treewright.tracing import Trace

if TYPE_CHECKING:
    from treewright.estimators.mixing import Survey
    from treewright.learners import Learner, Pass
    from treewright.policies.encoders import Architecture

__all__ = ["Tagger"]


class Tagger(EncodedSettings, TaggingEstimator):
    """Labels every word of a sentence, from left to right.

    Args:
        column: the column of CoNLL-U that is learned: ``upos``, ``xpos``, ``feats``, ``deprel``, ``lemma``, …
        learner: an imitation learner, by name, as settings, or as an object.
        bits: the size of the table of hashed features, 2^bits rows.
        beam: the width of the beam in tagging; 1 is greedy.
        min_count: words rarer than this in training count as unknown: only their affixes and shape distinguish them.
        policy: ``linear``; ``small``, ``medium`` or ``large``, which encode sentences and are trained with PyTorch; or
            an :class:`~treewright.policies.encoders.Architecture`.
        vectors: for encoders: a file of fixed word vectors.
        max_vectors: for encoders: the number of vectors to read from the file.
        device: for encoders: ``auto``, ``cpu`` or ``cuda``.
        seed: the same seed gives the same model.

    >>> from treewright.corpora import builtin_corpus
    >>> train, dev, test = builtin_corpus(train=300, dev=50, test=50)
    >>> tagger = Tagger(learner={"name": "exploration", "passes": 2}, bits=14).fit(train, dev=dev)
    >>> [sentence] = tagger.tag(["she can see the can".split()])
    >>> sentence.column("upos")
    ('PRON', 'AUX', 'VERB', 'DET', 'NOUN')
    """

    task: ClassVar[str] = "tagging"
    settings: ClassVar[tuple[Setting, ...]] = (
        COLUMN,
        BITS,
        BEAM,
        MIN_COUNT,
        POLICY,
        VECTORS,
        MAX_VECTORS,
        DEVICE,
        SEED,
    )

    def __init__(
        self,
        column: str = "upos",
        *,
        learner: str | Learner | dict[str, Any] = "exploration",
        bits: int = 18,
        beam: int = 1,
        min_count: int = 1,
        policy: str | Architecture | dict[str, Any] = "linear",
        vectors: str | os.PathLike[str] | None = None,
        max_vectors: int = 100_000,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        self.column = column
        self.learner = learner
        self.bits = bits
        self.beam = beam
        self.min_count = min_count
        self.policy = policy
        self.vectors = vectors
        self.max_vectors = max_vectors
        self.device = device
        self.seed = seed

    policy_: Any
    """A :class:`~treewright.policies.LinearPolicy`, or one with an encoder."""

    @classmethod
    def learners(cls) -> tuple[type[Learner], ...]:
        """Return the classes of supported learners."""
        from treewright.learners import Imitation, Structured

        return (Imitation, Structured)

    def _check_together(self) -> None:
        self._check_policy()

    def _usual(self, learner: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._usual_for_encoders(learner) if self._is_encoded else {}

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        from treewright.learners import train
        from treewright.learners.checkpoints import Judge

        learner = self._make_learner()
        sentences = labelled_corpus(corpus, self.column)
        self.labels_ = collect_labels(sentences, self.column)
        self.vocabulary_ = count_words(sentences, self.min_count)
        if self._is_encoded:
            self._learn_inputs([sentence.forms for sentence in sentences])
        packed = self._pack_gold(sentences)
        untrained = self._untrained() if self._is_encoded else None
        corpora, evaluate = {"train": corpus_hash(sentences)}, None
        if dev is not None:
            dev_sentences = labelled_corpus(dev, self.column)
            corpora["dev"] = corpus_hash(dev_sentences)
            evaluate = Judge(self._accuracy_on(self._pack_gold(dev_sentences), running["jobs"]), corpora["dev"])
        trained = train(learner, packed, policy=untrained, **self._training_settings(), evaluate=evaluate, **running)
        self._finish(trained.policy, trained.history, corpora)

    def _training_settings(self) -> dict[str, Any]:
        return {"bits": self.bits, "beam": self.beam, "seed": self.seed}

    def _finish(self, policy: LinearPolicy, history: list[Pass], corpora: Mapping[str, str]) -> None:
        self.policy_, self.history_ = policy.compressed() if self._is_encoded else policy, history
        self.card_ = self._make_card(corpora, self._dev_score("dev accuracy"))

    # ---- learning on shards (treewright.estimators.mixing)

    def _survey(self, sentences: list[Sentence]) -> Survey:
        from treewright.estimators.mixing import Survey

        labels = frozenset(collect_labels(sentences, self.column))
        return Survey(corpus_hash(sentences), len(sentences), Counter(count_words(sentences, 1)), (labels,))

    def _adopt(self, survey: Survey) -> None:
        self.labels_ = sorted(survey.labels[0])
        self.vocabulary_ = {word: count for word, count in survey.words.items() if count >= self.min_count}

    def _pack_shard(self, sentences: list[Sentence]) -> Packed:
        return self._pack_gold(sentences)

    def _judge(self, dev: list[Sentence], jobs: int) -> Callable[[LinearPolicy], float]:
        return self._accuracy_on(self._pack_gold(dev), jobs)

    def _prepare(self, batch: Sequence[Sentence | Sequence[str]], jobs: int) -> Callable[[], list[list[str]]]:
        packed = self._pack([s.forms if isinstance(s, Sentence) else s for s in batch])
        names = np.array(self.labels_, dtype=object)

        def decode() -> list[list[str]]:
            numbers, at = self.policy_.decode(packed, beam=self.beam, seed=self.seed, jobs=jobs).field("labels")
            labels = names[numbers].tolist()
            return [labels[a:b] for a, b in pairwise(at.tolist())]

        return decode

    def _trace(self, sentence: Sentence, gold: Sentence | None, follow: str) -> Trace:
        return trace_tags(self, sentence, gold, follow)

    def _accuracy_on(self, packed: Packed, jobs: int) -> Callable[[LinearPolicy], float]:
        tokens = max(1, int(packed.lengths.sum()))

        def accuracy(policy: LinearPolicy) -> float:
            # scored by labels, as in tagging, because the losses would need another compiled pass
            labels, _ = policy.decode(packed, beam=self.beam, seed=self.seed, jobs=jobs).field("labels")
            return 1.0 - float((labels != packed.arrays.gold).sum()) / tokens

        return accuracy

    def _pack(self, forms: Sequence[Sequence[str]], labels: Iterable[str] | None = None) -> Packed:
        """Words as rows of the table and gold labels as numbers, −1 for one that is not known."""
        lengths = np.array([len(words) for words in forms], np.int32)
        at = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
        if self.inputs_ is not None and labels is None:  # an encoder does not use features
            words, table = np.zeros(int(at[-1]), np.int32), np.zeros((1, len(ATTRIBUTES)), np.int32)
        else:
            words, table = word_rows(list(chain.from_iterable(forms)), self.vocabulary_)
        gold = np.full(len(words), -1, np.int32)
        if labels is not None:
            numbers = {label: number for number, label in enumerate(self.labels_)}
            gold[:] = [numbers.get(label, -1) for label in labels]
        task = SequenceLabelling(len(self.labels_), table)
        packed = task.packed(lengths, {"words": words, "words_at": at, "gold": gold, "gold_at": at})
        return packed if self.inputs_ is None else packed.with_words(self.inputs_.read(forms))

    def _pack_gold(self, sentences: Sequence[Sentence]) -> Packed:
        labels = [label for sentence in sentences for label in sentence.column(self.column)]
        return self._pack([sentence.forms for sentence in sentences], labels)

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        if self._is_encoded:
            about, arrays = self._policy_arrays(self.policy_)
            return {"labels": self.labels_, **about}, arrays
        return {"labels": self.labels_}, {**self.policy_.to_arrays(), **words_to_arrays(self.vocabulary_)}

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.labels_ = list(settings["labels"])
        if self._is_encoded:
            self.policy_ = self._restored_policy(arrays)
            self.vocabulary_ = dict(zip(self.inputs_.words, self.inputs_.counts.tolist(), strict=True))
        else:
            self.policy_, self.vocabulary_ = LinearPolicy.from_arrays(arrays), words_from_arrays(arrays)
