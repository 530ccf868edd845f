"""The base class of estimators that fill columns by choosing one of the candidates of each word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence, corpus_hash
from treewright.corpora.columns import Columns
from treewright.errors import CorpusError
from treewright.estimators import Corpus, Estimator, Running, read_corpus
from treewright.estimators.settings import BEAM, BITS, SEED
from treewright.metrics import Comparison
from treewright.policies import LinearPolicy
from treewright.search import Packed
from treewright.settings import Setting
from treewright.text.scores import ColumnScores, compare_columns, count_columns, score_columns

if TYPE_CHECKING:
    from treewright.learners import Learner

__all__ = ["CHOICE_SETTINGS", "CandidateEstimator", "learn_choices", "usual_choices"]

CHOICE_SETTINGS: tuple[Setting, ...] = (BITS, BEAM, SEED)


def usual_choices(learner: Mapping[str, Any], passes: int, r: float) -> Mapping[str, Any]:
    """The defaults of imitation learners: AROW with few passes, chosen on development data."""
    from treewright.learners import Imitation, learner_rows

    if learner["name"] not in learner_rows(Imitation):
        return {}
    return {"update": {"name": "arow", "r": r}, "passes": passes}


def learn_choices(
    estimator: Any, learner: Any, packed: Packed, dev: Packed | None, dev_hash: str, most: int, running: Running
) -> tuple[LinearPolicy, list[Any]]:
    """Train a policy for choices, and return it in 16 bits with its history.

    Training keeps the pass that makes the fewest wrong decisions on ``dev``. Each pass is evaluated with weights of 16
    bits, as in use, but before they are rounded to one byte.
    """

    from treewright.learners import train
    from treewright.learners.checkpoints import Judge

    def accuracy(policy: LinearPolicy) -> float:
        assert dev is not None
        decoded = policy.compressed(most).decode(dev, beam=estimator.beam, seed=estimator.seed, jobs=running["jobs"])
        labels, _ = decoded.field("labels")
        return float((labels == dev.arrays.gold).sum()) / max(1, len(labels))

    trained = train(
        learner,
        packed,
        bits=estimator.bits,
        beam=estimator.beam,
        seed=estimator.seed,
        evaluate=None if dev is None else Judge(accuracy, dev_hash),
        **running,
    )
    return trained.policy.compressed(most).coded(), trained.history


class CandidateEstimator(Estimator[ColumnScores]):
    """An estimator that fills columns by choosing one of the candidates of each word.

    A subclass implements ``_learn`` (labels and candidates from a treebank), ``_pack`` and ``_names``.
    """

    bits: int
    beam: int
    seed: int
    policy_: LinearPolicy
    columns_: tuple[str, ...]
    """The columns that are filled."""

    _most_weights: int = 1_500_000
    _usual_passes: ClassVar[int] = 3
    _usual_r: ClassVar[float] = 30.0

    @classmethod
    def learners(cls) -> tuple[type[Learner], ...]:
        """Return the classes of supported learners."""
        from treewright.learners import Imitation, Structured

        return (Imitation, Structured)

    def _usual(self, learner: Mapping[str, Any]) -> Mapping[str, Any]:
        return usual_choices(learner, self._usual_passes, self._usual_r)

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        learner = self._make_learner()
        sentences = read_corpus(corpus)
        dev_sentences = None if dev is None else read_corpus(dev)
        self._learn(sentences)
        corpora = {"train": corpus_hash(sentences)}
        packed_dev = None
        if dev_sentences is not None:
            corpora["dev"] = corpus_hash(dev_sentences)
            packed_dev = self._pack(dev_sentences, gold=True)
        self.policy_, self.history_ = learn_choices(
            self,
            learner,
            self._pack(sentences, gold=True, learning=True),
            packed_dev,
            corpora.get("dev", ""),
            self._most_weights,
            running,
        )
        self.card_ = self._make_card(corpora, self._dev_score("dev accuracy"))

    def _learn(self, sentences: Sequence[Sentence]) -> None:
        """Learn labels and candidates, and set ``columns_``."""
        raise NotImplementedError

    def _pack(self, sentences: Sequence[Sentence], *, gold: bool = False, learning: bool = False) -> Packed:
        """Return the words for the task, with their labels if ``gold``."""
        raise NotImplementedError

    def _labels(self, packed: Packed, jobs: int) -> list[int]:
        """The numbers of the labels of all words."""
        labels, _ = self.policy_.decode(packed, beam=self.beam, seed=self.seed, jobs=jobs).field("labels")
        numbers: list[int] = labels.tolist()
        return numbers

    def _decode(self, batch: list[Sentence], jobs: int) -> list[Sentence]:
        return self._filled(Columns(batch), jobs).sentences()

    def _gold(self, corpus: Corpus) -> list[Sentence]:
        gold = read_corpus(corpus)
        check_filled(gold, self.columns_)
        return gold

    def _annotation(self) -> str:
        return f"the columns {', '.join(self.columns_)}"

    def _score(self, gold: Sequence[Sentence], predicted: Sequence[Sentence], **options: Any) -> ColumnScores:
        return score_columns(gold, predicted, self.columns_, seed=self.seed)

    def _compare(
        self, gold: Sequence[Sentence], a: Sequence[Sentence], b: Sequence[Sentence], **options: Any
    ) -> Comparison:
        return compare_columns(gold, a, b, self.columns_, **options)

    def _count_by_sentence(self, gold: Sequence[Sentence], predicted: Any, **options: Any) -> npt.NDArray[np.float64]:
        return count_columns(gold, predicted, self.columns_)


def filled(sentences: Sequence[Sentence], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns in which any word has a value."""
    return tuple(name for name in columns if any(value != "_" for s in sentences for value in s.column(name)))


def check_filled(sentences: Sequence[Sentence], columns: Sequence[str]) -> None:
    """Raise :class:`~treewright.errors.CorpusError` if there are no words, or if all columns are empty."""
    if not any(map(len, sentences)):
        raise CorpusError("there is nothing to learn from or to score: no words", path=sentences[0].path)
    if not filled(sentences, columns):
        what = f"the column {columns[0]} is" if len(columns) == 1 else f"the columns {', '.join(columns)} are"
        raise CorpusError(f"{what} empty (_) everywhere: is this the right corpus?", path=sentences[0].path)
