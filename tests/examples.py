"""How many examples Hypothesis tries."""

from __future__ import annotations

import os

from hypothesis import settings

#: With the compiler off, a few: the compiled run tries all of them.
MOST = 10 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 1000


def examples(number: int) -> settings:
    """Try this many examples of a test, or as many as the run allows."""
    return settings(max_examples=min(number, MOST), deadline=None)
