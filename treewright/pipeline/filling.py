"""Running a component where sentences lack its layers: values that words have are kept, missing ones are filled in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from treewright.corpora import Sentence
from treewright.corpora.columns import Columns
from treewright.estimators import Estimator

__all__ = ["fill_in"]

#: the columns of a layer; the first one shows whether a word has the layer
_COLUMNS = {**{name: (name,) for name in ("upos", "xpos", "feats", "lemma")}, "dependency": ("head", "deprel")}


def fill_in(columns: Columns, component: Estimator[Any], jobs: int) -> Columns:
    """Annotate the sentences in which any word lacks a layer of the component; the others stay as they are."""
    layers = component.gives()
    if all(columns.lengths) and all(layer in _COLUMNS and columns.lacks(_COLUMNS[layer][0]) for layer in layers):
        return component._filled(columns, jobs)
    sentences, has = columns.sentences(), _has(columns, layers)
    others = [layer for layer in layers if layer not in has]
    chosen = [
        k
        for k, (a, b) in enumerate(pairwise(columns.at))
        if a < b
        and (any(not all(kept[a:b]) for kept in has.values()) or any(_lacks(sentences[k], layer) for layer in others))
    ]
    if len(chosen) == len(sentences):
        return _filled(columns, component, jobs)
    done = _filled(Columns([sentences[k] for k in chosen]), component, jobs).sentences()
    for k, sentence in zip(chosen, done, strict=True):
        sentences[k] = sentence
    return Columns(sentences)


def _filled(columns: Columns, component: Estimator[Any], jobs: int) -> Columns:
    """Annotate all sentences; values that words have are kept."""
    has = _has(columns, component.gives())
    given = [(name, columns[name], kept) for layer, kept in has.items() for name in _COLUMNS[layer]]
    done = component._filled(columns, jobs)
    for name, values, kept in given:
        done[name] = [old if keep else new for old, new, keep in zip(values, done[name], kept, strict=True)]
    return done


def _has(columns: Columns, layers: Sequence[str]) -> dict[str, list[bool]]:
    """For each layer that consists of columns: whether each word has it. A word has a tree if its sentence has one."""
    shown = {layer: columns[_COLUMNS[layer][0]] for layer in layers if layer in _COLUMNS}
    has = {layer: [value not in ("_", None) for value in values] for layer, values in shown.items()}
    if "dependency" in has:
        has["dependency"] = _by_sentence(columns, has["dependency"], all)
    if "feats" in has:
        has["feats"] = _with_features(columns, has)
    return has


def _with_features(columns: Columns, has: dict[str, list[bool]]) -> list[bool]:
    """Whether each word has features; none (``_``) may be right for a word that has the other tags.

    Such a word has a universal tag, and a tag of the treebank or, beside it, words with features.
    """
    told = _by_sentence(columns, has["feats"], any)
    words = zip(has["feats"], has.get("upos", [True] * len(columns)), has.get("xpos", told), told, strict=True)
    return [own or (upos and (xpos or beside)) for own, upos, xpos, beside in words]


def _by_sentence(columns: Columns, values: list[bool], summary: Any) -> list[bool]:
    """Summarise the values of each sentence, for each of its words."""
    return [each for a, b in pairwise(columns.at) for each in [summary(values[a:b])] * (b - a)]


def _lacks(sentence: Sentence, layer: str) -> bool:
    """Whether a sentence lacks constituents or a graph; layers of other packages are always added."""
    return {"constituency": sentence.tree, "amr": sentence.graph}.get(layer) is None
