"""Large values, such as corpora and models, that are sent once to every worker."""

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
    """Values on every worker of a cluster, including workers that join later or are restarted.

    Dask sends a plug-in to each worker once, before its first job; the plug-in has the value.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._names: list[str] = []

    def put(self, name: str, make: Callable[[], Any]) -> None:
        """Send the value of a function to all workers, unless it was sent before."""
        if name not in self._names:
            self.client.register_plugin(_plugin(name, make()), name=name)
            self._names.append(name)

    def close(self) -> None:
        """Remove the values from all workers."""
        while self._names:
            self.client.unregister_worker_plugin(self._names.pop())


def _plugin(name: str, value: Any) -> Any:
    from treewright.cluster.plugin import ValuePlugin

    return ValuePlugin(name, value)
