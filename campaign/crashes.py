"""Crashes: processes are killed at any moment, write to the same files at once, or find a damaged or foreign cache.

A worker loads the library and its kernels once, and runs each command in a copy of itself (``fork``), so that hundreds
of trainings can be killed in minutes. The commands are those of the command line.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from campaign.frame import Check, Unavailable
from campaign.trainings import (
    ROOT,
    Corpus,
    commands,
    content,
    ended,
    environment,
    expect,
    forked,
    need_torch,
    run_command,
)


def checks() -> list[Check]:
    return [
        *(KilledTraining(kind) for kind in commands()),
        *(KilledWriting(name) for name in WRITERS),
        *(Together(name) for name in TOGETHER),
        StrangeCache(),
    ]


def killed(pid: int, seconds: float) -> int:
    """Let a process run for some time, kill it if it still runs, and return its exit code."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(min(left, 0.001))
    os.kill(pid, signal.SIGKILL)
    return ended(pid)


# ---- training


#: fewer sentences for slow trainings, so that each takes about a second
SENTENCES = {"pipeline": 10, "amr": 15, "amr, v-dagger": 10, "dependency, lols": 15, "tagging, encoder": 10}


class KilledTraining(Check):
    """Trainings that are killed at a random moment and resumed, once or several times, must end with the same model."""

    goal = 100
    limit = 600

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.quick = 2 if kind in ("tagging", "dependency", "viterbi", "lemmatization") else 0  # compiled in seconds
        self.name = f"training-{kind.replace(', ', '-')}"
        self.what = f"trainings ({kind}) killed by SIGKILL and resumed: the same model to the bit"

    def prepare(self, folder: Path) -> None:
        need_torch(self.kind)
        self.folder, self.corpus = folder, Corpus(folder / "corpus", SENTENCES.get(self.kind, 40))
        model = folder / "right.tw"
        code = run_command(self.corpus.train(self.kind, model))  # in this process: kernels are loaded
        expect(code == 0, f"training ended with {code}")
        self.right = content(model)
        begun = time.monotonic()
        expect(ended(self._start(model)) == 0, f"a forked training failed: {self._log()}")
        self.seconds = time.monotonic() - begun
        expect(content(model) == self.right, "two trainings gave different models")

    def _start(self, model: Path, *more: str) -> int:
        command = self.corpus.train(self.kind, model, *more)
        return forked(lambda: run_command(command), self.folder / "log")

    def _log(self) -> str:
        return (self.folder / "log").read_text()[-2000:]

    def case(self, random: Random, number: int) -> list[float]:
        """The times of the kills, as fractions of the time of a whole training."""
        return [random.random() for _ in range(random.choice((1, 1, 2, 3)))]

    def run(self, case: list[float]) -> None:
        (self.folder / "log").write_text("")
        work = self.folder / "case"
        work.mkdir()
        try:
            model = work / "model.tw"
            for number, moment in enumerate(case):
                code = killed(self._start(model, *["--resume"] * (number > 0)), moment * self.seconds)
                expect(code in (0, -signal.SIGKILL), f"ended with {code}: {self._log()}")
                if model.exists():
                    expect(content(model) == self.right, "a model was written that is not the right one")
            code = ended(self._start(model, "--resume"))
            expect(code == 0, f"--resume ended with {code}: {self._log()}")
            expect(content(model) == self.right, "the model differs from that of an uninterrupted training")
            left = [file.name for file in work.iterdir() if not file.name.startswith(".treewright-")]
            expect(set(left) <= {"model.tw", "model.tw.lock"}, f"files that nobody removed: {left}")
        finally:
            shutil.rmtree(work)


# ---- writing


