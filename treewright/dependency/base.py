"""The base class of dependency parsers: annotation and scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence
from treewright.dependency.scores import DependencyScores, compare_dependencies, count_arcs, score_dependencies
from treewright.dependency.treebank import Arcs, read_treebank
from treewright.estimators import Corpus, Estimator, Input
from treewright.metrics import Comparison
from treewright.settings import whole_number

__all__ = ["DependencyEstimator"]


class DependencyEstimator(Estimator[DependencyScores]):
    """An estimator that finds heads and relations. A subclass has ``_decode`` or ``_prepare``, which return trees."""

    annotates: ClassVar[str] = "dependency"

    seed: int
    labels_: list[str]
    """All relations, including the relations of lifted words."""
    vocabulary_: set[str]
    """The forms and lemmas that count as known, in lower case."""

    parse = Estimator.predict

    def arcs(self, sentences: Input, *, jobs: int = 1) -> list[Arcs]:
        """Return only the heads (0 is the root) and the relations of the words of each sentence."""
        self._check_fitted()
        decoded = self._decoded(self._batches(sentences), whole_number("jobs", jobs, 1))
        return [tree[:2] for _, found in decoded for tree in found]  # without tags

    def _annotate(self, batch: list[Sentence], found: list[Arcs]) -> Iterator[Sentence]:
        for sentence, (heads, labels) in zip(batch, found, strict=True):
            yield sentence.with_tree(heads, labels)

    def _gold(self, corpus: Corpus) -> list[Sentence]:
        return read_treebank(corpus)

    def _score(self, gold: Sequence[Sentence], predicted: Sequence[Sentence], **options: Any) -> DependencyScores:
        return score_dependencies(gold, predicted, seed=self.seed, **options)

    def _compare(
        self, gold: Sequence[Sentence], a: Sequence[Sentence], b: Sequence[Sentence], **options: Any
    ) -> Comparison:
        return compare_dependencies(gold, a, b, **options)

    def _count_by_sentence(self, gold: Sequence[Sentence], predicted: Any, **options: Any) -> npt.NDArray[np.float64]:
        return count_arcs(gold, predicted, **options)
