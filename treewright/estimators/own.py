"""A base class of estimators for your own tasks; models are saved with the labels and tables of the task.

A subclass defines how sentences become the input of the task, and how a final state becomes annotation. This class does
the rest: learning with any imitation learner, annotating in batches and threads, scores, and the model file. The name
of the task is ``module:Class``, by which :func:`treewright.load` and the command line find the class; see
``docs/own-task.md`` for an example.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence, corpus_hash
from treewright.errors import CorpusError
from treewright.estimators.base import Estimator, Running
from treewright.estimators.corpus import Corpus, read_corpus
from treewright.estimators.settings import BEAM, BITS, SEED
from treewright.learners import Imitation, Learner, Structured, train
from treewright.learners.checkpoints import Judge
from treewright.metrics import Comparison, bootstrap_interval, compare
from treewright.policies import LinearPolicy
from treewright.search import Packed, Task
from treewright.settings import Setting

__all__ = ["LossScores", "TaskEstimator"]


@dataclass(frozen=True)
class LossScores:
    """The score of an annotation, 1 − loss / words, and its 95 % interval."""

    accuracy: float
    interval: tuple[float, float]
    loss: float
    words: int
    sentences: int

    name: ClassVar[str] = "1 − loss / words"

    @property
    def main(self) -> float:
        """1 − loss / words, at least 0."""
        return self.accuracy

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as plain values."""
        return asdict(self)


class TaskEstimator(Estimator[LossScores]):
    """The base class of estimators for your own tasks. A subclass has these methods:

    * ``learn(sentences)`` prepares training: it returns a dictionary of plain values (labels) and one of arrays
      (tables). Both become part of the model file.
    * ``make_task(values, arrays)`` returns the task.
    * ``item(sentence, gold)`` returns the argument of the task's ``encode``, with the gold answer if ``gold``.
    * ``annotated(sentence, state)`` returns the sentence with the annotation of the final state. ``state`` has the
      fields that the task declares.

    Args:
        learner: a learner by name, as settings, or as an object.
        bits: the size of the table of hashed features, 2^bits rows.
        beam: the width of the beam; 1 is greedy.
        seed: the same seed gives the same model.
    """

    settings: ClassVar[tuple[Setting, ...]] = (BITS, BEAM, SEED)

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "task" not in cls.__dict__:
            cls.task = cls.annotates = f"{cls.__module__}:{cls.__qualname__}"

    def __init__(
        self,
        *,
        learner: str | Learner | dict[str, Any] = "exploration",
        bits: int = 18,
        beam: int = 1,
        seed: int = 0,
    ) -> None:
        self.learner = learner
        self.bits = bits
        self.beam = beam
        self.seed = seed

    policy_: LinearPolicy
    values_: dict[str, Any]
    """The plain values from ``learn``."""
    arrays_: dict[str, npt.NDArray[Any]]
    """The arrays from ``learn``."""

    # ---- defined by subclasses

    def learn(self, sentences: Sequence[Sentence]) -> tuple[Mapping[str, Any], Mapping[str, npt.NDArray[Any]]]:
        """Return the plain values and the arrays that the task needs, learned from a corpus."""
        return {}, {}

    def make_task(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Task:
        """Return the task."""
        raise NotImplementedError

    def item(self, sentence: Sentence, gold: bool) -> Any:
        """Return the argument of the task's ``encode``."""
        raise NotImplementedError

    def annotated(self, sentence: Sentence, state: Any) -> Sentence:
        """Return the sentence with the annotation of a final state."""
        raise NotImplementedError

    # ---- the interface of estimators

    @classmethod
    def learners(cls) -> tuple[type[Learner], ...]:
        """Return the classes of supported learners."""
        return (Imitation, Structured)

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        learner = self._make_learner()
        sentences = read_corpus(corpus)
        dev_sentences = None if dev is None else read_corpus(dev)
        corpora, evaluate = {"train": corpus_hash(sentences)}, None
        values, arrays = self.learn(sentences)
        self.values_, self.arrays_ = dict(values), dict(arrays)
        if dev_sentences is not None:
            corpora["dev"] = corpus_hash(dev_sentences)
            evaluate = Judge(self._score_on(self._packed(dev_sentences, gold=True), running["jobs"]), corpora["dev"])
        packed = self._packed(sentences, gold=True)
        trained = train(learner, packed, bits=self.bits, beam=self.beam, seed=self.seed, evaluate=evaluate, **running)
        self.policy_, self.history_ = trained.policy, trained.history
        self.card_ = self._make_card(corpora, self._dev_score("dev score"))

    def _packed(self, sentences: Sequence[Sentence], *, gold: bool) -> Packed:
        task = self.make_task(self.values_, self.arrays_)
        return task.pack([self.item(sentence, gold) for sentence in sentences])

    def _score_on(self, packed: Packed, jobs: int) -> Callable[[LinearPolicy], float]:
        words = max(1, int(packed.lengths.sum()))
        return lambda policy: 1.0 - float(self._losses(policy, packed, jobs).sum()) / words

    def _losses(self, policy: LinearPolicy, packed: Packed, jobs: int) -> npt.NDArray[np.float64]:
        losses: npt.NDArray[np.float64] = policy.decode(packed, beam=self.beam, seed=self.seed, jobs=jobs).losses
        return losses

    def _prepare(self, batch: list[Sentence], jobs: int) -> Callable[[], list[Sentence]]:
        packed = self._packed(batch, gold=False)

        def decode() -> list[Sentence]:
            decoded = self.policy_.decode(packed, beam=self.beam, seed=self.seed, jobs=jobs)
            return [self.annotated(sentence, decoded.state(i)) for i, sentence in enumerate(batch)]

        return decode

    def _gold(self, corpus: Corpus) -> list[Sentence]:
        return read_corpus(corpus)

    def _analysed(self, gold: Sequence[Sentence], jobs: int) -> Any:
        """The number of words of each sentence minus its loss, and the number of words; only losses are compared."""
        packed = self._packed(gold, gold=True)
        words = packed.lengths.astype(np.float64)
        return np.stack([words - self._losses(self.policy_, packed, jobs), words], 1)

    def _score(self, gold: Sequence[Sentence], predicted: Any, **options: Any) -> LossScores:
        kept, words = predicted.sum(axis=0)
        if not words:
            raise CorpusError("there is nothing to score: no words", path=gold[0].path)
        interval = bootstrap_interval(predicted[:, 0].tolist(), predicted[:, 1].tolist(), seed=self.seed)
        return LossScores(
            max(0.0, float(kept / words)),
            (float(interval.low), float(interval.high)),
            float(words - kept),
            int(words),
            len(gold),
        )

    def _compare(self, gold: Sequence[Sentence], a: Any, b: Any, **options: Any) -> Comparison:
        filled = a[:, 1] > 0
        return compare(a[filled], b[filled], measure=LossScores.name, **options)

    def _count_by_sentence(self, gold: Sequence[Sentence], predicted: Any, **options: Any) -> npt.NDArray[np.float64]:
        counts: npt.NDArray[np.float64] = predicted[predicted[:, 1] > 0]
        return counts

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        own = {f"own.{name}": array for name, array in self.arrays_.items()}
        return {"values": self.values_}, {**self.policy_.to_arrays(), **own}

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.values_ = dict(settings["values"])
        self.arrays_ = {name.removeprefix("own."): a for name, a in arrays.items() if name.startswith("own.")}
        self.policy_ = LinearPolicy.from_arrays(arrays)
