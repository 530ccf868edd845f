"""Which worker runs which tests: what shares compiled code stays in one process.

Compilation is most of the time of a first run. Two processes that run tests of one task at the same time compile the
same functions twice. So the tests of a task, wherever they are, are one unit of work, and the long units come first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xdist.scheduler import LoadScopeScheduling

#: The tasks, and what stands for them in the names of folders, files and estimators; the slowest first.
TASKS = {
    "constituency": ("constituency", "latent", "agenda", "planners"),
    "amr": ("amr", "smatch", "align"),
    "dependency": ("dependency", "eisner"),
    "learners": ("learners",),
    "text": ("text", "pipeline", "tokenization", "morphology", "lemmatization"),
    "search": ("search",),
    "tagging": ("tagging", "viterbi"),
}
CONFORMANCE = "tests/estimators/test_conformance.py"  # for every estimator in turn
_TASK_OF = {name: task for task, names in TASKS.items() for name in names}


def unit(nodeid: str) -> str:
    """The unit of work to which a test belongs: a task, or else the file of the test.

    >>> unit("tests/dependency/test_eisner.py::test_one"), unit("docs/dependency.md::dependency.md")
    ('dependency', 'dependency')
    >>> unit("tests/estimators/test_conformance.py::test_conformance[eisner-sentences of any length]")
    'dependency'
    >>> unit("tests/test_files.py::test_one")
    'tests/test_files.py'
    """
    return next((_TASK_OF[name] for name in _names(nodeid) if name in _TASK_OF), nodeid.partition("::")[0])


def _names(nodeid: str) -> Iterator[str]:
    path, _, test = nodeid.partition("::")
    if path == CONFORMANCE:
        yield re.split(r"[-\]]", test.partition("[")[2])[0]
    for part in path.split("/"):
        yield part.removeprefix("test_").partition(".")[0]


class ByTask(LoadScopeScheduling):  # type: ignore[misc]
    """Gives each worker one unit of work after the other."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        tasks = list(TASKS)
        first = min(self.workqueue, key=lambda name: tasks.index(name) if name in TASKS else len(tasks))
        self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)
