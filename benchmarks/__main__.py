"""``python -m benchmarks [engine] [tagging] [learners] [dependency] [dependency_learners] [encoders] [constituency] [constituency_learners] [latent] [agenda] [smatch] [alignment] [amr] [amr_learners] [latency] [rawtext] [cluster] [serve] [papers] [report]``: all of them, or the ones that are named; ``models`` makes the bundled models, and ``turns`` compares the speed of two checkouts."""

from __future__ import annotations

import sys
from importlib import import_module
from itertools import takewhile

PARTS = (
    "engine",
    "tagging",
    "learners",
    "dependency",
    "dependency_learners",
    "encoders",
    "constituency",
    "constituency_learners",
    "latent",
    "agenda",
    "smatch",
    "alignment",
    "amr",
    "amr_learners",
    "latency",
    "rawtext",
    "cluster",
    "serve",
    "papers",
    "report",
)


def main() -> None:
    parts = list(takewhile(lambda word: not word.startswith("--"), sys.argv[1:])) or list(PARTS)
    for part in parts:
        if part not in (*PARTS, "models", "turns"):
            sys.exit(f"There is no benchmark {part!r}; there are: {', '.join(PARTS)}")
    for part in parts:
        import_module(f"benchmarks.{part}").main()


main()
