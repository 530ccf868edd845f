"""Kernels: compiled code with checks of all indices, in every order of first use, and against the interpreter.

Kernels are compiled with ``NUMBA_BOUNDSCHECK=1``, in a separate cache. An index outside of an array then raises an
IndexError, also in the vector operations of charts. :class:`Alarm` shows that such an error is noticed.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from itertools import permutations, zip_longest
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from campaign.frame import Check, Finding
from campaign.trainings import BUILD, ROOT, Corpus, commands, ended, expect, forked, run_command

CHECKED = BUILD / "checked-kernels"
OWN = BUILD / "own-kernels"  # of random tasks; parts that no task changes are compiled once


def checks() -> list[Check]:
    return [Alarm(), Bounds(), Walks(), Order(), OwnTasks()]


def check_indices() -> None:
    """Compile with checks of indices from now on; call this before Numba is imported."""
    expect("numba" not in sys.modules, "Numba is imported already")
    os.environ |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(CHECKED), "TREEWRIGHT_COMPILE": "now"}


# ---- can the checks fail?


class Alarm(Check):
    """Wrong kernels: an index outside of an array must be noticed, and an index inside must not."""

    name = "alarm"
    what = "wrong and right indices in a kernel: every wrong one is noticed"
    goal = 10_000
    quick = 500
    limit = 300

    def prepare(self, folder: Path) -> None:
        check_indices()
        import numpy as np

        from treewright.search import compiled, kernel
        from treewright.search.lanes import raise_to_sum, set_block

        @compiled
        def inner(numbers: Any, i: int) -> Any:
            return numbers[i]

        @kernel
        def read(numbers: Any, i: int) -> Any:
            return inner(numbers, i)

        @kernel
        def write(numbers: Any, i: int) -> None:
            numbers[i] = 1.0

        @kernel
        def read_matrix(matrix: Any, i: int, j: int) -> Any:
            return matrix[i, j]

        @kernel
        def block(numbers: Any, i: int) -> None:
            set_block(numbers, i, 1.0)

        @kernel
        def sums(out: Any, o: int, left: Any, i: int, right: Any, j: int) -> None:
            raise_to_sum(out, o, left, i, right, j)

        self.kernels = {"read": read, "write": write, "matrix": read_matrix, "block": block, "sums": sums}
        self.array = lambda n: np.zeros(n)

    def case(self, random: Random, number: int) -> tuple[str, int, list[int]]:
        name = ("read", "write", "matrix", "block", "sums")[number % 5]
        size = random.randint(1, 12) if name != "block" and name != "sums" else random.randint(8, 24)
        places = [random.randint(-size - 3, size + 3) for _ in range({"matrix": 2, "sums": 3}.get(name, 1))]
        return name, size, places

    def run(self, case: tuple[str, int, list[int]]) -> None:
        name, size, places = case
        vector = name in ("block", "sums")  # blocks of eight; they take no negative indices
        fits = [0 <= i <= size - 8 if vector else -size <= i < size for i in places]
        arguments: list[Any] = [self.array(size), *places]
        if name == "matrix":
            arguments[0] = self.array(size * size).reshape(size, size)
        elif name == "sums":
            arguments = [each for i in places for each in (self.array(size), i)]
        try:
            self.kernels[name](*arguments)
        except IndexError:
            expect(not all(fits), "an index inside the array is an error")
        else:
            expect(all(fits), "an index outside of the array was not noticed")
            expect(bool(self.kernels[name]._variants), "no machine code was made: the check says nothing")


# ---- every task, learner, update, system and decoder


@cache
def variations() -> list[tuple[str, dict[str, Any]]]:
    """Return pairs of a task and settings: each learner, update and value of a setting of every task, one at a time.

    Each task has its turn, so that the first pairs have something of every task.
    """
    from treewright.estimators.registry import estimator_names

    turns = zip_longest(*([(task, settings) for settings in _of_task(task)] for task in estimator_names()))
    further = [(task, next(_of_task(task)) | settings) for task, each in FURTHER.items() for settings in each]
    return [*(pair for turn in turns for pair in turn if pair is not None), *further]


#: values of numbers, switches and structures that change the work of kernels
FURTHER: dict[str, list[dict[str, Any]]] = {
    "dependency": [{"features": "rich"}],
    "viterbi": [{"order": 0}],
    "constituency": [
        {"grammar": "v2h1"},
        {"shrink": False},
        {"decoder": "max-rule", "prune": 0.001},
        {"max_gap": 5.0, "search": "agenda"},
        {"tradeoff": 0.5, "search": "agenda"},
    ],
    "latent": [{"products": 2}, {"prune": 0.0}, {"tradeoff": 0.5}],
    "amr": [
        {"reentrance": False},
        {"joint": True},
        {"punctuation": True},
        {"shenanigans": True},
        {"reach": 0},
        {"without": "actions,words,paths"},
    ],
    "morphology": [{"sharing": False}, {"columns": "upos"}],
}


def _of_task(task: str) -> Iterator[dict[str, Any]]:
    from treewright.estimators.registry import estimator_class
    from treewright.learners import learner_rows
    from treewright.policies.updates import UPDATES
    from treewright.settings import Choice

    kind = estimator_class(task)
    known = inspect.signature(kind.__init__).parameters
    small = {"bits": 8, "min_count": 1, "features": "basic", "grammar": "v1h0", "seed": 1}
    base = {name: value for name, value in small.items() if name in known}
    rows = learner_rows(*kind.learners()) if kind.learners() else {}
    usual = known["learner"].default if "learner" in known else None
    yield base | ({"learner": _learner(rows[usual])} if usual in rows else {})
    for setting in kind.settings:
        if isinstance(setting.values, Choice) and setting.name not in ("device", "policy", "column"):
            for value in setting.values.names:
                if value != known[setting.name].default:
                    yield base | {setting.name: value} | ({"learner": _learner(rows[usual])} if usual in rows else {})
    for row in rows.values():
        beam = {"beam": 3} if "violation" in row.__dataclass_fields__ and "beam" in known else {}
        yield base | beam | {"learner": _learner(row)}
        if "update" in row.__dataclass_fields__:
            for update in UPDATES:
                yield base | beam | {"learner": _learner(row) | {"update": update}}
    if "beam" in known:
        yield base | {"beam": 4, "learner": _learner(rows[usual])}
    if "policy" in known:
        yield base | {"policy": "small", "learner": {"name": usual, "passes": 1}}


def _learner(row: Any) -> dict[str, Any]:
    small = {"passes": 2, "cycles": 1, "split": 2, "merge": 1, "smooth": 1, "starts": 1, "samples": 1}
    return {"name": row.name} | {k: v for k, v in small.items() if k in row.__dataclass_fields__}


REAL = {
    "conllu": ("ud-english-ewt/dev.conllu", "ud-afrikaans-afribooms/dev.conllu"),
    "trees": ("ptb-wsj-sample/dev.ptb", "masc-ptb/dev.ptb", "craft-ptb/dev.ptb"),
    "graphs": ("amr-little-prince/dev.amr",),
}


@cache
def corpora(task: str) -> list[Sequence[Any]]:
    """Return the built-in corpus, and the real corpora on this machine that have the annotation of a task."""
    from treewright import builtin_corpus
    from treewright.corpora import read_sentences

    data = Path(os.environ.get("TREEWRIGHT_DATA", ROOT.parent / "shared" / "data"))
    layer = {"constituency": "trees", "latent": "trees", "amr": "graphs"}.get(task, "conllu")
    found: list[Sequence[Any]] = [list(builtin_corpus(train=300, dev=1, test=1).train)]
    for name in REAL[layer]:
        if (data / name).is_file():
            if layer == "graphs":
                from treewright.cli.tasks.graphs import load_graphs

                folder = (data / name).parent
                found.append(load_graphs(str(data / name), format="amr", trees=str(folder / "trees" / "dev.conllu")))
            else:
                found.append([s for s in read_sentences(data / name) if len(s) <= 25])
    return found


class Bounds(Check):
    """Every kernel, with checks of indices: training, annotation, scores, traces, best lists."""

    name = "bounds"
    what = "trainings with every task, learner, update, system and decoder, all indices checked"
    limit = 900
    quick = 1

    @property
    def goal(self) -> int:  # type: ignore[override]
        """Three corpora for each variation."""
        return 3 * len(variations())

    def prepare(self, folder: Path) -> None:
        self.folder = folder
        check_indices()

    def case(self, random: Random, number: int) -> tuple[str, dict[str, Any], int, int, int]:
        every = variations()
        task, settings = every[number % len(every)]
        source = number // len(every) % len(corpora(task))
        first = random.randrange(len(corpora(task)[source]) - 14)
        return task, settings, source, first, random.choice((1, 2, 3))

    def run(self, case: tuple[str, dict[str, Any], int, int, int]) -> None:
        from treewright.cli.tasks import TASKS
        from treewright.errors import ConfigError, CorpusError
        from treewright.estimators import Estimator
        from treewright.estimators.registry import estimator_class

        task, settings, source, first, jobs = case
        if settings.get("policy") == "small":
            try:
                import torch
            except ImportError:
                return
            torch.set_num_threads(1)
        sentences = corpora(task)[source][first : first + 14]
        train, dev, test = sentences[:8], sentences[8:11], sentences[11:]
        estimator = estimator_class(task)(**settings)
        try:
            estimator.fit(train, dev, jobs=jobs)
        except (ConfigError, CorpusError) as error:
            if settings == next(iter(_of_task(task))) and source == 0:
                raise Finding(f"the usual settings are refused: {error}") from None
            return  # settings that cannot be combined, or a corpus without the annotation
        estimator.warns = False
        found = estimator.predict(test, jobs=jobs)
        again = type(estimator).from_model(estimator.to_model())
        again.warns = False
        expect(again.predict(test) == found, "the model predicts something else after it was saved")
        estimator.evaluate(test)
        TASKS[task].exercise(estimator, test[0])  # other code of the commands: comparisons, best lists
        if type(estimator)._trace is not Estimator._trace:
            estimator.trace(test[0])


class Walks(Check):
    """Random walks through the states of built-in tasks, interpreted: no index is negative, costs are as declared."""

    name = "walks"
    what = "sentences walked at random through the states of every built-in task: no negative index"
    limit = 300
    quick = 6

    @cached_property
    def _every(self) -> list[tuple[str, dict[str, Any]]]:
        """The settings of tasks, without those of learning and search, which do not change the states."""
        found = {}
        for task, settings in variations():
            if settings.get("learner", {}).get("name") == "exploration" and "policy" not in settings:
                states = {name: value for name, value in settings.items() if name not in ("learner", "beam")}
                found.setdefault((task, repr(states)), (task, states))
        return list(found.values())

    @property
    def goal(self) -> int:  # type: ignore[override]
        return 20 * len(self._every)

    def prepare(self, folder: Path) -> None:
        expect("treewright.search.engine" not in sys.modules, "kernels are imported already")
        os.environ["NUMBA_DISABLE_JIT"] = "1"
        import numpy as np

        from treewright.learners import training
        from treewright.search import checking

        def walk(packed: Any) -> None:
            for i in np.flatnonzero(packed.lengths > 0)[:4]:
                checking._random_walk(packed.task.plain(), packed, int(i), np.random.default_rng(int(i)))
                self.walked += 1
            raise _Walked

        training.preflight = walk  # called with every packed training corpus

    def case(self, random: Random, number: int) -> tuple[str, dict[str, Any], int, int]:
        task, settings = self._every[number % len(self._every)]
        source = random.randrange(len(corpora(task)))
        return task, settings, source, random.randrange(len(corpora(task)[source]) - 5)

    def run(self, case: tuple[str, dict[str, Any], int, int]) -> None:
        from treewright.errors import ConfigError, CorpusError
        from treewright.estimators.registry import estimator_class

        task, settings, source, first = case
        self.walked = 0
        try:
            estimator_class(task)(**settings).fit(corpora(task)[source][first : first + 5])
        except _Walked:
            expect(self.walked > 0, "nothing was walked")
        except (ConfigError, CorpusError) as error:
            if settings == next(iter(_of_task(task))) and source == 0:
                raise Finding(str(error)) from None


class _Walked(Exception):
    """The walk is over: nothing is learned."""


# ---- the order of first use

PREDICT = """
import hashlib, json, sys
import treewright
test = treewright.builtin_corpus(train=8, dev=1, test=3).test
found = {}
for path in sys.argv[1:]:
    model = treewright.load(path)
    words = [list(sentence.forms) for sentence in test] if path.endswith("tokenization.tw") else test
    found[path] = hashlib.sha256(repr(model.predict(words)).encode()).hexdigest()