class Writer(ABC):
    """A writer of numbered versions, each of which replaces the one before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def ready(self) -> None:  # noqa: B027 (optional)
        """Called once."""

    def begin(self) -> None:
        """Write version 0."""
        self.write(0)

    @abstractmethod
    def write(self, version: int) -> None:
        """Write a version."""

    @abstractmethod
    def look(self, told: int) -> None:
        """Check that there is a complete version, and that it is not older than the last finished one."""


class ModelWriter(Writer):
    def write(self, version: int) -> None:
        import numpy as np

        from treewright.models import write_model

        arrays = {"weights": np.full(300_000, version, np.float32)}
        write_model(self.folder / "m.tw", task="tagging", config={"k": version}, arrays=arrays, card={})

    def look(self, told: int) -> None:
        from treewright.models import read_model

        model = read_model(self.folder / "m.tw")
        expect(model.config["k"] in (told, told + 1), f"version {model.config['k']} after {told} was written")
        expect(bool((model.arrays["weights"] == model.config["k"]).all()), "a mixture of versions")


class OutputWriter(Writer):
    """``treewright parse --out`` over an older file: versions are sentences of different lengths."""

    def ready(self) -> None:
        from treewright import Tagger, builtin_corpus

        train, _, test = builtin_corpus(train=20, dev=1, test=40)
        model = Tagger(learner={"name": "exploration", "passes": 1}, bits=10).fit(train)
        self.sentences = model.predict(test)
        self.texts = [self._text(version) for version in range(2)]

    def _text(self, version: int) -> bytes:
        from treewright.corpora.conllu import format_conllu

        return "".join(map(format_conllu, self.sentences[version::2])).encode() * 20

    def write(self, version: int) -> None:
        from treewright.corpora.conllu import format_conllu
        from treewright.corpora.files import text_writer

        with text_writer(self.folder / "out.conllu") as write:
            for sentence in self.sentences[version % 2 :: 2] * 20:
                write(format_conllu(sentence))

    def look(self, told: int) -> None:
        found = (self.folder / "out.conllu").read_bytes()
        expect(found in self.texts, f"a file of {len(found)} bytes that nobody wrote")


class CheckpointWriter(Writer):
    def write(self, version: int) -> None:
        import numpy as np

        from treewright.learners import checkpoints

        arrays = {"weights": np.full(300_000, version, np.float32)}
        checkpoints.save_state(self.folder / "c", {"data": "x"}, [{"iteration": version}], arrays)

    def look(self, told: int) -> None:
        from treewright.learners import checkpoints

        found = checkpoints.load_state(self.folder / "c", {"data": "x"})
        expect(found is not None, "the checkpoint is gone")
        assert found is not None
        version = found[0][0]["iteration"]
        expect(version in (told, told + 1), f"version {version} after {told} was written")
        expect(bool((found[1]["weights"] == version).all()), "a mixture of versions")


class CacheWriter(Writer):
    """An entry of the cache of compiled code. It may be missing, but if it exists, it is complete."""

    def write(self, version: int) -> None:
        from treewright.search import native

        os.environ["NUMBA_CACHE_DIR"] = str(self.folder / "cache")
        native.keep("kernel", "digest", "layout", b"%d\n" % version * 200_000)

    def look(self, told: int) -> None:
        from treewright.search import native

        for file in (self.folder / "cache").glob("*.kernel"):
            code = native._read_file(file)
            expect(code is not None, "an entry that is not whole has the name of a whole one")
            assert code is not None
            version = int(code.partition(b"\n")[0])
            expect(version in (told, told + 1), f"version {version} after {told} was written")


class StoreWriter(Writer):
    """The store of an experiment: it contains every result that was reported as written."""

    def begin(self) -> None:
        for file in self.folder.glob("s.sqlite*"):
            file.unlink()

    def write(self, version: int) -> None:
        import numpy as np

        from treewright.experiments.store import Outcome, Store

        with Store.open(self.folder / "s.sqlite") as store:
            counts = {"test": np.full((50, 3), version, np.float64)}
            store.write(str(version), "code", {"n": version}, Outcome(1.0, {"score": version}, counts))

    def look(self, told: int) -> None:
        from treewright.experiments.store import Store

        if not (self.folder / "s.sqlite").exists():
            expect(told == 0, "the store is gone")
            return
        with Store.open(self.folder / "s.sqlite") as store:
            found = store.outcomes()
        expect(set(map(int, found)) in (set(range(1, told + 1)), set(range(1, told + 2))), f"{sorted(found)} of {told}")
        for key, outcome in found.items():
            expect(outcome.result == {"score": int(key)}, f"result {key} is {outcome.result}")
            expect(bool((outcome.counts["test"] == int(key)).all()), f"the counts of {key} are of another job")
        with sqlite3.connect(self.folder / "s.sqlite") as database:
            [(answer,)] = database.execute("PRAGMA integrity_check").fetchall()
        expect(answer == "ok", f"SQLite says {answer}")


WRITERS: dict[str, type[Writer]] = {
    "model": ModelWriter,
    "output": OutputWriter,
    "checkpoint": CheckpointWriter,
    "cache": CacheWriter,
    "store": StoreWriter,
}


class KilledWriting(Check):
    """A process that writes a file repeatedly is killed: the old file exists, or the new one."""

    goal = 100
    quick = 10
    limit = 120

    def __init__(self, name: str) -> None:
        what = {"output": "an output file", "cache": "an entry of the cache", "store": "the store of an experiment"}
        self.name = f"writing-{name}"
        self.what = f"processes killed while they write {what.get(name, f'a {name}')}: the old one or the new"
        self._writer = WRITERS[name]

    def prepare(self, folder: Path) -> None:
        self.folder = folder
        self.writer = self._writer(folder)
        self.writer.ready()

    def case(self, random: Random, number: int) -> float:
        return random.uniform(0.0, 0.05)

    def run(self, case: float) -> None:
        self.writer.begin()
        reading, writing = os.pipe()

        def write() -> int:
            version = 0
            while True:
                version += 1
                self.writer.write(version)
                os.write(writing, b"%d\n" % version)

        log = self.folder / "log"
        log.touch()  # the process may be killed before it opens it
        pid = forked(write, log)
        os.close(writing)
        try:
            code = killed(pid, case)
            expect(code == -signal.SIGKILL, f"ended with {code}: {log.read_text()[-2000:]}")
            with os.fdopen(reading, "rb", closefd=False) as pipe:
                told = pipe.read().split()
        finally:
            os.close(reading)
        self.writer.look(int(told[-1]) if told else 0)
        for file in self.folder.rglob(".*"):
            if file.is_file():
                file.unlink()


# ---- concurrent processes


class Together(Check):
    """Several processes do the same work on the same files at once."""

    limit = 300

    def __init__(self, name: str) -> None:
        self.name = f"together-{name}"
        self.what, self.goal, self.quick, self._run = TOGETHER[name]

    def prepare(self, folder: Path) -> None:
        self.folder, self.corpus = folder, Corpus(folder / "corpus")
        self.model = folder / "right.tw"
        expect(run_command(self.corpus.train("tagging", self.model)) == 0, "training failed")
        self.right = content(self.model)

    def case(self, random: Random, number: int) -> tuple[int, list[float]]:
        processes = random.choice((2, 2, 3, 5))
        return number, [random.uniform(0.0, 0.3) for _ in range(processes)]

    def run(self, case: tuple[int, list[float]]) -> None:
        work = self.folder / "case"
        work.mkdir()
        try:
            self._run(self, work, case[1])
        finally:
            shutil.rmtree(work)

    def start(self, work: Path, delays: list[float], command: Callable[[int], list[str]]) -> list[tuple[int, str]]:
        """Run commands at once, each after a delay; return their exit codes and messages."""

        def run(k: int) -> int:
            time.sleep(delays[k])
            return run_command(command(k))

        logs = [work / f"log{k}" for k in range(len(delays))]
        pids = [forked(lambda k=k: run(k), logs[k]) for k in range(len(delays))]
        return [(ended(pid), log.read_text()) for pid, log in zip(pids, logs, strict=True)]


def train_together(check: Together, work: Path, delays: list[float]) -> None:
    found = check.start(work, delays, lambda _: check.corpus.train("tagging", work / "model.tw"))
    for code, said in found:
        busy = code == 2 and "another training" in said
        expect(code == 0 or busy, f"ended with {code}: {said}")
    expect(any(code == 0 for code, _ in found), "nobody has trained")
    expect(content(work / "model.tw") == check.right, "the model is not the right one")
    left = sorted(file.name for file in work.iterdir() if not file.name.startswith("log"))
    expect(left == ["model.tw"], f"files that nobody removed: {left}")


def parse_together(check: Together, work: Path, delays: list[float]) -> None:
    texts = [check.corpus.folder / f"{part}.conllu" for part in ("train", "dev", "test")]
    out = work / "out.conllu"
    found = check.start(
        work, delays, lambda k: ["parse", str(check.model), str(texts[k % 3]), "--out", str(out), "--quiet"]
    )
    expect(all(code == 0 for code, _ in found), f"{found}")
    right = [_parsed(check, text) for text in texts[: len(delays)]]
    expect(out.read_bytes() in right, "the file is a mixture of what two processes wrote")


def _parsed(check: Together, text: Path) -> bytes:
    out = check.folder / "parsed.conllu"
    expect(ended(forked(lambda: run_command(["parse", str(check.model), str(text), "--out", str(out)]))) == 0, "parse")
    return out.read_bytes()


def store_together(check: Together, work: Path, delays: list[float]) -> None:
    """One process at a time writes to a store: the others report that it is in use."""
    from treewright.experiments.store import Outcome, Store, StoreError

    def write(k: int) -> int:
        time.sleep(delays[k])
        for _ in range(1000):
            try:
                with Store.open(work / "s.sqlite") as store:
                    store.write(str(k), "code", {"n": k}, Outcome(1.0, {"score": k}))
                return 0
            except StoreError as error:
                if "another process" not in str(error):
                    print(error, file=sys.stderr)
                    return 1
                time.sleep(0.01)
        return 2

    pids = [forked(lambda k=k: write(k), work / "log") for k in range(len(delays))]
    codes = [ended(pid) for pid in pids]
    expect(not any(codes), f"{codes}: {(work / 'log').read_text()}")
    with Store.open(work / "s.sqlite", write=False) as store:
        expect(set(store.outcomes()) == set(map(str, range(len(delays)))), "results are missing")


def cache_together(check: Together, work: Path, delays: list[float]) -> None:
    """Processes fill and read a small cache, and each removes entries that the others may be reading."""
    from treewright.search import native

    def fill(k: int) -> int:
        import warnings

        warnings.simplefilter("error")  # a failure to store an entry would be a warning
        for n in range(60):
            name = str(n % 12)
            native.keep("kernel", name, "layout", name.encode() * 2000)
            try:
                found = native._read_file(work / "cache" / native.file_name("kernel", name, "layout"))
            except FileNotFoundError:
                continue  # another process removed the entry
            if found != name.encode() * 2000:
                return 1
        return 0

    most, native.MOST_FILES = native.MOST_FILES, 5
    try:
        with environment(NUMBA_CACHE_DIR=str(work / "cache")):
            pids = [forked(lambda k=k: fill(k), work / "log") for k in range(len(delays))]
            codes = [ended(pid) for pid in pids]
    finally:
        native.MOST_FILES = most
    expect(not any(codes), f"{codes}: {(work / 'log').read_text()}")
    left = [file.name for file in (work / "cache").iterdir() if file.name.startswith(".")]
    expect(not left, f"unfinished files: {left}")


def compile_together(check: Together, work: Path, delays: list[float]) -> None:
    """Processes that compile the same kernel into one empty cache."""
    running = [_start_program(work / "cache") for _ in delays]
    for process in running:
        out, said = process.communicate(timeout=300)
        expect(process.returncode == 0 and out == RIGHT, f"{process.returncode}: {out!r} {said!r}")
    expect(_run_program(work / "cache")[0] == RIGHT.replace(b"True", b"False"), "the cache was not used")


# ---- caches

PROGRAM = """
import sys
import numpy as np
from treewright.search import kernel
from treewright.search.bits import lowest

