"""The agenda parser, the priorities of constituents, and how they are learned.

A* heuristics are in :mod:`treewright.constituency.agenda.heuristics`, which is imported only where it is needed.
"""

from typing import TYPE_CHECKING

from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.constituency.agenda.environment import AgendaEnvironment
    from treewright.constituency.agenda.parser import AgendaParser
    from treewright.constituency.agenda.policy import AgendaPolicy
    from treewright.constituency.agenda.priorities import Priorities

__all__ = ["AgendaEnvironment", "AgendaParser", "AgendaPolicy", "Priorities"]

__getattr__ = lazy_names(
    __name__,
    {
        "environment": "AgendaEnvironment",
        "parser": "AgendaParser",
        "policy": "AgendaPolicy",
        "priorities": "Priorities",
    },
)
