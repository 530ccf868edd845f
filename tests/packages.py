"""Installed packages, as far as Python's metadata can tell."""

from __future__ import annotations

from pathlib import Path


def install(folder: Path, name: str, entry_points: dict[str, dict[str, str]], modules: dict[str, str]) -> None:
    """Write a package with entry points, by group and name, and modules, by name; put the folder into sys.path."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = {f"treewright.{group}": points for group, points in entry_points.items()}
    lines = [
        line for group, points in groups.items() for line in (f"[{group}]", *(f"{k} = {v}" for k, v in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source)
