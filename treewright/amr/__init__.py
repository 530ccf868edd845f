"""Task 4, meaning graphs (AMR): how they are compared."""

from treewright.amr.graphs import collapse_ops, number_ops
from treewright.amr.naive_smatch import naive_loss, naive_smatch
from treewright.amr.scores import PartScore, SmatchComparison, SmatchScores, compare_smatch, score_smatch
from treewright.amr.smatch import PACKAGE, VANILLA, HillClimbing, Matches, match

__all__ = [
    "PACKAGE",
    "VANILLA",
    "HillClimbing",
    "Matches",
    "PartScore",
    "SmatchComparison",
    "SmatchScores",
    "collapse_ops",
    "compare_smatch",
    "match",
    "naive_loss",
    "naive_smatch",
    "number_ops",
    "score_smatch",
]
