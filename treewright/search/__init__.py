"""The core: the search-space protocol and the compiled engine that runs any task written against it."""

from typing import TYPE_CHECKING

from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.search.checking import CheckReport, check_task
    from treewright.search.compiling import compiled, inlined, interpreted, kernel
    from treewright.search.environment import Environment, Results, Rollouts
    from treewright.search.hashing import cross2, cross3, mix, string_hash, string_hashes
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
    "string_hashes",
    "trajectory",
]

__getattr__ = lazy_names(
    __name__,
    {
        "checking": "CheckReport check_task",
        "compiling": "compiled inlined interpreted kernel",
        "environment": "Environment Results Rollouts",
        "hashing": "cross2 cross3 mix string_hash string_hashes",
        "planning": "Features Planner",
        "policy": "Policy Scorer Scoring Scratch Sizes",
        "records": "record",
        "running": "Decoded Trajectory decode trajectory",
        "task": "Packed Task",
        "transition_environment": "TransitionEnvironment",
    },
)
