"""How good is it, and is the difference real?"""

from treewright.metrics.scores import Comparison, Scores, compare_counts
from treewright.metrics.significance import (
    Interval,
    approximate_randomization,
    bootstrap_interval,
    error_reduction,
    paired_bootstrap,
)

__all__ = [
    "Comparison",
    "Interval",
    "Scores",
    "approximate_randomization",
    "bootstrap_interval",
    "compare_counts",
    "error_reduction",
    "paired_bootstrap",
]
