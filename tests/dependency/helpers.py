"""Sentences and packed trees for the tests of dependency parsing."""

from __future__ import annotations

import numpy as np

from treewright.corpora import Sentence, Token
from treewright.dependency.swap import projective_order
from treewright.dependency.task import parsing_task
from treewright.dependency.templates import WORD_ATTRIBUTES, Templates

# one small set of templates for all tests: each set is compiled, which takes a while
SMALL = {
    "moves": ["s0.w", "s0.t", "b0.w", "b0.t", "s1.t", "s0.t b0.t", "s1.t s0.t", "s0.t b0.t b1.t", "s0.wt b0.wt"],
    "labels": ["d.t h.t", "d.w", "h.w", "hd.d d.t"],
}


def make_task(system, n_labels=1, *, plain=False, **options):
    task = parsing_task(Templates(SMALL["moves"], SMALL["labels"]))(system, n_labels, **options)
    return task.plain() if plain else task


def pack_trees(task, trees, labels=None):
    """Trees given as heads (and numbers of labels), with words that are all different."""
    columns = {name: [] for name in ("attributes", "gold_heads", "gold_labels", "order")}
    for number, heads in enumerate(trees):
        n = len(heads)
        columns["attributes"].append(np.arange((n + 2) * len(WORD_ATTRIBUTES)))
        columns["gold_heads"].append([-1, *heads, -1])
        columns["gold_labels"].append([-1, *(labels[number] if labels else [0] * n), -1])
        columns["order"].append(np.concatenate(projective_order(np.array(heads, np.int32))))
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
