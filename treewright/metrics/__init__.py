"""How good is it, and is the difference real?"""

from treewright.metrics.significance import (
    Interval,
    approximate_randomization,
    bootstrap_interval,
    error_reduction,
    paired_bootstrap,
)

__all__ = [
    "Interval",
    "approximate_randomization",
    "bootstrap_interval",
    "error_reduction",
    "paired_bootstrap",
]
