"""What ``import treewright`` offers, and that it costs nothing."""

from __future__ import annotations

import subprocess
import sys

import treewright
from treewright.estimators import estimator_class, estimator_names


def test_every_name_can_be_imported():
    for name in treewright.__all__:
        assert getattr(treewright, name) is not None
    assert set(treewright.__all__) == set(dir(treewright))


def test_every_estimator_is_there():
    for name in estimator_names():
        kind = estimator_class(name)
        assert getattr(treewright, kind.__name__) is kind


def test_nothing_is_imported_before_it_is_used():
    code = "import sys, treewright; print(*(m for m in ('numpy', 'numba', 'rich', 'typer') if m in sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
