"""Estimators: the common layer of taggers and parsers, from reading a corpus to saving a model."""

from typing import TYPE_CHECKING

from treewright.estimators.base import Estimator, NotFittedError, Running, clone
from treewright.estimators.corpus import Corpus, corpus_error, read_corpus
from treewright.estimators.registry import estimator_class, estimator_names
from treewright.estimators.streams import Input, as_sentence, batches, check_words, overlapped
from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.estimators.checking import EstimatorError, check_estimator
    from treewright.estimators.cross_validation import CrossValidation, FoldComparison, cross_validate
    from treewright.estimators.own import LossScores, TaskEstimator

__all__ = [
    "Corpus",
    "CrossValidation",
    "Estimator",
    "EstimatorError",
    "FoldComparison",
    "Input",
    "LossScores",
    "NotFittedError",
    "Running",
    "TaskEstimator",
    "as_sentence",
    "batches",
    "check_estimator",
    "check_words",
    "clone",
    "corpus_error",
    "cross_validate",
    "estimator_class",
    "estimator_names",
    "overlapped",
    "read_corpus",
]

# Annotating needs none of these.
__getattr__ = lazy_names(
    __name__,
    {
        "checking": "EstimatorError check_estimator",
        "cross_validation": "CrossValidation FoldComparison cross_validate",
        "own": "LossScores TaskEstimator",
    },
)
