"""``python -m benchmarks PART… [options]`` runs the named parts; ``python -m benchmarks all`` runs all of them, for hours.

``models`` makes the bundled models, and ``turns`` compares the speed of two checkouts; ``PART --help`` shows a part's options.
"""

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
    parts = list(takewhile(lambda word: not word.startswith("-"), sys.argv[1:]))
    if not parts:
        print(f"{__doc__}\nParts: {', '.join((*PARTS, 'models', 'turns'))}")
        return
    if parts == ["all"]:
        parts = list(PARTS)
    for part in parts:
        if part not in (*PARTS, "models", "turns"):
            sys.exit(f"There is no benchmark {part!r}; there are: {', '.join(PARTS)}")
    for part in parts:
        module = import_module(f"benchmarks.{part}")
        if {"-h", "--help"} & set(sys.argv) and not hasattr(module, "argparse"):
            print(module.__doc__)  # its options are described there
        else:
            module.main()


main()
