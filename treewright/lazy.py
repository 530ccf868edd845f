"""Packages whose names are imported when they are first used, so that a command loads only what it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a package, which imports each name from one of the package's modules.

    ``modules`` maps the name of each module, relative to the package, to the names that it defines, separated by
    spaces. No name may be equal to the name of a module of the package, because importing the module would replace it.

    >>> found = lazy_names("collections", {"abc": "Mapping Set"})
    >>> found("Mapping")
    <class 'collections.abc.Mapping'>
    >>> found("Tree")
    Traceback (most recent call last):
    AttributeError: module 'collections' has no attribute 'Tree'
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return __getattr__
