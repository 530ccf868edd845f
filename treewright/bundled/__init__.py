"""The models that come with the library: files in this folder, found by their names."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["bundled_models", "found_model"]

_FOLDER = Path(__file__).parent


def bundled_models() -> dict[str, Path]:
    """Return the bundled models: their names and their files."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.tw"))}


def found_model(name: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return the file of a bundled model, if this is the name of one and not of a file; else the path itself."""
    plain = os.fspath(name)
    return name if os.path.exists(plain) else bundled_models().get(plain, name)
