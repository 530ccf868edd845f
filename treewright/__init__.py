"""Treewright: parsers that learn as apprentices.

A sentence is parsed by a sequence of decisions, a treebank is an expert's behaviour, and imitation learning is the way
to learn from it. The most used names are here; each is imported when it is first asked for, so that
``import treewright`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from treewright.amr import AMRParser
    from treewright.constituency import ConstituencyParser, Grammar, LatentParser
    from treewright.corpora import Sentence, Token, load_corpus, read_sentences
    from treewright.corpora.builtin import builtin_corpus
    from treewright.dependency import DependencyParser, EisnerParser
    from treewright.errors import TreewrightError
    from treewright.loading import load
    from treewright.search import Task, check_task
    from treewright.tagging import Tagger, ViterbiTagger

_HOMES = {
    "AMRParser": "treewright.amr",
    "ConstituencyParser": "treewright.constituency",
    "DependencyParser": "treewright.dependency",
    "EisnerParser": "treewright.dependency",
    "Grammar": "treewright.constituency",
    "LatentParser": "treewright.constituency",
    "Sentence": "treewright.corpora",
    "Tagger": "treewright.tagging",
    "Task": "treewright.search",
    "Token": "treewright.corpora",
    "TreewrightError": "treewright.errors",
    "ViterbiTagger": "treewright.tagging",
    "builtin_corpus": "treewright.corpora.builtin",
    "check_task": "treewright.search",
    "load": "treewright.loading",
    "load_corpus": "treewright.corpora",
    "read_sentences": "treewright.corpora",
}

__all__ = [
    "AMRParser",
    "ConstituencyParser",
    "DependencyParser",
    "EisnerParser",
    "Grammar",
    "LatentParser",
    "Sentence",
    "Tagger",
    "Task",
    "Token",
    "TreewrightError",
    "ViterbiTagger",
    "__version__",
    "builtin_corpus",
    "check_task",
    "load",
    "load_corpus",
    "read_sentences",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
