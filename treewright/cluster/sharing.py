"""Large values, such as corpora and models, that every worker gets once and keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Shared", "shared_value"]

#: the values that this worker has, by name: a module's variable lives as long as the process
_VALUES: dict[str, Any] = {}


def shared_value(name: str) -> Any:
    """Return a value on a worker."""
    return _VALUES[name]


class Shared:
    """Values that are on every worker of a cluster, also on those that join later or are started again.

    Dask sends a plug-in to each worker once, before its first job; the plug-in has the value.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._names: list[str] = []

    def put(self, name: str, make: Callable[[], Any]) -> None:
        """Send a value to all workers, unless that was done before; the function makes it."""
        if name not in self._names:
            self.client.register_plugin(_plugin(name, make()), name=name)
            self._names.append(name)

    def close(self) -> None:
        """Let all workers forget the values."""
        while self._names:
            self.client.unregister_worker_plugin(self._names.pop())


def _plugin(name: str, value: Any) -> Any:
    from treewright.cluster.plugin import ValuePlugin

    return ValuePlugin(name, value)
