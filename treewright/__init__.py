"""Treewright: parsers that learn as apprentices.

A sentence is parsed by a sequence of decisions, a treebank is an expert's behaviour, and imitation learning is the way
to learn from it. The most used names are here; each is imported when it is first used, so that ``import treewright`` is
quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treewright.lazy import lazy_names

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

__getattr__ = lazy_names(
    __name__,
    {
        "amr": "AMRParser compare_smatch score_smatch",
        "constituency": "ConstituencyParser Grammar LatentParser compare_constituents score_constituents",
        "dependency": "DependencyParser EisnerParser compare_dependencies score_dependencies",
        "pipeline": "Document Pipeline train_pipeline",
        "estimators": "Estimator NotFittedError check_estimator clone",
        "corpora": "Graph Sentence Token Tree load_corpus read_sentences",
        "text": "Lemmatizer MorphTagger Tokenizer",
        "tagging": "Tagger ViterbiTagger compare_taggings score_tagging",
        "search": "Task check_task",
        "errors": "TreewrightError",
        "corpora.builtin": "builtin_corpus",
        "loading": "bundled_models load",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
