"""Load any model: the file says which task it is for."""

from __future__ import annotations

import os
from typing import Any

from treewright.errors import ModelError
from treewright.estimators import Estimator, estimator_class, estimator_names
from treewright.models import read_model

__all__ = ["load"]


def load(path: str | os.PathLike[str]) -> Estimator[Any]:
    """Return the estimator in a model file, ready to use. No code in the file is executed."""
    model = read_model(path)
    if model.task not in estimator_names():
        raise ModelError(
            f"{path} is a model for {model.task!r}; here are estimators for: {', '.join(estimator_names())}"
        )
    return estimator_class(model.task).from_model(model)
