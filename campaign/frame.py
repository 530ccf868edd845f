"""The framework of the campaign: checks with numbered cases, findings, and a record of the cases that were tried.

A *part* is a module of this package with a function ``checks()`` that returns its :class:`Check` objects. A check has
numbered cases: case ``n`` of a seed is always the same, so that a number is enough to repeat it. A worker process runs
the cases of one check. A case that ends the worker or takes too long is a finding, as a wrong result is, and the next
worker continues with the next case.
"""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import signal
import sqlite3
import tempfile
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any, TextIO

PARTS = ("readers", "kernels", "crashes", "faults", "models", "service", "sameness", "supply")
FOLDER = Path(__file__).parent
STORE = FOLDER.parent / "build" / "campaign" / "campaign.sqlite"
RESULTS = FOLDER / "results.json"


class Finding(Exception):
    """A broken promise; the message says what was expected and what happened."""


class Unavailable(Exception):
    """This machine cannot run a check; the message says what is missing."""


class Check(ABC):
    """A test of one promise, case by case. Any exception of ``run`` is a finding."""

    name: str
    """Unique within its part, such as ``conllu``."""
    what: str
    """What is counted, for the table: "mutated CoNLL-U files"."""
    goal: int
    """The number of cases of a whole campaign."""
    quick: int
    """The number of cases of a slice of a few minutes."""
    limit: float = 60.0
    """Seconds that one case may take; ``prepare`` may take at least :data:`PREPARATION`."""

    def prepare(self, folder: Path) -> None:
        """Called once in each worker process, with an empty folder that is removed afterwards.

        Raises :class:`Unavailable` if this machine cannot run the check.
        """
        return

    @abstractmethod
    def case(self, random: Random, number: int) -> Any:
        """Return the case with a number. ``random`` is seeded with the check, the seed and the number."""

    @abstractmethod
    def run(self, case: Any) -> None:
        """Try a case; raise :class:`Finding` if something is wrong."""

    def shown(self, case: Any) -> str:
        """Return a readable form of a case, for the report of a finding."""
        return repr(case)

    def finish(self) -> None:
        """Called at the end of a worker process that was not killed."""
        return


def random_of(check: Check, seed: int, number: int) -> Random:
    return Random(f"{check.name}/{seed}/{number}")


def all_checks(names: list[str]) -> dict[str, Check]:
    """Return the checks of the named parts, or the named checks (``readers.conllu``); all checks if there are no names."""
    found: dict[str, Check] = {}
    for part in PARTS:
        wanted = not names or part in names
        if not wanted and not any(name.startswith(part + ".") for name in names):
            continue
        if find_spec(f"campaign.{part}") is None:
            if wanted and names:
                raise SystemExit(f"The part {part} does not exist.")
            continue
        for check in import_module(f"campaign.{part}").checks():
            name = f"{part}.{check.name}"
            if wanted or name in names:
                found[name] = check
    for name in names:
        if name not in PARTS and name not in found:
            raise SystemExit(f"There is no part or check {name!r}. Parts: {', '.join(PARTS)}")
    return found


# ---- the record


