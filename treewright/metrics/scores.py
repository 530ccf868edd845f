"""The common interface of the scores that all scorers of this library return."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Scores"]


@runtime_checkable
class Scores(Protocol):
    """The scores of an annotation: one main score, its name, its 95 % interval, and everything as plain values.

    Each task adds its own fields.
    """

    @property
    def name(self) -> str:
        """The name of the main score, such as ``LAS``."""

    @property
    def main(self) -> float:
        """The main score, from 0 to 1; higher is better."""

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of the main score."""

    def as_dict(self) -> dict[str, Any]:
        """Return all scores as plain values."""