print(json.dumps(found))
"""


class Order(Check):
    """Models of several tasks in one process, in every order, with machine code of different processes."""

    name = "order"
    what = "processes that use two, three or all tasks, in every order, with code that other processes compiled"
    limit = 900
    quick = 0  # tests/search/test_collisions.py runs a part of it

    kinds = tuple(kind for kind in commands() if "," not in kind and kind not in ("pipeline", "latent"))

    def __init__(self) -> None:
        pairs = list(permutations(self.kinds, 2))
        self.goal = len(pairs) + 60

    def prepare(self, folder: Path) -> None:
        self.folder, corpus = folder, Corpus(folder / "corpus", 12)
        self.caches = [BUILD / "order-kernels" / name for name in ("alone", "together")]
        environment = self._environment(folder / "unused", NUMBA_DISABLE_JIT="1")
        for kind in self.kinds:
            command = corpus.train(kind, self._model(kind))
            log = folder / "log"
            expect(ended(forked(lambda command=command: run_command(command), log)) == 0, log.read_text()[-1000:])
        self.right = self._predictions(self.kinds, environment)
        self.compiled: set[str] = set()

    def _model(self, kind: str) -> Path:
        return self.folder / f"{kind}.tw"

    def _environment(self, cache: Path, **more: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "TREEWRIGHT_"))}
        return {**kept, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(cache), **more}

    def _predictions(self, kinds: Sequence[str], environment: dict[str, str]) -> dict[str, str]:
        models = [str(self._model(kind)) for kind in kinds]
        done = subprocess.run(
            [sys.executable, "-c", PREDICT, *models], env=environment, capture_output=True, check=False
        )
        expect(done.returncode == 0, f"{kinds}: ended with {done.returncode}: {done.stderr.decode()[-2000:]}")
        return {Path(path).stem: digest for path, digest in json.loads(done.stdout).items()}

    def _compile(self, kind: str) -> None:
        """Compile each kernel in a process that uses only one task."""
        if kind not in self.compiled:
            environment = self._environment(self.caches[0], TREEWRIGHT_COMPILE="now")
            expect(self._predictions([kind], environment) == {kind: self.right[kind]}, f"{kind}: compiled is different")
            self.compiled.add(kind)

    def case(self, random: Random, number: int) -> tuple[list[str], float, int]:
        pairs = list(permutations(self.kinds, 2))
        if number < 3:
            kinds = [("tagging", "dependency"), ("dependency", "tagging"), ("lemmatization", "tagging", "dependency")][
                number
            ]
        elif number < len(pairs):
            kinds = pairs[number]
        else:
            kinds = random.sample(self.kinds, random.choice((3, 3, 4, len(self.kinds))))
        return list(kinds), random.choice((0.0, 0.5, 1.0)), random.getrandbits(32)

    def run(self, case: tuple[list[str], float, int]) -> None:
        kinds, share, seed = case
        random = Random(seed)
        for kind in kinds:
            self._compile(kind)
        cache = self.folder / "mixed"
        cache.mkdir()
        for file in self.caches[0].iterdir():  # some entries are missing: this process compiles them
            if random.random() >= share * 0.1:
                (cache / file.name).write_bytes(file.read_bytes())
        try:
            found = self._predictions(kinds, self._environment(cache, TREEWRIGHT_COMPILE="now"))
            expect(found == {kind: self.right[kind] for kind in kinds}, f"{kinds}: the order changes what is predicted")
        finally:
            for file in cache.iterdir():
                file.unlink()
            cache.rmdir()


# ---- tasks of users

TASK = """
import math
import numpy as np
from treewright.search import Task, compiled, cross2, mix

