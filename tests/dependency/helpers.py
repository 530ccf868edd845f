"""Sentences and packed trees for the tests of dependency parsing."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np

from treewright.corpora import Sentence, Token
from treewright.dependency.systems import find_system, system_names
from treewright.dependency.task import parsing_task
from treewright.dependency.templates import Templates

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


def make_task(system, n_labels=1, *, plain=False, recording=False, **options):
    templates = Templates(SMALL["moves"], SMALL["labels"])
    task = parsing_task(find_system(system), templates, recording=recording)(n_labels, **options)
    return task.plain() if plain else task


def pack_trees(task, trees, labels=None):
    """Trees given as heads (and numbers of labels), with words that are all different."""
    encoded = [task.encode(heads) for heads in trees]
    for arrays, of_words in zip(encoded, labels or (), strict=False):
        arrays["gold_labels"][1:-1] = of_words
    flat = {}
    for name in task.instance:
        flat[name] = np.concatenate([arrays[name] for arrays in encoded]).astype(np.int32)
        flat[name + "_at"] = np.cumsum([0, *(len(arrays[name]) for arrays in encoded)], dtype=np.int64)
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
