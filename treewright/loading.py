"""Load any model: the file says which task it is for."""

from __future__ import annotations

import os
from importlib import import_module

from treewright.errors import ModelError
from treewright.learners.estimator import Estimator
from treewright.models import read_model

__all__ = ["ESTIMATORS", "load"]

#: the estimator of each task, as ``module:class``
ESTIMATORS = {
    "tagging": "treewright.tagging:Tagger",
    "dependency": "treewright.dependency:DependencyParser",
    "viterbi": "treewright.tagging:ViterbiTagger",
    "eisner": "treewright.dependency:EisnerParser",
    "constituency": "treewright.constituency:ConstituencyParser",
    "latent": "treewright.constituency:LatentParser",
    "amr": "treewright.amr:AMRParser",
}


def load(path: str | os.PathLike[str]) -> Estimator:
    """The estimator in a model file, ready to use. No code in the file is executed."""
    model = read_model(path)
    if model.task not in ESTIMATORS:
        raise ModelError(
            f"{path} is a model for {model.task!r}; this version of Treewright knows: {', '.join(ESTIMATORS)}"
        )
    module, _, name = ESTIMATORS[model.task].partition(":")
    estimator: type[Estimator] = getattr(import_module(module), name)
    return estimator.from_model(model)
