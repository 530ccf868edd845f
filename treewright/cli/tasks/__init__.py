"""What the command line must know about a task: one small module each, listed in ``TASKS``.

To add one, write a subclass of :class:`Task` in a module of its own and put it into the list: then ``train``,
``parse``, ``evaluate`` and ``info`` know it.
"""

from __future__ import annotations

import os
from typing import Any

from treewright.cli.tasks.amr import AMR
from treewright.cli.tasks.base import Task
from treewright.cli.tasks.constituency import Constituency, Latent
from treewright.cli.tasks.dependency import Dependency, Eisner
from treewright.cli.tasks.tagging import Tagging, Viterbi
from treewright.errors import ModelError

__all__ = ["TASKS", "Task", "load_model"]

TASKS: dict[str, Task] = {
    task.name: task for task in (Tagging(), Dependency(), Constituency(), Latent(), AMR(), Viterbi(), Eisner())
}


def load_model(path: str | os.PathLike[str]) -> tuple[Task, Any]:
    """The task of a model file and the estimator in it."""
    from treewright.models import read_model

    model = read_model(path)
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
    return task, task.estimator().from_model(model)
