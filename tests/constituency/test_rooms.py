"""The four rooms: every front keeps what it promises, and a lower room can be imported without the higher ones."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import treewright.constituency

ROOMS = ("grammar", "charts", "agenda", "latent")


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_fronts_have_what_they_list(room):
    front = import_module("treewright.constituency" + (room and f".{room}"))
    assert front.__all__ == sorted(front.__all__, key=lambda name: (not name.isupper(), name))
    for name in front.__all__:
        assert getattr(front, name) is not None


def test_other_names_are_not_found():
    with pytest.raises(AttributeError, match="no attribute 'Grammer'"):
        treewright.constituency.Grammer  # noqa: B018


def test_charts_are_imported_without_agenda_and_latent_grammars():
    code = "import sys, treewright.constituency.charts; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    rooms = {name.split(".")[2] for name in found if name.startswith("treewright.constituency.")}
    assert {"charts"} <= rooms <= {"grammar", "charts"}
