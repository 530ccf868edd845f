"""Treewright: parsers that learn as apprentices.

A sentence is parsed by a sequence of decisions, a treebank is an expert's behaviour, and imitation learning is the way
to learn from it. The most used names are here; each is imported when it is first used, so that ``import treewright`` is
quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from treewright.amr import AMRParser, compare_smatch, score_smatch
    from treewright.constituency import (
        ConstituencyParser,
        Grammar,
        LatentParser,
        compare_constituents,
        score_constituents,
    )
    from treewright.corpora import Graph, Sentence, Token, Tree, load_corpus, read_sentences
    from treewright.corpora.builtin import builtin_corpus
    from treewright.dependency import DependencyParser, EisnerParser, compare_dependencies, score_dependencies
    from treewright.errors import TreewrightError
    from treewright.estimators import Estimator, NotFittedError, check_estimator, clone
    from treewright.loading import bundled_models, load
    from treewright.pipeline import Document, Pipeline, train_pipeline
    from treewright.search import Task, check_task
    from treewright.tagging import Tagger, ViterbiTagger, compare_taggings, score_tagging
    from treewright.text import Lemmatizer, MorphTagger, Tokenizer

_HOMES = {
    "AMRParser": "treewright.amr",
    "ConstituencyParser": "treewright.constituency",
    "DependencyParser": "treewright.dependency",
    "Document": "treewright.pipeline",
    "EisnerParser": "treewright.dependency",
    "Estimator": "treewright.estimators",
    "Grammar": "treewright.constituency",
    "Graph": "treewright.corpora",
    "LatentParser": "treewright.constituency",
    "Lemmatizer": "treewright.text",
    "MorphTagger": "treewright.text",
    "NotFittedError": "treewright.estimators",
    "Pipeline": "treewright.pipeline",
    "Sentence": "treewright.corpora",
    "Tagger": "treewright.tagging",
    "Task": "treewright.search",
    "Token": "treewright.corpora",
    "Tokenizer": "treewright.text",
    "Tree": "treewright.corpora",
    "TreewrightError": "treewright.errors",
    "ViterbiTagger": "treewright.tagging",
    "builtin_corpus": "treewright.corpora.builtin",
    "bundled_models": "treewright.loading",
    "check_estimator": "treewright.estimators",
    "check_task": "treewright.search",
    "clone": "treewright.estimators",
    "compare_constituents": "treewright.constituency",
    "compare_dependencies": "treewright.dependency",
    "compare_smatch": "treewright.amr",
    "compare_taggings": "treewright.tagging",
    "load": "treewright.loading",
    "load_corpus": "treewright.corpora",
    "read_sentences": "treewright.corpora",
    "score_constituents": "treewright.constituency",
    "score_dependencies": "treewright.dependency",
    "score_smatch": "treewright.amr",
    "score_tagging": "treewright.tagging",
    "train_pipeline": "treewright.pipeline",
}

__all__ = [
    "AMRParser",
    "ConstituencyParser",
    "DependencyParser",
    "Document",
    "EisnerParser",
    "Estimator",
    "Grammar",
    "Graph",
    "LatentParser",
    "Lemmatizer",
    "MorphTagger",
    "NotFittedError",
    "Pipeline",
    "Sentence",
    "Tagger",
    "Task",
    "Token",
    "Tokenizer",
    "Tree",
    "TreewrightError",
    "ViterbiTagger",
    "__version__",
    "builtin_corpus",
    "bundled_models",
    "check_estimator",
    "check_task",
    "clone",
    "compare_constituents",
    "compare_dependencies",
    "compare_smatch",
    "compare_taggings",
    "load",
    "load_corpus",
    "read_sentences",
    "score_constituents",
    "score_dependencies",
    "score_smatch",
    "score_tagging",
    "train_pipeline",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
