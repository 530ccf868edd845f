"""Sentences and packed trees for the tests of dependency parsing."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np

from treewright.corpora import Sentence, Token
from treewright.dependency.systems import find_system, system_names
from treewright.dependency.task import parsing_task
from treewright.dependency.templates import WORD_ATTRIBUTES, Templates

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "covington.py"


def example_system():
    """The transition system of the example, as if it were in a package of a user."""
    if "covington" not in sys.modules:
        spec = importlib.util.spec_from_file_location("covington", EXAMPLE)
        sys.modules["covington"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["covington"])
    return sys.modules["covington"].SYSTEM


#: all systems that are registered, and that of the example
SYSTEMS = [*map(find_system, system_names()), example_system()]

# one small set of templates for all tests: each set is compiled, which takes a while
SMALL = {
    "moves": ["s0.w", "s0.t", "b0.w", "b0.t", "s1.t", "s0.t b0.t", "s1.t s0.t", "s0.t b0.t b1.t", "s0.wt b0.wt"],
    "labels": ["d.t h.t", "d.w", "h.w", "hd.d d.t"],
}


def make_task(system, n_labels=1, *, plain=False, **options):
    task = parsing_task(find_system(system), Templates(SMALL["moves"], SMALL["labels"]))(n_labels, **options)
    return task.plain() if plain else task


def pack_trees(task, trees, labels=None):
    """Trees given as heads (and numbers of labels), with words that are all different."""
    columns = {name: [] for name in ("attributes", "gold_heads", "gold_labels", "prepared")}
    for number, heads in enumerate(trees):
        n = len(heads)
        columns["attributes"].append(np.arange((n + 2) * len(WORD_ATTRIBUTES)))
        columns["gold_heads"].append([-1, *heads, -1])
        columns["gold_labels"].append([-1, *(labels[number] if labels else [0] * n), -1])
        prepare = task.system.prepare
        columns["prepared"].append([] if prepare is None else prepare(np.array(heads, np.int32)))
    flat = {}
    for name, arrays in columns.items():
        flat[name] = np.concatenate([np.asarray(a, np.int32) for a in arrays])
        flat[name + "_at"] = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
    return task.packed(np.array([len(t) for t in trees], np.int32), flat)


def sentence(words, heads, labels=None, tags=None):
    labels = labels or ["root" if h == 0 else "dep" for h in heads]
    tags = tags or ["X"] * len(words)
    return Sentence(
        tuple(
            Token(form=w, upos=t, head=h, deprel=label)
            for w, h, label, t in zip(words, heads, labels, tags, strict=True)
        )
    )
