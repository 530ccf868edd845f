"""The models that come with the library: files in this folder, found by their names."""

from __future__ import annotations

import os
from pathlib import Path

from treewright.errors import ModelError

__all__ = ["bundled_models", "found_model"]

_FOLDER = Path(__file__).parent


def bundled_models() -> dict[str, Path]:
    """Return the bundled models: their names and their files."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.tw"))}


def found_model(name: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return the file of a bundled model, if this is the name of one and not of a file; else the path itself.

    Raises:
        ModelError: for a plain name, without a folder and a suffix, that neither a file nor a bundled model has.
    """
    plain = os.fspath(name)
    if os.path.exists(plain):
        return name
    known = bundled_models()
    if plain not in known and not os.path.dirname(plain) and not os.path.splitext(plain)[1]:
        from difflib import get_close_matches

        near = get_close_matches(plain, known, 1)
        advice = f"did you mean {near[0]}?" if near else f"bundled are: {', '.join(known) or 'none'}"
        raise ModelError(f"{plain}: there is no such file, and no bundled model of this name; {advice}")
    return known.get(plain, name)