class Store:
    """Counts and findings in an SQLite file; None keeps them in memory. A new file begins with the published counts."""

    def __init__(self, path: Path | None) -> None:
        is_new = path is not None and not path.exists()
        self._folder = path and path.parent
        self._claims: list[TextIO] = []
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path or ":memory:", timeout=60, check_same_thread=False)
        with self._database as database:
            database.execute(
                "create table if not exists tried (name, seed, cases, seconds, day, primary key (name, seed))"
            )
            database.execute(
                "create table if not exists findings (name, seed, number, message, shown, primary key (name, seed, number))"
            )
            if is_new and RESULTS.exists():
                for name, row in json.loads(RESULTS.read_text()).items():
                    tried = (name, row["cases"], 60 * row["minutes"], row["day"])
                    database.execute("insert into tried values (?, 0, ?, ?, ?)", tried)
                    open_ones = [(name, *finding, "") for finding in row.get("open", ())]
                    database.executemany("insert into findings values (?, ?, ?, ?, ?)", open_ones)

    def claim(self, name: str, seed: int) -> bool:
        """Return whether no other process runs a check: two would try the same cases, and count them twice."""
        if self._folder is None:
            return True
        file = open(self._folder / f"{name}-{seed}.lock", "w")  # noqa: SIM115 - held until this process ends
        self._claims.append(file)
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def next(self, name: str, seed: int) -> int:
        """The first case that has not been tried."""
        row = self._database.execute("select cases from tried where name = ? and seed = ?", (name, seed)).fetchone()
        return int(row[0]) if row else 0

    def add(self, name: str, seed: int, cases: int, seconds: float) -> None:
        with self._database as database:
            database.execute(
                "insert into tried values (?1, ?2, ?3, ?4, date()) on conflict do update set "
                "cases = cases + ?3, seconds = seconds + ?4, day = date()",
                (name, seed, cases, seconds),
            )

    def add_finding(self, name: str, seed: int, number: int, message: str, shown: str) -> None:
        with self._database as database:
            row = (name, seed, number, message, shown[:100_000])
            database.execute("insert or replace into findings values (?, ?, ?, ?, ?)", row)

    def remove_finding(self, name: str, seed: int, number: int) -> None:
        with self._database as database:
            database.execute("delete from findings where name = ? and seed = ? and number = ?", (name, seed, number))

    def findings(self) -> list[tuple[str, int, int, str, str]]:
        return self._database.execute("select * from findings order by name, seed, number").fetchall()

    def counts(self) -> Iterator[tuple[str, int, float, str, int]]:
        """Name, cases, seconds, the last day and open findings of each check, over all seeds."""
        rows = self._database.execute(
            "select name, sum(cases), sum(seconds), max(day) from tried group by name"
        ).fetchall()
        for name, cases, seconds, day in rows:
            query = "select count(*) from findings where name = ?"
            yield name, cases, seconds, day, self._database.execute(query, (name,)).fetchone()[0]

    def close(self) -> None:
        self._database.close()


# ---- running


@dataclass
class Outcome:
    """The result of one call of :func:`run_check`."""

    cases: int = 0
    findings: int = 0
    seconds: float = 0.0
    unavailable: str | None = None


PREPARATION = 600.0  # seconds: it imports and compiles, which takes long on a busy machine and breaks no promise
MOST_FINDINGS = 20  # of one check in one run: more would tell nothing new


def run_check(name: str, store: Store, *, seed: int, upto: int, seconds: float) -> Outcome:
    """Run cases of a check that were not tried yet, for a maximum number of cases and a maximum time."""
    check = all_checks([name])[name]
    outcome = Outcome()
    begun = time.monotonic()
    if not store.claim(name, seed):
        outcome.unavailable = "another process runs it"
    while outcome.findings < MOST_FINDINGS and outcome.unavailable is None:
        first = store.next(name, seed)
        left = seconds - (time.monotonic() - begun)
        if first >= upto or left <= 0:
            break
        if not _run_worker(check, name, store, seed, first, upto, left, outcome):
            break
    outcome.seconds = time.monotonic() - begun
    return outcome


