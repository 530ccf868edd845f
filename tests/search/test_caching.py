"""Compiled code is kept across processes, also where the package folder cannot be written, and is never stale.

Each process here is a real one. It works on a copy of the package in which ``__pycache__`` is a file, so that nobody,
not even root, can write the cache there: it must go to the user's cache folder.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import treewright

pytestmark = pytest.mark.jit

TASK = """
from helper import right_label
from treewright.search import Task, mix

class Shift(Task):
    state = {"position": 1, "labels": "n", "errors": 1}
    instance = ("words",)
    n_actions = 3
    max_features = 2

    def is_final(x, state):
        return state.position[0] == x.n

    def step(x, state, action):
        i = state.position[0]
        state.labels[i] = action
        if action != right_label(x.words[i]):
            state.errors[0] += 1
        state.position[0] = i + 1

    def features(x, state, out):
        out[0] = mix(1, x.words[state.position[0]])
        return 1

    def expert_costs(x, state, actions, n, out):
        for k in range(n):
            out[k] = 0.0 if actions[k] == right_label(x.words[state.position[0]]) else 1.0

    def loss(x, state):
        return 1.0 * state.errors[0]

    def encode(self, sentence):
        return {"words": sentence}
"""

HELPER = """
from treewright.search import compiled

@compiled
def right_label(word):
    return word % 3
"""

POLICY = """
import numpy as np
from treewright.search import Policy, Scorer, Scoring, Sizes

class Favourite(Scoring):
    def score(arrays, member, size, n, scratch):
        for k in range(n):
            scratch.scores[k] = np.float32(1.0 if scratch.actions[k] == arrays[0] else 0.0)

    def sizes(self, task):
        return Sizes(observed=0, sums=0)

class Mine(Policy):
    def prepare(self, packed, which):
        return Scorer(Favourite(), np.array([1]), self.mixture)
"""

PROGRAM = """
import json
import numpy as np
import sys
from treewright.search import decode
from treewright.search.compiling import compilations
from treewright.tagging import SequenceLabelling
from mypolicy import Mine
from mytask import Shift

begun, found = [], {}
compilations.listeners.append(begun.append)
users = Shift().pack([[0, 1, 2, 3, 4, 5], [5, 4]])
policies = {"expert": None, "policy": np.tile(np.array([1, 2, 3], np.float32), (4, 1)), "mine": Mine()}
for name in sys.argv[1:]:
    if name in policies:
        decoded = decode(users, policies[name])
        found |= {name: [int(a) for a in decoded.state(0).labels], "loss": float(decoded.losses.sum())}
    else:
        labelling = SequenceLabelling(3, np.zeros((2, 13), np.int32))
        at = np.array([0, 2], np.int64)
        built_in = labelling.packed(
            np.array([2], np.int32),
            {"words": np.ones(2, np.int32), "words_at": at, "gold": np.array([1, 2], np.int32), "gold_at": at},
        )
        found[name] = [int(a) for a in decode(built_in, None).state(0).labels]
print(json.dumps({**found, "compilations": sum(begun), "numba": "numba" in sys.modules}))
"""
ALL = ("policy", "mine", "built-in", "expert")


ROWS = """
import json
import numpy as np
from treewright.search.compiling import compilations
from treewright.tagging.viterbi import rows_pass

