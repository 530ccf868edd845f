"""Tasks compiled by different processes meet in one process, and each of them runs its own code.

Functions of different tasks can have the same name and the same types of arguments. Machine code that was kept on disk
by different processes must not confuse them. Every process here is a real one; all share one cache folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import treewright

pytestmark = pytest.mark.jit

# Two classes of one name whose functions differ. `step` is too long to be inlined, so that the linker sees it.
COUNTING = """
import numpy as np
from treewright.search import Task, kernel, mix

def counting(offset):
    class Counting(Task):
        state = {"total": offset, "last": 1}
        instance = ("words",)
        n_actions = 2

        def initial(x, state):
            state.last[0] = offset

        def step(x, state, action):
            for i in range(x.n):
                total = np.int64(x.words[i] + offset)
                LINES
                state.total[offset - 1] = np.int32(total)

        def encode(self, sentence):
            return {"words": sentence}

    return Counting()

@kernel
def steps(task, corpus, buffer):
    x = task.instance_view(corpus, 0)
    state = task.state_view(buffer, np.int64(x.n))
    task.initial(x, state)
    for action in range(2):
        if x.n > action:
            task.step(x, state, action)
    task.step(x, state, 0)
""".replace("LINES", "; ".join(f"total = mix(total, total + {k})" for k in range(20)))

RUN_COUNTING = """
import json, sys
import numpy as np
from counting import counting, steps

found = {}
for offset in map(int, sys.argv[1:]):
    task = counting(offset)
    buffer = np.zeros(task.state_size(3), np.int32)
    steps(task, task.pack([[1, 2, 3]]).arrays, buffer)
    found[offset] = buffer.tolist()
print(json.dumps(found))
"""

# The built-in tasks; `own` parses with templates of its own, and so has generated features of its own.
TRAIN = """
import treewright
train, _, _ = treewright.builtin_corpus(train=8, dev=1, test=1)
settings = {"learner": {"name": "exploration", "iterations": 1}, "bits": 10}
treewright.Tagger(**settings).fit(train).save("tags.tw")
treewright.DependencyParser(features="basic", **settings).fit(train).save("trees.tw")
treewright.DependencyParser(features={"moves": ["s0.t b0.t", "s0.w"]}, **settings).fit(train).save("own.tw")
treewright.AMRParser(**settings).fit(train).save("graphs.tw")
"""

PREDICT = """
import json, sys
import treewright
_, _, test = treewright.builtin_corpus(train=8, dev=1, test=3)
found = {}
for name in sys.argv[1:]:
    model = treewright.load(f"{name}.tw")
    found[name] = repr(model.tag(test) if name == "tags" else model.parse(test))
print(json.dumps(found))
"""


class Folder:
    """A folder with programs, and with the cache that all of them share."""

    def __init__(self, folder: Path, **programs: str) -> None:
        self.folder = folder
        for name, text in programs.items():
            (folder / f"{name}.py").write_text(text)

    def run(self, program: str, *arguments: str, interpreted: bool = False) -> Any:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "PYTEST_", "COV_"))}
        environment |= {
            "PYTHONPATH": str(Path(treewright.__file__).parents[1]),
            "NUMBA_CACHE_DIR": str(self.folder / "cache"),
            "NUMBA_DISABLE_JIT": str(int(interpreted)),
        }
        done = subprocess.run(
            [sys.executable, f"{program}.py", *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, (done.returncode, done.stderr)
        return json.loads(done.stdout) if done.stdout else None


def test_two_tasks_of_one_name_run_their_own_code(tmp_path):
    folder = Folder(tmp_path, counting=COUNTING, run=RUN_COUNTING)
    expected = folder.run("run", "3", "7", interpreted=True)
    assert expected["3"] != expected["7"]
    for offset in ("3", "7"):
        assert folder.run("run", offset)[offset] == expected[offset]
    assert folder.run("run", "3", "7") == expected
    assert folder.run("run", "7", "3") == expected


def test_every_pair_of_built_in_tasks_runs_its_own_code(tmp_path):
    folder = Folder(tmp_path, train=TRAIN, predict=PREDICT)
    folder.run("train", interpreted=True)
    names = ["tags", "trees", "own", "graphs"]
    expected = folder.run("predict", *names, interpreted=True)
    for name in names:
        assert folder.run("predict", name)[name] == expected[name]
    assert folder.run("predict", *names) == expected  # each task after each of the others: in this order
    assert folder.run("predict", *reversed(names)) == expected  # and in the other
