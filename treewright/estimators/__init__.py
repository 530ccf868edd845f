"""Estimators: what taggers and parsers have in common, from reading a corpus to saving a model."""

from treewright.estimators.base import Estimator, NotFittedError, Running, clone
from treewright.estimators.checking import EstimatorError, check_estimator
from treewright.estimators.corpus import Corpus, corpus_error, read_corpus
from treewright.estimators.cross_validation import CrossValidation, FoldComparison, cross_validate
from treewright.estimators.own import LossScores, TaskEstimator
from treewright.estimators.registry import estimator_class, estimator_names
from treewright.estimators.streams import Input, as_sentence, batches, check_words, overlapped

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
