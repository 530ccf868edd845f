"""Find out which function of a task does not compile, and why."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.search.task import PROTOCOL, Packed

__all__ = ["explain_compilation"]

_NOISE = (
    "During:",
    "Failed in nopython",
    "This error may have been",
    "Overload of function",
    "There are",
    "- Of which",
)
_HINT = (
    "Functions of a task are restricted to what Numba compiles, and their helpers need `@compiled`; with "
    "NUMBA_DISABLE_JIT=1 everything runs as plain Python."
)


def explain_compilation(packed: Packed, error: Exception) -> str:
    """Compile the functions of the task one by one, and say which one fails and why."""
    from numba import typeof
    from numba.core.errors import NumbaError

    task = packed.task
    functions = task.compiled_functions()
    i = int(np.argmax(packed.lengths))
    n = int(packed.lengths[i])
    x = packed.instance(i)
    actions, costs = np.zeros(task.n_actions, np.int32), np.zeros(task.n_actions, np.float64)
    features = np.zeros(task.max_features, np.int32)
    arguments: dict[str, tuple[Any, ...]] = {
        "actions": (actions,),
        "step": (np.int64(0),),
        "features": (features,),
        "action_features": (np.int64(0), features),
        "positions": (features,),
        "structure": (features,),
        "expert_costs": (actions, np.int64(1), costs),
    }
    for name in PROTOCOL:
        state = task.state_view(np.zeros(task.state_size(n), np.int32), n)
        try:
            _part(functions[name]).compile(tuple(typeof(value) for value in (x, state, *arguments.get(name, ()))))
        except NumbaError as found:
            return f"`{name}` does not compile.\n{_telling(found)}\n{_HINT}"
    return f"the task does not compile together with its policy.\n{_telling(error)}\n{_HINT}"


def _part(function: Any) -> Any:
    """The function that compiled code calls; it has no wrapper for Python."""
    return getattr(function.dispatcher, "part", function.dispatcher)


def _telling(error: Exception) -> str:
    """The lines of Numba's report that name the cause: the message, the location, the source."""
    lines = [line.rstrip() for line in str(error).splitlines()]
    kept = [line for line in lines if line.strip() and not line.strip().startswith(_NOISE)]
    return "\n".join(kept[:16])
