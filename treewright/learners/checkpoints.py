"""Checkpoints of training: plain arrays in a folder, each file written completely or not at all."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.files import atomic_write

__all__ = [
    "Fingerprint",
    "Judge",
    "clear",
    "differences",
    "history",
    "judged_by",
    "load_arrays",
    "load_state",
    "save_arrays",
    "save_state",
]

Learned = TypeVar("Learned")
Arrays = Mapping[str, npt.NDArray[Any]]
Fingerprint = Mapping[str, Any]
"""The identity of a training run: settings by name, and a digest of the training data under ``data``."""


@dataclass(frozen=True)
class Judge(Generic[Learned]):
    """A function that scores the learned model; ``by`` is a digest of its development data.

    Scores on different data cannot be compared, so training can only be resumed with the same development data.
    """

    score: Callable[[Learned], float]
    by: str

    def __call__(self, learned: Learned) -> float:
        """The score; higher is better."""
        return self.score(learned)


def judged_by(evaluate: Callable[..., float] | None) -> Fingerprint:
    """The part of a checkpoint's identity that belongs to the scoring function; empty unless it is a :class:`Judge`."""
    return {"dev": getattr(evaluate, "by", None)}


def clear(folder: Path) -> None:
    """Remove the files of an earlier training, and the folder if it is then empty."""
    for name in ("state.npz", "examples-[0-9]*.npz", ".treewright-*.tmp"):
        for file in folder.glob(name):
            file.unlink()
    with suppress(OSError):
        folder.rmdir()


def save_arrays(folder: Path, name: str, arrays: Arrays) -> None:
    """Write arrays to ``folder/name.npz``."""
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / f"{name}.npz", "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def load_arrays(folder: Path, name: str) -> dict[str, npt.NDArray[Any]] | None:
    """The arrays in ``folder/name.npz``, or None where there is no such file."""
    file = folder / f"{name}.npz"
    if not file.is_file():
        return None
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):
        raise ConfigError(f"{file} is damaged and cannot be resumed from: train without resuming") from None


def save_state(folder: Path, fingerprint: Fingerprint, history: list[dict[str, Any]], arrays: Arrays) -> None:
    """Write the state after an iteration."""
    about = json.dumps({"fingerprint": dict(fingerprint), "history": history})
    save_arrays(folder, "state", {**arrays, "about": np.frombuffer(about.encode(), np.uint8)})


def history(folder: Path) -> list[dict[str, Any]]:
    """The passes that were finished before a checkpoint."""
    arrays = load_arrays(folder, "state")
    return [] if arrays is None else list(json.loads(arrays["about"].tobytes())["history"])


def load_state(
    folder: Path, fingerprint: Fingerprint
) -> tuple[list[dict[str, Any]], dict[str, npt.NDArray[Any]]] | None:
    """The history and the arrays of the last finished iteration, or None if there is none.

    Training with other data or other settings cannot be resumed: the :class:`ConfigError` lists the differences.
    """
    arrays = load_arrays(folder, "state")
    if arrays is None:
        return None
    about = json.loads(arrays.pop("about").tobytes())
    if others := differences(about["fingerprint"], json.loads(json.dumps(dict(fingerprint)))):
        raise ConfigError(
            f"{folder} belongs to a training with other data or settings ({'; '.join(others)}): give the same ones, or "
            "train without resuming"
        )
    return about["history"], arrays


def differences(then: Any, now: Any, name: str = "") -> list[str]:
    """The differences of two fingerprints, in words.

    >>> then, now = {"seed": 0, "update": {"C": 1.0}, "data": "a1"}, {"seed": 9, "update": {"C": 2.0}, "data": "b2"}
    >>> print("; ".join(differences(then, now)[:2]))
    seed was 0 and is now 9; update.C was 1.0 and is now 2.0
    >>> print(differences(then, now)[2])
    the data are not the same, or not prepared in the same way
    """
    if isinstance(then, dict) and isinstance(now, dict):
        names = {**then, **now}
        inner = (differences(then.get(key), now.get(key), f"{name}.{key}".removeprefix(".")) for key in names)
        return [difference for each in inner for difference in each]
    if then == now:
        return []
    if name in ("", "data"):
        return ["the data are not the same, or not prepared in the same way"]
    if name == "dev":
        return ["the development data, or how they are parsed, are not the same"]
    return [f"{name} was {_said(then)} and is now {_said(now)}"]


def _said(value: Any) -> str:
    return "nothing" if value is None else str(value)
