"""The tasks of the command line: one small module each, listed in ``TASKS``.

To add one, write a subclass of :class:`Task` in its own module and add it to the list: then ``train``, ``parse``,
``evaluate`` and ``info`` support it. An installed package declares two entry points with the task's name, one for the
estimator and one for the subclass of :class:`Task`::

    [project.entry-points."treewright.tasks"]
    chunking = "my_package.chunker:Chunker"

    [project.entry-points."treewright.commands"]
    chunking = "my_package.command:Chunking"
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from treewright.bundled import found_model
from treewright.cli.tasks.amr import AMR
from treewright.cli.tasks.base import Task
from treewright.cli.tasks.constituency import Constituency, Latent
from treewright.cli.tasks.dependency import Dependency, Eisner
from treewright.cli.tasks.own import OwnTask
from treewright.cli.tasks.pipeline import PipelineTask
from treewright.cli.tasks.tagging import Tagging, Viterbi
from treewright.cli.tasks.text import Lemmatization, Morphology, Tokenization
from treewright.errors import ConfigError, ModelError
from treewright.plugins import load_plugin, plugins

__all__ = ["TASKS", "Task", "load_model"]


class _Tasks(Mapping[str, Task]):
    """The tasks of the library and of installed packages, by name, imported on first use."""

    def __init__(self, *built_in: Task) -> None:
        self.built_in = {task.name: task for task in built_in}

    def __getitem__(self, name: str) -> Task:
        if name in self.built_in:
            return self.built_in[name]
        if ":" in name:
            return OwnTask(name)
        if name not in plugins("commands"):
            raise KeyError(name)
        found = load_plugin("commands", name)
        if not (isinstance(found, type) and issubclass(found, Task) and found.name == name):
            raise ConfigError(
                f"the entry point {name!r} in the group treewright.commands is {found!r}, not a subclass of "
                f"treewright.cli.tasks.Task with the name {name!r}"
            )
        return found()

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.built_in, *plugins("commands"))))

    def __len__(self) -> int:
        return sum(1 for _ in self)


TASKS = _Tasks(
    Tagging(),
    Dependency(),
    Constituency(),
    Latent(),
    AMR(),
    Viterbi(),
    Eisner(),
    Tokenization(),
    Morphology(),
    Lemmatization(),
    PipelineTask(),
)
"""The tasks that the command line knows, by name."""


def load_model(path: str | os.PathLike[str], format: str | None = None) -> tuple[Task, Any]:
    """The task of a model file and the estimator in it."""
    from treewright.models import read_model

    model = read_model(found_model(path))
    if model.task == "grammar":
        raise ModelError(
            f"{path}: this is a grammar, not a model; make one with it: "
            f"treewright train constituency TRAIN --grammar {path} --out model.tw"
        )
    if model.task not in TASKS:
        raise ModelError(
            f"{path}: a model for {model.task}, which this version does not know; it knows {', '.join(TASKS)}"
        )
    task = TASKS[model.task]
    return task, task.restore(model, format)
