"""Pairing heaps against sorting."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from treewright.search.heaps import meld, without_best


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=40))
@examples(60)
def test_members_come_out_by_value_and_then_by_number(steps):
    """Between additions some of the best are taken out; of equal members the one with the lowest number is the best."""
    values, links = np.zeros(len(steps)), np.full((len(steps), 2), -1, np.int64)
    heap, waiting, taken, wanted = -1, [], [], []
    for member, (value, times) in enumerate(steps):
        values[member] = value
        heap = meld(values, links, heap, member)
        waiting.append((-value, member))
        for _ in range(min(times, len(waiting)) // 2):
            waiting.sort()
            wanted.append(waiting.pop(0)[1])
            taken.append(int(heap))
            heap = without_best(values, links, heap)
    while heap >= 0:
        taken.append(int(heap))
        heap = without_best(values, links, heap)
    assert taken == wanted + [member for _, member in sorted(waiting)]
