"""A lock that allows one training at a time per model file, because two would share a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from treewright.errors import ConfigError

fcntl: Any = None
with suppress(ImportError):  # Windows has no such module
    fcntl = import_module("fcntl")

__all__ = ["locked"]


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold the lock of a model file during training. The system releases it when the process ends.

    Raises:
        ConfigError: if another process holds it.
    """
    if fcntl is None:
        yield
        return
    path = out.with_name(out.name + ".lock")
    with ExitStack() as stack:
        while True:
            file = stack.enter_context(path.open("w"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ConfigError(
                    f"{out}: another training is making this model right now; wait for it, or choose another --out"
                ) from None
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    break
            # its last owner removed it after it was opened here, and the next process would create another one
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()
