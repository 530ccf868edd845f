"""Meaning graphs (AMR): a parser, the comparison of graphs, and the alignment of their nodes with words."""

from typing import TYPE_CHECKING

from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.amr.alignment import (
        Aligner,
        Alignment,
        AlignmentScores,
        join_trees,
        node_label,
        nodes_of,
        read_gold_alignments,
        score_alignments,
        with_alignment,
    )
    from treewright.amr.graphs import collapse_ops, number_ops
    from treewright.amr.improved_aligner import ImprovedAligner
    from treewright.amr.naive_counts import naive_loss, naive_smatch
    from treewright.amr.parser import AMRParser
    from treewright.amr.rule_aligner import RuleAligner
    from treewright.amr.scores import PartScore, SmatchScores, compare_smatch, score_smatch
    from treewright.amr.smatch import PACKAGE, VANILLA, HillClimbing, Matches, match
    from treewright.amr.unseen import UnseenScore
    from treewright.amr.wording import read_verbalisations

__all__ = [
    "PACKAGE",
    "VANILLA",
    "AMRParser",
    "Aligner",
    "Alignment",
    "AlignmentScores",
    "HillClimbing",
    "ImprovedAligner",
    "Matches",
    "PartScore",
    "RuleAligner",
    "SmatchScores",
    "UnseenScore",
    "collapse_ops",
    "compare_smatch",
    "join_trees",
    "match",
    "naive_loss",
    "naive_smatch",
    "node_label",
    "nodes_of",
    "number_ops",
    "read_gold_alignments",
    "read_verbalisations",
    "score_alignments",
    "score_smatch",
    "with_alignment",
]

__getattr__ = lazy_names(
    __name__,
    {
        "alignment": "Aligner Alignment AlignmentScores join_trees node_label nodes_of "
        "read_gold_alignments score_alignments with_alignment",
        "graphs": "collapse_ops number_ops",
        "improved_aligner": "ImprovedAligner",
        "naive_counts": "naive_loss naive_smatch",
        "parser": "AMRParser",
        "rule_aligner": "RuleAligner",
        "scores": "PartScore SmatchScores compare_smatch score_smatch",
        "smatch": "PACKAGE VANILLA HillClimbing Matches match",
        "unseen": "UnseenScore",
        "wording": "read_verbalisations",
    },
)
