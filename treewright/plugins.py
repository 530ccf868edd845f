"""Plug-ins: what installed packages add to Treewright.

A package declares entry points in its ``pyproject.toml``, and Treewright finds them by the name of their group::

    [project.entry-points."treewright.systems"]
    covington = "my_package.covington:SYSTEM"

The groups are ``treewright.systems`` (transition systems of dependency parsing), ``treewright.learners`` (rows of the
table of learners), ``treewright.tasks`` (estimators, which :func:`treewright.load` then knows) and
``treewright.commands`` (what the command line must know to train the estimator of that name and to show its results).
Nothing is imported until its name is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treewright.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["load_plugin", "plugins"]


def plugins(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group such as ``systems``, by name.

    >>> plugins("no such group")
    {}
    """
    from importlib.metadata import entry_points  # it takes longer to import than all of this

    return {point.name: point for point in entry_points(group=f"treewright.{group}")}


def load_plugin(group: str, name: str) -> Any:
    """Import and return what the entry point ``name`` of a group refers to.

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
