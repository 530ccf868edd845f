"""Check a transition system by exhaustive search, before training with it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from treewright.dependency.systems import TransitionSystem, find_system
from treewright.dependency.task import parsing_task
from treewright.dependency.templates import Templates
from treewright.dependency.trees import is_projective
from treewright.search import CheckReport, check_task
from treewright.settings import whole_number

__all__ = ["check_system"]


def check_system(system: str | TransitionSystem, *, words: int = 3) -> CheckReport:
    """Check a transition system on all trees of up to some ``words``, with :func:`~treewright.search.check_task`.

    For every reachable configuration, it compares the cost of each move with the increase of the least loss, found by
    exhaustive search. The expert must build every tree; this is the only requirement for a static oracle. Compiled and
    interpreted functions must give the same results.
    """
    system = find_system(system)
    trees = [tree for n in range(1, whole_number("words", words, 1, 5) + 1) for tree in _trees(n, system.projective)]
    task = parsing_task(system, Templates(["s0.w", "b0.w"]))(1)
    return check_task(task, trees, most_sentences=len(trees))


def _trees(n: int, projective: bool) -> Iterator[tuple[int, ...]]:
    """All trees over n words with one root, by their heads."""
    for heads in product(range(n + 1), repeat=n):
        above = list(heads)
        for _ in range(n):  # the ancestor of each word after n steps up
            above = [heads[node - 1] if node else 0 for node in above]
        if heads.count(0) == 1 and not any(above) and not (projective and not is_projective(heads)):
            yield heads
