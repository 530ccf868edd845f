"""Statistics that every scorer needs: confidence intervals, significance tests, error reduction."""

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
    "Interval",
    "Scores",
    "approximate_randomization",
    "bootstrap_interval",
    "compare",
    "error_reduction",
    "paired_bootstrap",
    "ratio",
    "resample",
]
