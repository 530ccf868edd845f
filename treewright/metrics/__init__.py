"""Statistics that every scorer needs: confidence intervals, significance tests, error reduction, distributions."""

from treewright.metrics.distributions import FiveNumbers, KolmogorovSmirnov, five_numbers, kolmogorov_smirnov
from treewright.metrics.scores import Scores
from treewright.metrics.significance import (
    Comparison,
    Interval,
    approximate_randomization,
    bootstrap_interval,
    compare,
    error_reduction,
    paired_bootstrap,
    ratio,
    resample,
)

__all__ = [
    "Comparison",
    "FiveNumbers",
    "Interval",
    "KolmogorovSmirnov",
    "Scores",
    "approximate_randomization",
    "bootstrap_interval",
    "compare",
    "error_reduction",
    "five_numbers",
    "kolmogorov_smirnov",
    "paired_bootstrap",
    "ratio",
    "resample",
]