@compiled
def helper(a, b):
    {helper}

class Own(Task):
    state = {state}
    instance = ("words", "gold")
    n_actions = {actions}
    max_steps = "n"
    max_features = 6
    oracle = "optimal"

    def is_final(x, state):
        return state.position[0] >= x.n

    def initial(x, state):
        i = 0
        {initial}

    def actions(x, state, out):
        i = state.position[0]
        n = 0
        for action in range({actions}):
            if action == x.gold[i] or ({offered}) % 3 != 0:
                out[n] = action
                n += 1
        return n

    def step(x, state, action):
        i = state.position[0]
        {step}
        state.labels[i] = action
        if action != x.gold[i]:
            state.errors[0] += 1
        state.position[0] = i + 1

    def features(x, state, out):
        i = state.position[0]
        action = 0
        {features}
        return {n_features}

    def expert_costs(x, state, actions, n, out):
        i = state.position[0]
        for k in range(n):
            out[k] = 0.0 if actions[k] == x.gold[i] else {cost}

    def loss(x, state):
        return float(state.errors[0])

    def encode(self, sentence):
        words, gold = sentence
        return {{"words": np.array(words, np.int32), "gold": np.array(gold, np.int32)}}

    def length(self, sentence):
        return len(sentence[0])
"""


class _Writing:
    """Writes random code over integers that stay small, so that 32 bits and 64 bits give the same results."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.memory = random.randint(1, 4)

    def number(self, depth: int, names: Sequence[str]) -> str:
        random = self.random
        if depth == 0 or random.random() < 0.15:
            return random.choice((*names, str(random.randint(0, 9)), "x.n", "x.words[i]", "state.total[0]"))
        a, b = (self.number(depth - 1, names) for _ in range(2))
        return random.choice(
            (
                f"(({a} + {b}) % 1009)",
                f"(({a} - {b}) % 997)",
                f"(({a} * {b}) % 1013)",
                f"({a} // {random.randint(1, 9)})",
                f"({a} % {random.randint(1, 9)})",
                f"({a} & {b})",
                f"({a} | {b})",
                f"({a} ^ {b})",
                f"({a} >> {random.randint(0, 5)})",
                f"min({a}, {b})",
                f"max({a}, {b})",
                f"abs({a} - {b})",
                f"x.words[({a}) % x.n]",
                f"state.memory[({a}) % {self.memory}]",
                f"state.labels[({a}) % x.n]",
                f"helper({a}, {b})",
                f"(mix({a}, {b}) % 1019)",
                f"int(math.sqrt(float({a})))",
                f"({a} if {self.condition(depth - 1, names)} else {b})",
            )
        )

    def condition(self, depth: int, names: Sequence[str]) -> str:
        a, b = (self.number(max(depth, 0), names) for _ in range(2))
        return f"{a} {self.random.choice(('<', '<=', '==', '!=', '>'))} {b}"

    def statements(self, names: Sequence[str], indent: str, depth: int = 2) -> str:
        lines = []
        for _ in range(self.random.randint(1, 3)):
            target = self.random.choice(("state.total[0]", f"state.memory[({self.number(1, names)}) % {self.memory}]"))
            plain = f"{target} = np.int32({self.number(2, names)} % 1021)"
            kind = self.random.random()
            if depth and kind < 0.3:
                inner = self.statements(names, indent + "    ", depth - 1)
                lines.append(f"if {self.condition(1, names)}:\n{indent}    {inner}\n{indent}else:\n{indent}    {plain}")
            elif depth and kind < 0.5:
                inner = self.statements((*names, "j"), indent + "    ", depth - 1)
                lines.append(
                    f"for j in range({self.random.randint(0, 3)}, {self.random.randint(1, 6)}):\n{indent}    {inner}"
                )
            else:
                lines.append(plain)
        return f"\n{indent}".join(lines)

    def task(self) -> str:
        random = self.random
        n = random.randint(1, 6)
        features = [f"out[{k}] = cross2({k}, {self.number(2, ['i'])}, {self.number(1, ['i'])})" for k in range(n)]
        helper = random.choice(
            (
                "return (a + b) % 1009",
                "if a > b:\n        return a - b\n    return (b * 3) % 997",
                "return a % 7 + b % 5",
            )
        )
        state = {"position": 1, "total": 1, "memory": self.memory, "labels": "n", "errors": 1}
        return TASK.format(
            helper=helper,
            state=repr(dict(random.sample(list(state.items()), len(state)))),
            actions=random.randint(2, 5),
            initial=self.statements(["i"], " " * 8, 1),
            offered=self.number(2, ["i", "action"]),
            step=self.statements(["i", "action"], " " * 8),
            features="\n        ".join(features),
            n_features=n,
            cost=random.choice(("1.0", "1.0 + i % 3", "0.5 * (1 + actions[k])")),
        )


