"""Dependency parsing: transition systems, static and dynamic oracles, features, scores."""

from typing import TYPE_CHECKING

from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.dependency.checking import check_system
    from treewright.dependency.eisner import EisnerParser, EisnerPlanner
    from treewright.dependency.parser import DependencyParser
    from treewright.dependency.scores import Comparison, DependencyScores, compare_dependencies, score_dependencies
    from treewright.dependency.systems import Move, TransitionSystem, find_system, system_names
    from treewright.dependency.task import DependencyParsing
    from treewright.dependency.templates import FEATURE_SETS, Templates
    from treewright.dependency.trees import check_tree, check_trees, crossing_arcs, is_projective

__all__ = [
    "FEATURE_SETS",
    "Comparison",
    "DependencyParser",
    "DependencyParsing",
    "DependencyScores",
    "EisnerParser",
    "EisnerPlanner",
    "Move",
    "Templates",
    "TransitionSystem",
    "check_system",
    "check_tree",
    "check_trees",
    "compare_dependencies",
    "crossing_arcs",
    "find_system",
    "is_projective",
    "score_dependencies",
    "system_names",
]

__getattr__ = lazy_names(
    __name__,
    {
        "checking": "check_system",
        "eisner": "EisnerParser EisnerPlanner",
        "parser": "DependencyParser",
        "scores": "Comparison DependencyScores compare_dependencies score_dependencies",
        "systems": "Move TransitionSystem find_system system_names",
        "task": "DependencyParsing",
        "templates": "FEATURE_SETS Templates",
        "trees": "check_tree check_trees crossing_arcs is_projective",
    },
)
