"""The core: the search-space protocol and the compiled engine that runs any task written against it."""

from treewright.search.checking import CheckReport, check_task
from treewright.search.compiling import compiled, inlined, interpreted, kernel
from treewright.search.environment import Environment, Results, Rollouts
from treewright.search.hashing import cross2, cross3, mix, string_hash
from treewright.search.planning import Features, Planner
from treewright.search.policy import Policy, Scorer, Scoring, Scratch, Sizes
from treewright.search.records import record
from treewright.search.running import Decoded, Trajectory, decode, trajectory
from treewright.search.task import Packed, Task
from treewright.search.transition_environment import TransitionEnvironment

__all__ = [
    "CheckReport",
    "Decoded",
    "Environment",
    "Features",
    "Packed",
    "Planner",
    "Policy",
    "Results",
    "Rollouts",
    "Scorer",
    "Scoring",
    "Scratch",
    "Sizes",
    "Task",
    "Trajectory",
    "TransitionEnvironment",
    "check_task",
    "compiled",
    "cross2",
    "cross3",
    "decode",
    "inlined",
    "interpreted",
    "kernel",
    "mix",
    "record",
    "string_hash",
    "trajectory",
]
