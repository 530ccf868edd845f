"""Faults: full disks, little memory, signals, closed streams, odd names, locales and clocks.

Every case runs a command of the command line. It must end with the right result, or with an error message of one line and
an exit code for failure. There must be no traceback, no crash and no temporary files, and the old file must still be
there.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from campaign.crashes import NO_POWERS, mount
from campaign.frame import Check, Unavailable
from campaign.trainings import ROOT, Corpus, content, ended, expect, forked, run_command


def checks() -> list[Check]:
    return [FullDisk(), FileLimit(), LittleMemory(), Signals(), Streams(), Names(), Surroundings()]


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: bytes
    said: str


class Commands(Check):
    """Commands on a small corpus with a small tagger, in a new process or in a copy of this one."""

    limit = 300

    def prepare(self, folder: Path) -> None:
        self.folder, self.corpus = folder, Corpus(folder / "corpus")
        self.model, self.text = folder / "right.tw", folder / "corpus" / "test.conllu"
        self.experiment = folder / "experiment.toml"
        self.experiment.write_text(EXPERIMENT)
        self.settings = folder / "settings.toml"
        self.settings.write_text("bits = 8\n[learner]\npasses = 1\n")
        expect(run_command(self.corpus.train("tagging", self.model)) == 0, "training failed")
        self.right = content(self.model)
        self.parsed = self.forked("parse", self.model, self.text).out
        expect(self.parsed.count(b"\n") > 20, "nothing was parsed")

    def forked(self, *arguments: object, before: Callable[[], object] = lambda: None) -> Ended:
        """Run a command in a copy of this process."""
        log = self.folder / "log"
        log.write_bytes(b"")
        out = self.folder / "stdout"

        def work() -> int:
            descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(descriptor, 1)
            before()
            return run_command(list(map(str, arguments)))

        code = ended(forked(work, log))
        return Ended(code, out.read_bytes(), log.read_text(errors="replace"))

    def start(self, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
        """Start a command in a new process."""
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "TREEWRIGHT_COMPILE": "later", **options.pop("env", {})}
        command = [*options.pop("prefix", ()), sys.executable, "-m", "treewright", *map(str, arguments)]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen(command, env=variables, **pipes)

    def process(self, *arguments: object, **options: Any) -> Ended:
        process = self.start(*arguments, **options)
        out, said = process.communicate(timeout=120)
        return Ended(process.returncode, out or b"", (said or b"").decode(errors="replace"))

    def train(self, out: Path, *more: str) -> list[str]:
        return self.corpus.train("tagging", out, *more)


EXPERIMENT = """
title = "small"
task = "tagging"
report = ["test"]
seeds = 1
corpora = { "built-in" = { train = 4, dev = 2, test = 2 } }
settings = { bits = 8 }
learner = { passes = 1 }
learners = ["supervised", "dagger"]
"""


def is_clean_failure(found: Ended, codes: tuple[int, ...] = (1, 2)) -> None:
    """Check that a command failed as it should."""
    expect(found.code in codes, f"ended with {found.code}: {found.said[-2000:]}")
    expect("Traceback" not in found.said and "Exception ignored" not in found.said, found.said[-2000:])
    expect("error:" in found.said, f"it does not say what is wrong: {found.said[-500:]!r}")


def nothing_left(folder: Path) -> None:
    left = [str(file.relative_to(folder)) for file in folder.rglob(".treewright-*")]
    expect(not left, f"temporary files are left: {left}")


# ---- disks


class FullDisk(Commands):
    """A disk that becomes full at some write; when there is space again, the same command succeeds."""

    name = "full-disk"
    what = "commands on a disk that becomes full after 0, 1, 2, … pages: old files stay, and it is said"
    quick = 5

    most = {"train": 120, "parse": 40, "experiment": 120, "cross-validate": 30, "corpus": 60}
    """Pages of 4,096 bytes after which the disk is full; a command that succeeds needs fewer."""
    goal = sum(most.values()) + len(most)

    def prepare(self, folder: Path) -> None:
        self.disk = folder / "disk"
        self.disk.mkdir()
        mount(self.disk, "1m")
        subprocess.run(["umount", str(self.disk)], check=True)
        super().prepare(folder)

    def case(self, random: Random, number: int) -> tuple[str, int]:
        every = [(name, pages) for name, most in self.most.items() for pages in range(most + 1)]
        Random(4).shuffle(every)
        return every[number % len(every)]

    def run(self, case: tuple[str, int]) -> None:
        name, free = case
        mount(self.disk, "4m")
        try:
            self._run(name, free)
        finally:
            subprocess.run(["umount", "-l", str(self.disk)], check=True)

    def _run(self, name: str, free: int) -> None:
        disk = self.disk
        old = b"# an older file\n" * 10
        files = {"train": "m.tw", "parse": "out.conllu", "experiment": "s.sqlite", "cross-validate": "f.svg"}
        target = disk / files.get(name, "unused")
        if name in ("train", "parse"):
            target.write_bytes(old)
        room = os.statvfs(disk)
        with (disk / "filler").open("wb") as filler:
            filler.write(bytes(max(0, room.f_bavail * room.f_frsize - free * 4096)))
        commands: dict[str, list[Any]] = {
            "train": self.train(target),
            "parse": ["parse", self.model, self.text, "--out", target],
            "experiment": ["experiment", self.experiment, "--store", target, "--quiet"],
            "cross-validate": [
                *("cross-validate", "tagging", self.text, "--folds", "2", "-c", self.settings, "-l", "supervised"),
                *("-l", "dagger", "--svg", target),
            ],
            "corpus": ["corpus", disk / "corpus", "--train", "100", "--dev", "5", "--test", "5"],
        }
        found = self.forked(*commands[name])
        if found.code == 0:
            self._look(name, target)
            return
        is_clean_failure(found)
        said = found.said.lower()
        expect("space" in said or "full" in said or "disk" in said, f"it does not say that the disk is full: {said}")
        nothing_left(disk)
        if name in ("train", "parse"):
            expect(target.read_bytes() == old, "the old file has changed")
        (disk / "filler").unlink()
        again = self.forked(*commands[name], *["--resume"] * (name == "train"))
        expect(again.code == 0, f"with room, it ended with {again.code}: {again.said[-1000:]}")
        self._look(name, target)

    def _look(self, name: str, target: Path) -> None:
        if name == "train":
            expect(content(target) == self.right, "the model is not the right one")
        elif name == "parse":
            expect(target.read_bytes() == self.parsed, "the output is not the right one")


class FileLimit(Commands):
    """No file may be larger than a limit (RLIMIT_FSIZE): writes fail in the middle."""

    name = "file-limit"
    what = "commands whose files may not grow beyond a limit: the old file or the new one"
    goal = 200
    quick = 5

    def case(self, random: Random, number: int) -> tuple[str, int]:
        name = ("train", "parse", "/dev/full")[number % 3]
        return name, random.choice((0, 1, random.randint(0, 60_000), random.randint(0, 5_000)))

    def run(self, case: tuple[str, int]) -> None:
        name, limit = case
        work = self.folder / "case"
        work.mkdir()
        target = work / "out.conllu"
        target.write_bytes(b"old")
        try:
            command = self.train(target) if name == "train" else ["parse", self.model, self.text, "--out", target]
            if name == "/dev/full":
                command = [*command[:3], "--out", "/dev/full"]

            def limited() -> None:
                if name != "/dev/full":
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

            log = self.folder / "log"
            log.write_bytes(b"")
            read, write = os.pipe()  # the limit must not apply to its messages

            def work_() -> int:
                os.dup2(write, 2)
                limited()
                return run_command(list(map(str, command)))

            pid = forked(work_, log)
            os.close(write)
            with os.fdopen(read, "rb") as pipe:
                said = pipe.read().decode(errors="replace")
            found = Ended(ended(pid), b"", said)
            if found.code == 0:
                expect(name != "/dev/full", "a full device took everything")
                right = content(target) == self.right if name == "train" else target.read_bytes() == self.parsed
                expect(right, "the file is not the right one")
                return
            is_clean_failure(found)
            expect(target.read_bytes() == b"old", "the old file has changed")
            nothing_left(work)
        finally:
            shutil.rmtree(work)


# ---- memory


class LittleMemory(Commands):
    """The memory of the process is limited (RLIMIT_AS)."""

    name = "memory"
    what = "commands with a limit of memory: the right result, or an error that says so"
    goal = 100
    quick = 3

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        low, high = 50, 4000  # megabytes: at least what `treewright --version` needs
        while high - low > 10:
            middle = (low + high) // 2
            works = self._limited(middle, "--version").code == 0
            low, high = (low, middle) if works else (middle, high)
        self.least = high
        low = high
        high = 8000
        while high - low > 50:
            middle = (low + high) // 2
            works = self._limited(middle, *self._command("train")).code == 0
            low, high = (low, middle) if works else (middle, high)
        self.enough = high

    def _limited(self, megabytes: int, *command: object) -> Ended:
        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        return self.process(*command, preexec_fn=limit)

    def _command(self, name: str) -> list[Any]:
        target = self.folder / "m.tw"
        commands: dict[str, list[Any]] = {
            "train": self.train(target),
            "parse": ["parse", self.model, self.text],
            "bits": ["train", "tagging", self.corpus.folder / "train.conllu", "--bits", "30", "--out", target],
            "jobs": self.train(target, "--jobs", "64"),
            "evaluate": ["evaluate", self.model, self.text, "--json"],
        }
        return commands[name]

    def case(self, random: Random, number: int) -> tuple[str, float]:
        return ("train", "parse", "bits", "jobs", "evaluate")[number % 5], random.random()

    def run(self, case: tuple[str, float]) -> None:
        name, share = case
        megabytes = int(self.least + share * (self.enough + 200 - self.least))
        found = self._limited(megabytes, *self._command(name))
        with suppress(FileNotFoundError):
            (self.folder / "m.tw").unlink()
        shutil.rmtree(self.folder / "m.tw.checkpoint", ignore_errors=True)
        if found.code == 0:
            expect(name != "parse" or found.out == self.parsed, "the result is wrong")
            return
        expect("Traceback" not in found.said, f"{megabytes} MB: {found.said[-1500:]}")
        is_clean_failure(found)
        expect("memory" in found.said.lower(), f"{megabytes} MB: it does not say that memory is missing: {found.said}")


# ---- signals


class Signals(Commands):
    """Signals at any moment: the process ends soon, says so, leaves nothing behind, and can be resumed."""

    name = "signals"
    what = "commands ended by TERM, HUP or INT at any moment: nothing left behind, resumed to the same"
    goal = 100
    quick = 5

    def case(self, random: Random, number: int) -> tuple[str, str, float]:
        number_of = ("SIGTERM", "SIGHUP", "SIGINT")[number % 3]
        return number_of, ("train", "parse")[number // 3 % 2], random.random()

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        self.large = folder / "large.conllu"
        self.large.write_bytes(self.text.read_bytes() * 100)
        begun = time.monotonic()
        self.process(*self.train(folder / "m.tw"))
        self.seconds = time.monotonic() - begun

    def run(self, case: tuple[str, str, float]) -> None:
        name, command, moment = case
        work = self.folder / "case"
        work.mkdir()
        target = work / ("m.tw" if command == "train" else "out.conllu")
        arguments = self.train(target) if command == "train" else ["parse", self.model, self.large, "--out", target]
        number = getattr(signal, name)

        def default() -> None:
            for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(each, signal.SIG_DFL)

        try:
            process = self.start(*arguments, preexec_fn=default)
            time.sleep(0.15 + moment * self.seconds)
            process.send_signal(number)
            begun = time.monotonic()
            _, out = process.communicate(timeout=60)
            said = out.decode(errors="replace")
            expect(time.monotonic() - begun < 20, "it took longer than 20 seconds to end")
            early = process.returncode in (-number, 1) and "treewright" not in said.replace("/treewright", "")
            expect(process.returncode in (0, 128 + number) or early, f"ended with {process.returncode}: {said[-1500:]}")
            if process.returncode == 128 + number:
                expect("Traceback" not in said, said[-1500:])
                nothing_left(work)
            if command == "train":
                again = self.process(*arguments, "--resume")
                expect(again.code == 0, f"--resume ended with {again.code}: {again.said[-1000:]}")
                expect(content(target) == self.right, "the model differs from that of an uninterrupted training")
        finally:
            shutil.rmtree(work)


# ---- streams


class Streams(Commands):
    """Standard streams that are closed, full, folders, or read by a process that stops early."""

    name = "streams"
    what = "commands whose input or output is closed, full or cut off"
    quick = 6

    commands = ("parse", "evaluate", "info", "learners", "parse json", "trace", "version", "help", "train")
    conditions = ("stdin closed", "stdout closed", "stderr closed", "all closed", "/dev/full", "head", "plain")
    goal = len(commands) * len(conditions) + 6  # all pairs; six of them come first

    def _arguments(self, name: str) -> list[Any]:
        return {
            "parse": ["parse", self.model],
            "evaluate": ["evaluate", self.model, self.text],
            "info": ["info", self.model],
            "learners": ["learners"],
            "parse json": ["parse", self.model, "--format", "json"],
            "trace": ["trace", self.text, "--model", self.model, "--sentence", "1"],
            "version": ["--version"],
            "help": ["--help"],
            "train": [word for word in self.train(self.folder / "m.tw") if word != "--quiet"],
        }[name]

    def case(self, random: Random, number: int) -> tuple[str, str]:
        both = [(condition, command) for condition in self.conditions for command in self.commands]
        first = [("stdin closed", "parse"), ("stdout closed", "parse"), ("/dev/full", "info"), ("head", "parse")]
        first += [("all closed", "train"), ("/dev/full", "learners")]
        return first[number] if number < len(first) else both[number % len(both)]

    def run(self, case: tuple[str, str]) -> None:
        condition, name = case
        arguments = self._arguments(name)
        reads = name.startswith("parse")
        closed = {"stdin closed": (0,), "stdout closed": (1,), "stderr closed": (2,), "all closed": (0, 1, 2)}

        def close() -> None:
            for descriptor in closed.get(condition, ()):
                os.close(descriptor)

        with self.text.open("rb") as text, open("/dev/full", "wb") as full:
            options: dict[str, Any] = {"stdin": text, "preexec_fn": close}
            if condition == "/dev/full":
                options["stdout"] = full
            if condition == "head":
                found = self._cut_off(arguments, options)
            else:
                found = self.process(*arguments, **options)
        prints = name not in ("train",) or condition != "plain"
        fails = (
            (condition in ("stdin closed", "all closed") and reads)
            or (condition in ("stdout closed", "all closed", "/dev/full") and prints)
            or (condition == "head" and found.code == (1 if name == "help" else 141))  # rich prints the help
        )
        expect(found.code >= 0, f"ended by signal {-found.code}: {found.said[-1000:]}")
        expect("Traceback" not in found.said and "Exception ignored" not in found.said, found.said[-1500:])
        if not fails:
            expect(found.code == 0, f"ended with {found.code}: {found.said[-1000:]}")
            if name == "parse" and condition in ("plain", "stderr closed"):
                expect(found.out == self.parsed, "the result is wrong")
        elif condition != "head":
            expect(found.code in (1, 2), f"ended with {found.code}, as if all were well: {found.said[-500:]!r}")
            if condition != "all closed":
                is_clean_failure(found)

    def _cut_off(self, arguments: list[Any], options: dict[str, Any]) -> Ended:
        """A reader that reads one line and closes the pipe."""
        process = self.start(*arguments, **options)
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        process.stdout = None
        _, said = process.communicate(timeout=120)
        return Ended(process.returncode, b"", said.decode(errors="replace"))


# ---- names


class Names(Commands):
    """Odd names of files and folders, and a folder with many files."""

    name = "names"
    what = "files with odd names: spaces, line ends, emoji, other encodings, leading dashes, long ones, many beside"
    quick = 4

    odd = (
        "a b", "line\nend", "emoji 🦜", "tab\there", "-dash", "ü" * 100, "%s{}", "quote'\"", "$(x)`y`", "*?[a]",
        "\udcff\udcfe", "CON", "a" * 240, ".hidden", "tr İı", "עברית", "e\u0301", "a;b&c", "~", "\\n",
    )  # fmt: skip
    goal = len(odd)  # each is the name of a folder once, and of a file once

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        self.many = folder / "many"
        self.many.mkdir()
        for k in range(100_000):
            (self.many / f"file{k}").touch()

    def case(self, random: Random, number: int) -> tuple[str, str, bool]:
        return self.odd[number % len(self.odd)], self.odd[(7 * number + 3) % len(self.odd)], number % 10 == 0

    def run(self, case: tuple[str, str, bool]) -> None:
        one, two, many = case
        folder = (self.many if many else self.folder) / f"odd {one}"
        folder.mkdir()
        try:
            text, model, out = folder / two, folder / f"{two[:100]}.tw", folder / f"{two[:100]}.conllu"
            shutil.copy(self.text, text)
            trained = self.process(*self.train(model))
            expect(trained.code == 0, f"training ended with {trained.code}: {trained.said[-1000:]}")
            expect(content(model) == self.right, "the model is not the right one")
            parsed = self.process("parse", model, text, "--out", out, "--input", "conllu", cwd=folder)
            expect(parsed.code == 0, f"parsing ended with {parsed.code}: {parsed.said[-1000:]}")
            expect(out.read_bytes() == self.parsed, "the output is not the right one")
            wrong = self.process("parse", folder / f"{two[:100]}.missing", text)
            is_clean_failure(wrong, (2,))
            info = self.process("info", model)
            expect(info.code == 0, f"info ended with {info.code}: {info.said[-1000:]}")
        finally:
            shutil.rmtree(folder)


# ---- environment


class Surroundings(Commands):
    """Locales, clocks, missing folders, an empty environment: the same results."""

    name = "surroundings"
    what = "commands with other locales, clocks, and missing folders: the same results"
    goal = 17 * 4  # conditions and commands
    quick = 6

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        locales = folder / "locales"
        locales.mkdir()
        for name in ("tr_TR", "de_DE"):
            if shutil.which("localedef"):
                subprocess.run(
                    ["localedef", "-i", name, "-f", "UTF-8", str(locales / f"{name}.UTF-8")],
                    capture_output=True,
                    check=False,
                )
        self.made = {"LOCPATH": str(locales)} if any(locales.iterdir()) else {}
        self.scores = self.process("evaluate", self.model, self.text, "--json").out
        self.conditions: dict[str, dict[str, Any]] = {
            "C": {"env": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}},
            "C, ASCII": {"env": {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}},
            "Turkish": {"env": {"LC_ALL": "tr_TR.UTF-8", **self.made}},
            "German": {"env": {"LC_ALL": "de_DE.UTF-8", **self.made}},
            "Latin": {"env": {"LC_ALL": "en_US.ISO-8859-1", "PYTHONIOENCODING": "latin-1"}},
            "no TMPDIR": {"env": {"TMPDIR": str(folder / "missing"), "TREEWRIGHT_COMPILE": ""}},
            "no HOME": {"env": {"HOME": str(folder / "missing"), "XDG_CACHE_HOME": ""}},
            "TZ": {"env": {"TZ": "Asia/Kathmandu"}},
            "hash seed": {"env": {"PYTHONHASHSEED": "123"}},
            "optimised": {"env": {"PYTHONOPTIMIZE": "2"}},
            "other folder": {"cwd": "/"},
            "no terminal size": {"env": {"COLUMNS": "0", "LINES": "-1", "TERM": "dumb"}},
            "warnings are errors": {"env": {"PYTHONWARNINGS": "error::DeprecationWarning"}},
            "few files": {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))},
            "small stack": {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))},
            "clock set back": {},
        }
        if os.geteuid() == 0 and shutil.which(NO_POWERS[0]):
            self.conditions["no temporary folder at all"] = {"prefix": (*NO_POWERS,), "read_only": True}
        if not self.made:
            raise Unavailable("localedef is needed for a Turkish locale")

    def case(self, random: Random, number: int) -> tuple[str, str]:
        names = list(self.conditions)
        return names[number % len(names)], ("parse", "train", "evaluate", "text")[number // len(names) % 4]

    def run(self, case: tuple[str, str]) -> None:
        condition, command = case
        options = dict(self.conditions[condition])
        work = self.folder / "case"
        work.mkdir()
        target = work / "m.tw"
        if options.pop("read_only", False):
            options["cwd"], options["env"] = "/sys", {"TMPDIR": "/sys", "NUMBA_CACHE_DIR": "/sys/x"}
        if condition == "clock set back":
            self._from_the_future()
        try:
            if command == "train":
                found = self.process(*self.train(target), **options)
            elif command == "evaluate":
                found = self.process("evaluate", self.model, self.text, "--json", **options)
            elif command == "parse":
                found = self.process("parse", self.model, self.text, **options)
            else:
                found = self.process("parse", self.model, self.text, "--out", work / "out.conllu", **options)
            expect(found.code == 0, f"ended with {found.code}: {found.said[-1500:]}")
            if command == "train":
                expect(content(target) == self.right, "the model is not the right one")
            elif command == "evaluate":
                expect(found.out == self.scores, f"{found.out!r} and not {self.scores!r}")
            else:
                out = found.out if command == "parse" else (work / "out.conllu").read_bytes()
                expect(out == self.parsed, "the result is wrong")
        finally:
            shutil.rmtree(work)

    def _from_the_future(self) -> None:
        """Give files dates in the future, as if the clock had been set back by a year."""
        future = time.time() + 365 * 86400
        for file in [self.model, self.text, *self.corpus.folder.iterdir()]:
            os.utime(file, (future, future))
