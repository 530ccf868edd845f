from __future__ import annotations

import numpy as np

from treewright.search import interpreted
from treewright.search.arrays import aligned, copy_cells


def test_copying_equals_an_assignment_of_slices():
    source = np.arange(7)
    for run in (copy_cells, interpreted(copy_cells)):
        for first, at, n in [(0, 0, 7), (2, 4, 3), (6, 0, 1), (3, 3, 0)]:
            found, expected = np.zeros(7, np.int64), np.zeros(7, np.int64)
            run(source, first, found, at, n)
            expected[at : at + n] = source[first : first + n]
            assert found.tolist() == expected.tolist()


def test_aligned_arrays_begin_at_a_cache_line():
    for size in (1, 3, 1000):
        for dtype in (np.float32, np.float64, np.int16):
            arrays = [aligned(size, dtype) for _ in range(5)]
            assert all(array.shape == (size,) and array.dtype == dtype for array in arrays)
            assert all(array.flags.c_contiguous and array.ctypes.data % 64 == 0 for array in arrays)
    assert aligned(0, np.float64).shape == (0,)
