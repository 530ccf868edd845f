"""The estimators of this library and of installed packages, by the names of their tasks.

A package adds an estimator by an entry point in the group ``treewright.tasks``, with the name of the task::

    [project.entry-points."treewright.tasks"]
    chunking = "my_package.chunker:Chunker"

Then :func:`treewright.load` can read its models. An estimator is imported when its name is first used.

An estimator without a package has the name ``module:Class``. It is found only if its module is already imported,
because a model file must not cause imports.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from treewright.errors import ConfigError
from treewright.estimators.base import Estimator
from treewright.plugins import load_plugin, plugins

__all__ = ["estimator_class", "estimator_names"]

_BUILT_IN = {
    "tagging": "treewright.tagging:Tagger",
    "dependency": "treewright.dependency:DependencyParser",
    "viterbi": "treewright.tagging:ViterbiTagger",
    "eisner": "treewright.dependency:EisnerParser",
    "constituency": "treewright.constituency:ConstituencyParser",
    "latent": "treewright.constituency:LatentParser",
    "amr": "treewright.amr:AMRParser",
    "tokenization": "treewright.text:Tokenizer",
    "morphology": "treewright.text:MorphTagger",
    "lemmatization": "treewright.text:Lemmatizer",
}


def estimator_names() -> list[str]:
    """Return the names of all tasks that have an estimator.

    >>> estimator_names()[:3]
    ['tagging', 'dependency', 'viterbi']
    """
    return [*_BUILT_IN, *(name for name in plugins("tasks") if name not in _BUILT_IN)]


def estimator_class(task: str) -> type[Estimator[Any]]:
    """Return the estimator of a task.

    Raises:
        ConfigError: if there is no such task, or if an installed package declares something else under its name.

    >>> estimator_class("tagging").__name__
    'Tagger'
    """
    if task in _BUILT_IN:
        module, _, name = _BUILT_IN[task].partition(":")
        found: Any = getattr(import_module(module), name)
    elif task in plugins("tasks"):
        found = load_plugin("tasks", task)
    elif ":" in task:
        module, _, name = task.partition(":")
        found = getattr(sys.modules.get(module), name, None)
        if found is None:
            raise ConfigError(f"the estimator {task!r} is not here: import {module} first (--import {module})")
    else:
        raise ConfigError(f"there is no task {task!r}; there are: {', '.join(estimator_names())}")
    if not (isinstance(found, type) and issubclass(found, Estimator)):
        raise ConfigError(
            f"the entry point {task!r} in the group treewright.tasks is {found!r}, not an Estimator class"
        )
    return found