@kernel
def places(numbers, out):
    for i in range(numbers.shape[0]):
        out[i] = lowest(numbers[i])

@kernel
def doubled(numbers, out):
    for i in range(numbers.shape[0]):
        out[i] = 2 * np.int64(numbers[i])

out = np.zeros(3, np.int64)
places(np.array([1, 6, 8], np.uint64), out)
found = out.tolist()
doubled(np.array([1, 6, 8], np.uint64), out)
print(found, out.tolist(), "numba" in sys.modules)
"""
RIGHT = b"[0, 1, 3] [2, 12, 16] True\n"


def _start_program(cache: Path, command: tuple[str, ...] = (), **changes: str) -> subprocess.Popen[bytes]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(cache), **changes}
    pipe = subprocess.PIPE
    return subprocess.Popen([*command, sys.executable, "-c", PROGRAM], env=environment, stdout=pipe, stderr=pipe)


def _run_program(cache: Path, command: tuple[str, ...] = (), **changes: str) -> tuple[bytes, bytes, int]:
    process = _start_program(cache, command, **changes)
    out, said = process.communicate(timeout=120)
    return out, said, process.returncode


NO_POWERS = ("setpriv", "--inh-caps=-all", "--bounding-set=-all")
"""What makes root obey permissions."""


class StrangeCache(Check):
    """With a damaged or unusable cache of compiled code, programs are slower, and their results are the same."""

    name = "cache"
    what = "damaged, foreign, full and unwritable caches of compiled code: the same results"
    goal = 100
    quick = 6
    limit = 300

    def prepare(self, folder: Path) -> None:
        self.folder = folder
        self.full = folder / "good"
        out, said, code = _run_program(self.full)
        expect(out == RIGHT, f"{code}: {said!r}")
        files = sorted(self.full.glob("*.kernel"))
        expect(len(files) == 2, f"{files}")
        expect(_run_program(self.full)[0] == RIGHT.replace(b"True", b"False"), "the cache was not used")
        if os.geteuid() == 0 and shutil.which(NO_POWERS[0]) is None:
            raise Unavailable("setpriv is needed, so that root obeys permissions")

    def case(self, random: Random, number: int) -> tuple[str, int]:
        names = [name for name, each in CONDITIONS.items() if os.geteuid() == 0 or each not in _AS_ROOT]
        return names[number % len(names)], random.getrandbits(32)

    def run(self, case: tuple[str, int]) -> None:
        name, seed = case
        work = self.folder / "case"
        shutil.copytree(self.full, work)
        command = ()
        try:
            command = CONDITIONS[name](work, Random(seed)) or ()
            out, said, code = _run_program(work, command)
            expect(code == 0, f"ended with {code}: {said.decode()[-2000:]}")
            expect(out.rpartition(b" ")[0] == RIGHT.rpartition(b" ")[0], f"{out!r} is wrong")
            expect(b"Traceback" not in said, said.decode()[-2000:])
            if name in TRUSTED:
                expect(out == RIGHT.replace(b"True", b"False"), "a good cache was not used")
            elif name not in ("clean", "unfinished"):
                expect(out == RIGHT, f"{name}: code was loaded that cannot be trusted")
        finally:
            subprocess.run(["umount", str(work)], capture_output=True, check=False)
            if work.is_symlink() or work.is_file():
                work.unlink()
            else:
                shutil.rmtree(work, ignore_errors=True)


def _each(work: Path, change: Callable[[Path, bytes], bytes]) -> None:
    for file in list(work.iterdir()):
        file.write_bytes(change(file, file.read_bytes()))


def flipped(work: Path, random: Random) -> None:
    def change(file: Path, code: bytes) -> bytes:
        place = random.choice((random.randrange(len(code)), random.randrange(200)))
        return code[:place] + bytes([code[place] ^ 1 << random.randrange(8)]) + code[place + 1 :]

    _each(work, change)


def truncated(work: Path, random: Random) -> None:
    _each(work, lambda _, code: code[: random.randrange(len(code))])


def rubbish(work: Path, random: Random) -> None:
    _each(work, lambda _, code: random.randbytes(random.choice((0, 1, 100, len(code)))))
    for k in range(50):
        (work / f"{k}.kernel").write_bytes(random.randbytes(100))


def swapped(work: Path, random: Random) -> None:
    """The code of one kernel under the name of another."""
    one, two = sorted(work.glob("*.kernel"))
    a, b = one.read_bytes(), two.read_bytes()
    one.write_bytes(b)
    two.write_bytes(a)


def other_version(work: Path, random: Random) -> None:
    """Entries of a compiler with other settings, which stand for those of another version."""
    clean(work, random)
    _run_program(work, NUMBA_OPT="1")


def folders(work: Path, random: Random) -> None:
    for file in list(work.iterdir()):
        file.unlink()
        file.mkdir()


def pipes(work: Path, random: Random) -> None:
    for file in list(work.iterdir()):
        file.unlink()
        os.mkfifo(file)


def a_file(work: Path, random: Random) -> None:
    shutil.rmtree(work)
    work.write_text("no folder")


def a_loop(work: Path, random: Random) -> None:
    shutil.rmtree(work)
    work.symlink_to(work)


def nowhere(work: Path, random: Random) -> None:
    shutil.rmtree(work)
    work.symlink_to(work.parent / "missing" / "folder")


def _obeying() -> tuple[str, ...]:
    return NO_POWERS if os.geteuid() == 0 else ()


def read_only(work: Path, random: Random) -> tuple[str, ...]:
    for file in list(work.iterdir()):
        file.unlink()
    work.chmod(0o555)
    return _obeying()


def read_only_and_filled(work: Path, random: Random) -> tuple[str, ...]:
    work.chmod(0o555)
    return _obeying()


def closed_folder(work: Path, random: Random) -> tuple[str, ...]:
    work.chmod(0)
    return _obeying()


def of_another_user(work: Path, random: Random) -> tuple[str, ...]:
    """A folder of another user that nobody else may enter."""
    for file in work.iterdir():
        os.chown(file, 65534, 65534)
    os.chown(work, 65534, 65534)
    work.chmod(0o700)
    return _obeying()


def planted(work: Path, random: Random) -> None:
    """Complete entries that belong to another user, and that may contain any code."""
    for file in work.iterdir():
        os.chown(file, 65534, 65534)


def writable_by_all(work: Path, random: Random) -> None:
    for file in work.iterdir():
        file.chmod(0o666)


def full_disk(work: Path, random: Random) -> None:
    shutil.rmtree(work)
    work.mkdir()
    mount(work, random.choice(("4k", "8k", "16k")))


def mount(folder: Path, size: str) -> None:
    """Mount a small file system, which is soon full."""
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        raise Unavailable(f"a small file system cannot be mounted: {done.stderr.decode().strip()}")


def unfinished(work: Path, random: Random) -> None:
    """The temporary files of killed processes."""
    for k in range(20):
        (work / f".{k:032x}").write_bytes(random.randbytes(1000))


def clean(work: Path, random: Random) -> None:
    for file in list(work.iterdir()):
        file.unlink()


_PLAIN = (flipped, truncated, swapped, rubbish, other_version, folders, pipes, a_file, a_loop, nowhere)
_MORE = (writable_by_all, unfinished, clean)
_OBEYING = (read_only, read_only_and_filled, closed_folder)
_AS_ROOT = (planted, of_another_user, full_disk)
CONDITIONS: dict[str, Callable[[Path, Random], Any]] = {
    each.__name__.replace("_", " "): each for each in (*_PLAIN, *_AS_ROOT, *_OBEYING, *_MORE)
}
TRUSTED = {"read only and filled"}

TOGETHER: dict[str, tuple[str, int, int, Callable[[Together, Path, list[float]], None]]] = {
    "train": ("processes that train the same model file at once", 100, 1, train_together),
    "parse": ("processes that write the same output file at once", 100, 1, parse_together),
    "store": ("processes that write to the same store at once", 100, 1, store_together),
    "cache": ("processes that fill and empty the same cache at once", 100, 2, cache_together),
    "compile": ("processes that compile the same kernels at once", 20, 1, compile_together),
}
