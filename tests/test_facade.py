"""What ``import treewright`` offers, and that it costs nothing."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

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


def test_no_name_of_a_package_is_that_of_a_module_in_it():
    """Importing the module would replace the name, where names are imported when they are used."""
    for file in Path(treewright.__file__).parent.rglob("__init__.py"):
        if "lazy_names(" in file.read_text(encoding="utf-8"):
            package = import_module(".".join(file.parent.relative_to(Path(treewright.__file__).parents[1]).parts))
            modules = {path.stem for path in file.parent.iterdir()}
            assert modules.isdisjoint(package.__all__), package.__name__