def _run_worker(
    check: Check, name: str, store: Store, seed: int, first: int, upto: int, seconds: float, outcome: Outcome
) -> bool:
    """Run one worker process until it ends or must be killed; return whether another one should follow."""
    context = multiprocessing.get_context("spawn")
    current = context.Value("q", -1, lock=False)  # the case that is running; -1: preparing
    ours, theirs = context.Pipe(duplex=False)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="campaign-", ignore_cleanup_errors=True) as folder:
        worker = context.Process(
            target=_work, args=(name, seed, first, upto, seconds, MOST_FINDINGS, current, theirs, folder)
        )
        worker.start()
        theirs.close()
        recorded, written = first, begun
        seen, lasted, looked, delayed = -2, 0.0, begun, 0.0
        late = ended = False

        def record(upto: int) -> None:
            nonlocal recorded, written
            now = time.monotonic()
            store.add(name, seed, upto - recorded, now - written)
            outcome.cases += upto - recorded
            recorded, written = upto, now

        try:
            while True:
                if ours.poll(0.2):
                    try:
                        kind, *content = ours.recv()
                    except EOFError:
                        break
                    if kind == "finding":
                        store.add_finding(name, seed, *content)
                        outcome.findings += 1
                    elif kind == "unavailable":
                        outcome.unavailable = content[0]
                    else:
                        ended = True
                        record(content[0])
                    continue
                now, delay = time.monotonic(), processor_delay(worker.pid)
                # If all processes were stopped for a while, that time does not count, nor does waiting for a processor.
                lasted += max(min(now - looked, 1.0) - (delay - delayed), 0.0)
                looked, delayed = now, delay
                if current.value != seen:
                    seen, lasted = current.value, 0.0
                    if now - written > 5 and seen > recorded:
                        record(seen)  # so that little is lost if the campaign is interrupted
                elif lasted > (check.limit if seen >= 0 else max(check.limit, PREPARATION)):
                    late = True
                    break
        finally:
            if not late:
                worker.join(10)
            with suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)  # the worker and all processes that it has started
            worker.kill()
            worker.join()
    if outcome.unavailable is not None:
        return False
    if not ended:  # it crashed, or was too slow: the case that was running is the finding
        number = max(current.value, first)
        what = f"no end after {lasted:.0f} seconds" if late else f"the process ended with {worker.exitcode}"
        what += " while preparing" if current.value < 0 else ""
        store.add_finding(name, seed, number, what, _shown(check, seed, number))
        outcome.findings += 1
        record(number + 1)
    return not ended and current.value >= 0


def processor_delay(pid: int | None) -> float:
    """The seconds that the threads of a process have waited because other processes used the processors."""
    waits = 0
    with suppress(OSError):  # a process or a thread that has ended, or a system without these files
        for thread in Path(f"/proc/{pid}/task").iterdir():
            waits += int((thread / "schedstat").read_text().split()[1])
    return waits / 1e9


def _shown(check: Check, seed: int, number: int) -> str:
    try:
        return check.shown(check.case(random_of(check, seed, number), number))
    except Exception:  # a check may need its preparation to make a case
        return f"case {number}"


def _work(
    name: str, seed: int, first: int, upto: int, seconds: float, most: int, current: Any, pipe: Connection, folder: str
) -> None:
    """The worker process."""
    os.setsid()  # processes that it starts end with it
    parent = os.getppid()
    until = time.monotonic() + seconds
    check = all_checks([name])[name]
    found = 0
    try:
        check.prepare(Path(folder))
    except Unavailable as reason:
        pipe.send(("unavailable", str(reason)))
        return
    number = first
    with closing(pipe):
        try:
            while number < upto and time.monotonic() < until and found < most and os.getppid() == parent:
                current.value = number
                case = check.case(random_of(check, seed, number), number)
                try:
                    check.run(case)
                except Exception as problem:
                    expected = isinstance(problem, Finding)
                    message = str(problem) if expected else traceback.format_exc()
                    pipe.send(("finding", number, message, check.shown(case)))
                    found += 1
                number += 1
        finally:
            check.finish()
        pipe.send(("done", number))


def run_one(name: str, seed: int, number: int) -> str | None:
    """Run one case in this process; return what is wrong with it."""
    check = all_checks([name])[name]
    with tempfile.TemporaryDirectory(prefix="campaign-", ignore_cleanup_errors=True) as folder:
        check.prepare(Path(folder))
        case = check.case(random_of(check, seed, number), number)
        print(check.shown(case))
        try:
            check.run(case)
        except Finding as finding:
            return str(finding)
        except Exception:
            return traceback.format_exc()
        finally:
            check.finish()
    return None
