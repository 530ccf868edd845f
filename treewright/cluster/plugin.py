"""The Dask plug-in that sends a value to a worker; it is a separate module, because it needs ``distributed``."""

from __future__ import annotations

from typing import Any

from distributed import WorkerPlugin

from treewright.cluster import sharing

__all__ = ["ValuePlugin"]


class ValuePlugin(WorkerPlugin):  # type: ignore[misc]
    """Stores a value in the process of a worker, by its name."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value

    def setup(self, worker: Any) -> None:
        """Keep the value."""
        sharing._VALUES[self.name] = self.value

    def teardown(self, worker: Any) -> None:
        """Forget the value."""
        sharing._VALUES.pop(self.name, None)
