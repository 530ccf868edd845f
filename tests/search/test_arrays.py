from __future__ import annotations

import numpy as np

from treewright.search import interpreted
from treewright.search.arrays import copy_cells


def test_copying_equals_an_assignment_of_slices():
    source = np.arange(7)
    for run in (copy_cells, interpreted(copy_cells)):
        for first, at, n in [(0, 0, 7), (2, 4, 3), (6, 0, 1), (3, 3, 0)]:
            found, expected = np.zeros(7, np.int64), np.zeros(7, np.int64)
            run(source, first, found, at, n)
            expected[at : at + n] = source[first : first + n]
            assert found.tolist() == expected.tolist()
