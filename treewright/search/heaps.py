"""Pairing heaps in flat arrays: the candidates of lazy k-best algorithms (Huang & Chiang 2005, Algorithm 3).

A member is a number, and a heap is the number of its best member, or −1 where it is empty. ``values`` has the value of
each member; ``links`` has its first child and its next sibling, both −1 in a heap of one. Of equal members the lowest
number is the best: if members are numbered in the order of their creation, the oldest.

>>> values, links = np.array([1.0, 3.0, 3.0, 2.0]), np.full((4, 2), -1)
>>> heap = -1
>>> for member in (2, 1, 0, 3):
...     heap = meld(values, links, heap, member)
>>> order = []
>>> while heap >= 0:
...     order.append(int(heap))
...     heap = without_best(values, links, heap)
>>> order
[1, 2, 3, 0]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.search.compiling import compiled

__all__ = ["meld", "without_best"]


@compiled
def meld(values: Any, links: Any, a: Any, b: Any) -> Any:
    """Merge two heaps."""
    if a < 0 or b < 0:
        return max(a, b)
    if values[b] > values[a] or (values[b] == values[a] and b < a):
        a, b = b, a
    links[b, 1] = links[a, 0]
    links[a, 0] = b
    return a


@compiled
def without_best(values: Any, links: Any, best: Any) -> Any:
    """A heap without its best member: the children are merged in pairs, then the pairs from last to first."""
    pairs: Any = np.int64(-1)
    child: Any = np.int64(links[best, 0])
    while child >= 0:
        other = np.int64(links[child, 1])
        rest = np.int64(-1)
        if other >= 0:
            rest = np.int64(links[other, 1])
            child = meld(values, links, child, other)
        links[child, 1] = pairs
        pairs, child = child, rest
    heap: Any = np.int64(-1)
    while pairs >= 0:
        rest = np.int64(links[pairs, 1])
        heap = meld(values, links, heap, pairs)
        pairs = rest
    return heap
