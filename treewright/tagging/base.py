"""The base class of taggers: annotation and scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence, Token
from treewright.estimators import Corpus, Estimator, Input, batches, check_words
from treewright.metrics import Comparison
from treewright.settings import Choice, Setting, whole_number
from treewright.tagging.corpus import collect_labels, labelled_corpus
from treewright.tagging.scores import TaggingScores, compare_taggings, count_labels, score_tagging

__all__ = ["TaggingEstimator"]


COLUMN = Setting(
    "column",
    Choice(*(name for name in Token._fields if name not in ("form", "head"))),
    "The column of CoNLL-U to learn",
)


class TaggingEstimator(Estimator[TaggingScores]):
    """An estimator that fills a column with labels. A subclass has ``_decode`` or ``_prepare``, which return labels."""

    annotates: ClassVar[str] = "tagging"

    column: str
    seed: int
    labels_: list[str]
    """All labels, sorted."""
    vocabulary_: dict[str, int]
    """The lower-case forms that count as known, with their frequencies in training."""

    tag = Estimator.predict

    def labels(self, sentences: Input, *, jobs: int = 1) -> list[list[str]]:
        """Return only the labels of sentences or lists of words; this is the fastest method."""
        self._check_fitted()
        cut = list(batches(sentences, self._batch_size, check_words))
        return [labels for _, found in self._decoded(cut, whole_number("jobs", jobs, 1)) for labels in found]

    def gives(self) -> tuple[str, ...]:
        """Return the column that it fills."""
        return (self.column,)

    def knows(self, form: str) -> bool:
        """Return whether a word was seen in training, in upper or lower case."""
        return form.lower() in self.vocabulary_

    def _annotate(self, batch: list[Sentence], found: list[list[str]]) -> Iterator[Sentence]:
        for sentence, labels in zip(batch, found, strict=True):
            yield sentence.with_column(self.column, labels)

    def _annotation(self) -> str:
        return f"the column {self.column}"

    def _gold(self, corpus: Corpus) -> list[Sentence]:
        gold = labelled_corpus(corpus, self.column)
        collect_labels(gold, self.column)
        return gold

    def _score(self, gold: Sequence[Sentence], predicted: Sequence[Sentence], **options: Any) -> TaggingScores:
        return score_tagging(gold, predicted, self.column, known=self.knows, seed=self.seed)

    def _compare(
        self, gold: Sequence[Sentence], a: Sequence[Sentence], b: Sequence[Sentence], **options: Any
    ) -> Comparison:
        return compare_taggings(gold, a, b, self.column, **options)

    def _count_by_sentence(self, gold: Sequence[Sentence], predicted: Any, **options: Any) -> npt.NDArray[np.float64]:
        return count_labels(gold, predicted, self.column)
