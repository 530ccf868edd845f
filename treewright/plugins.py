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
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from treewright.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["load_plugin", "plugins"]


def plugins(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group such as ``systems``, by name.

    A package that is installed while the process runs is found if ``sys.path`` changes, or else by the next process.

    >>> dict(plugins("no such group"))
    {}
    """
    return _plugins(group, tuple(sys.path))


@lru_cache(maxsize=100)
def _plugins(group: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """The entry points of the packages in ``path``: all of their metadata is read, which takes milliseconds."""
    from importlib.metadata import entry_points  # slow to import, so only when needed

    return MappingProxyType({point.name: point for point in entry_points(group=f"treewright.{group}")})


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
