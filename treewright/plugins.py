"""Plug-ins: transition systems, learners, tasks and commands of other installed packages.

A package declares entry points in its ``pyproject.toml``, and Treewright finds them by the name of their group::

    [project.entry-points."treewright.systems"]
    covington = "my_package.covington:SYSTEM"

The groups are ``treewright.systems`` (transition systems of dependency parsing), ``treewright.learners`` (rows of the
table of learners), ``treewright.tasks`` (estimators, which :func:`treewright.load` then knows) and
``treewright.commands`` (how the command line trains the estimator of that name and shows its results). A plug-in is
imported when its name is first used.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from treewright.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

__all__ = ["load_plugin", "plugins"]


def plugins(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group such as ``systems``, by name.

    >>> plugins("no such group")
    {}
    """
    return {point.name: point for point in _entry_points(f"treewright.{group}", tuple(sys.path))}


@lru_cache  # a search reads a file of each installed package
def _entry_points(group: str, path: tuple[str, ...]) -> EntryPoints:
    """The entry points of a group, of the packages on the path of modules."""
    from importlib.metadata import entry_points  # slow to import, so only when needed

    return entry_points(group=group)


def load_plugin(group: str, name: str) -> Any:
    """Import and return the object of the entry point ``name`` of a group.

    Raises:
        ConfigError: if there is no such entry point, or if it cannot be imported.
    """
    point = plugins(group).get(name)
    if point is None:
        raise ConfigError(f"no installed package declares the entry point {name!r} in the group treewright.{group}")
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        source = f" of the package {point.dist.name}" if point.dist else ""
        raise ConfigError(
            f"the entry point {name!r} in the group treewright.{group}{source} cannot be imported: {error}"
        ) from error
