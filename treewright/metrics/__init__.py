"""Statistics that every scorer needs: confidence intervals, significance tests, error reduction, distributions."""

from treewright.metrics.distributions import FiveNumbers, KolmogorovSmirnov, five_numbers, kolmogorov_smirnov
from treewright.metrics.replicates import (
    ReplicateComparison,
    holm,
    replicate_comparison,
    replicate_interval,
    score_of,
)
from treewright.metrics.scores import Scores
from treewright.metrics.significance import (
    Comparison,
    Interval,
    approximate_randomization,
    bootstrap_interval,
    compare,
    error_reduction,
    f1,
    paired_bootstrap,
    precision_and_recall,
    ratio,
    resample,
)

__all__ = [
    "Comparison",
    "FiveNumbers",
    "Interval",
    "KolmogorovSmirnov",
    "ReplicateComparison",
    "Scores",
    "approximate_randomization",
    "bootstrap_interval",
    "compare",
    "error_reduction",
    "f1",
    "five_numbers",
    "holm",
    "kolmogorov_smirnov",
    "paired_bootstrap",
    "precision_and_recall",
    "ratio",
    "replicate_comparison",
    "replicate_interval",
    "resample",
    "score_of",
]
