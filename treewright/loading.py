"""Load any model: the file says which task it is for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from treewright.bundled import bundled_models, found_model
from treewright.errors import ModelError
from treewright.estimators import estimator_class, estimator_names
from treewright.models import read_model

__all__ = ["bundled_models", "load"]


def load(path: str | os.PathLike[str], *, without: Iterable[str] = ()) -> Any:
    """Return the estimator or the pipeline in a model file, ready to use. No code in the file is executed.

    The name of a bundled model, such as ``english``, may stand for its file (:func:`bundled_models` lists them).
    Components of a pipeline that make one of the layers in ``without`` (``dependency``, ``constituency``, ``amr``) are
    not loaded, which saves time and memory: ``load("english", without=["amr"])``.
    """
    model = read_model(found_model(path))
    if model.task == "pipeline":
        from treewright.pipeline import Pipeline  # not above: the other models do not need its components

        return Pipeline.from_model(model, without)
    if model.task not in estimator_names() and ":" not in model.task:
        raise ModelError(
            f"{path} is a model for {model.task[:40]!r}; here are estimators for: {', '.join(estimator_names())}"
        )
    return estimator_class(model.task).from_model(model)