class OwnTasks(Check):
    """Random tasks of a user: compiled and interpreted code do the same, and the contract is kept."""

    name = "own-tasks"
    what = "random tasks of a user, compiled with checks of indices: the same as interpreted"
    goal = 100
    quick = 2
    limit = 300

    def prepare(self, folder: Path) -> None:
        check_indices()
        os.environ["NUMBA_CACHE_DIR"] = str(OWN)

    def case(self, random: Random, number: int) -> tuple[str, list[Any]]:
        text = _Writing(random).task()
        actions = int(text.partition("n_actions = ")[2].partition("\n")[0])
        lengths = [random.randint(1, 5) for _ in range(6)]
        corpus = [
            ([random.randint(0, 20) for _ in range(n)], [random.randrange(actions) for _ in range(n)]) for n in lengths
        ]
        return text, corpus

    def shown(self, case: tuple[str, list[Any]]) -> str:
        return f"{case[0]}\n# {case[1]}"

    def run(self, case: tuple[str, list[Any]]) -> None:
        import numpy as np

        from treewright.search import check_task, decode

        text, corpus = case
        task = _module(text).Own()
        report = check_task(task, corpus, walks=2, most_states=300)
        expect(report.ok, str(report))
        packed, plain = task.pack(corpus), task.plain().pack(corpus)
        weights = np.random.default_rng(len(text)).normal(size=(256, task.n_actions)).astype(np.float32)
        one, two = decode(packed, weights, jobs=2), decode(plain, weights)
        expect(bool((one.states == two.states).all()), "compiled and interpreted decoding end in different states")
        expect(bool((one.losses == two.losses).all()), "losses differ")


def _module(text: str) -> ModuleType:
    """Return the code as a module that has a file, so that the compiler can read its source."""
    module = ModuleType(f"own_{hashlib.sha256(text.encode()).hexdigest()[:16]}")
    exec(compile(text, f"<{module.__name__}>", "exec"), vars(module))
    sys.modules[module.__name__] = module
    return module