begun, rows = [], np.zeros((1, 1), np.int64)
compilations.listeners.append(begun.append)
none, zeros = np.zeros((0, 4), np.int32), np.zeros((1, 1), np.int32)
rows_pass(none, zeros[0], np.array([0, 1]), zeros, 2**40 - 1, rows)
print(json.dumps({"row": int(rows[0, 0]), "compilations": sum(begun)}))
"""


class Workshop:
    """A folder with a copy of the package, a user's task, and a cache folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "site" / "treewright"
        source = Path(treewright.__file__).parent
        shutil.copytree(source, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        for room in [self.package, *(p for p in self.package.rglob("*") if p.is_dir())]:
            (room / "__pycache__").write_text("a file where a folder is wanted: nothing can be cached here")
        (folder / "user").mkdir()
        self.write("mytask.py", TASK)
        self.write("mypolicy.py", POLICY)
        self.write("helper.py", HELPER)
        self.write("program.py", PROGRAM)
        self.write("rows.py", ROWS)

    def write(self, name: str, text: str) -> None:
        (self.folder / "user" / name).write_text(text)

    def run(self, *what: str, cache: Path | None = None, program: str = "program.py") -> tuple[dict, str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "PYTEST_", "COV_"))}
        environment |= {
            "PYTHONPATH": str(self.folder / "site"),
            "XDG_CACHE_HOME": str(cache or self.folder / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            [sys.executable, program, *what],
            cwd=self.folder / "user",
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr


def test_second_process_compiles_nothing_and_every_edit_takes_effect(tmp_path):
    workshop = Workshop(tmp_path)

    cold, _ = workshop.run(*ALL)
    assert cold["expert"] == [0, 1, 2, 0, 1, 2]
    assert cold["policy"] == [2] * 6
    assert cold["mine"] == [1] * 6
    assert cold["built-in"] == [1, 2]
    assert cold["loss"] == 0.0
    assert cold["compilations"] == len(list((tmp_path / "cache" / "treewright").glob("*.kernel"))) > len(ALL)
    assert cold["numba"]

    warm, _ = workshop.run(*ALL)
    assert warm == {**cold, "compilations": 0, "numba": False}

    scoring = workshop.package / "search" / "scoring.py"
    before = scoring.read_text()
    scoring.write_text("# a comment moves all lines\n" + before + "\nUNREAD = 1\n")
    workshop.write("helper.py", "UNREAD = 1\n" + HELPER.replace("word % 3", "word % 3  # a comment"))
    commented, _ = workshop.run(*ALL)
    assert commented == warm

    workshop.write("mypolicy.py", POLICY.replace("== arrays[0]", "== arrays[0] + 1"))
    workshop.write("helper.py", HELPER.replace("word % 3", "(word + 1) % 3"))
    edited, _ = workshop.run("mine", "expert")  # no kernel has both
    assert edited["mine"] == [2] * 6
    assert edited["expert"] == [1, 2, 0, 1, 2, 0]

    workshop.write("mytask.py", TASK.replace("1.0 * state.errors[0]", "7.0 + state.errors[0]"))
    task_edited, _ = workshop.run("expert")
    assert task_edited["loss"] == 14.0

    workshop.write("helper.py", HELPER)
    workshop.write("mytask.py", TASK)
    scoring.write_text(before.replace("if values[k] > values[best]:", "if values[k] < values[best]:"))
    assert scoring.read_text() != before
    engine_edited, _ = workshop.run("policy")
    assert engine_edited["policy"] == [0] * 6


def test_a_kernel_without_a_task_notices_an_edit_in_another_module(tmp_path):
    workshop = Workshop(tmp_path)
    cold, _ = workshop.run(program="rows.py")
    assert cold["compilations"] == 1
    warm, _ = workshop.run(program="rows.py")
    assert warm == {"row": cold["row"], "compilations": 0}
    hashing = workshop.package / "search" / "hashing.py"
    text = hashing.read_text()
    assert text.count("    return total ^ (total >> _FOLD)\n") == 1
    hashing.write_text(text.replace("return total ^ (total >> _FOLD)", "return (total ^ (total >> _FOLD)) + 1"))
    edited, _ = workshop.run(program="rows.py")
    assert edited == {"row": cold["row"] + 1, "compilations": 1}


def test_without_any_writable_folder_it_runs_uncached_and_says_so_once(tmp_path):
    workshop = Workshop(tmp_path)
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder is wanted")
    result, errors = workshop.run("expert", cache=blocked / "cache")
    assert result["expert"] == [0, 1, 2, 0, 1, 2]
    assert errors.count("cannot be kept on disk") == 1
    assert "NUMBA_CACHE_DIR" in errors
