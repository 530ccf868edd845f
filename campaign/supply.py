"""Supply: the released files can be built again with the same bytes, and work in an empty environment.

``python -m campaign.supply dist`` (``make dist``) leaves the wheel and the sdist in ``dist/``; ``lock`` (``make lock``)
writes the lock file of the test environment; ``licences`` writes the table of docs/reliability.md; ``audit`` looks up
known vulnerabilities of the locked packages, which needs a network.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from campaign.frame import FOLDER, Check, Finding, Unavailable
from campaign.report import PAGE, replace

ROOT = FOLDER.parent
EPOCH = "1767225600"  # the time in the files of a wheel: any time, but always the same one
LOCK = ROOT / "requirements" / "test.txt"
LOCK_HEADER = """\
# The test environment with the hashes of every file, for Python 3.11 to 3.13. Made by `make lock`.
# pip install --require-hashes -r requirements/test.txt
# PyTorch is not in it, because its builds differ from platform to platform, nor Stanza, which needs it:
# pip install torch stanza
"""
UNLOCKED = ("torch", "stanza")
TEXT = "Time flies like an arrow."


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command and return its output; if it fails, raise a finding with the output."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise Finding(
            f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.stdout


def environment(folder: Path, *packages: str | Path) -> Path:
    """Create a virtual environment with some packages, and return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    try:
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages, cwd=folder)
    except Finding as problem:
        if "No matching distribution" in str(problem) or "Could not find a version" in str(problem):
            raise Unavailable(f"packages cannot be downloaded: {problem}") from None
        raise
    return python


def sources(target: Path) -> Path:
    """Copy the files that git tracks, in their present state."""
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    return target


def build(python: Path, folder: Path, out: Path, *what: str) -> list[Path]:
    """Build a wheel or an sdist of a folder, and return the files."""
    run(python, "-m", "build", "--no-isolation", *what, "--outdir", out, folder, cwd=folder, SOURCE_DATE_EPOCH=EPOCH)
    return sorted(out.iterdir())


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def distributions(folder: Path) -> tuple[Path, Path]:
    """Build the sdist and the wheel in several ways, and compare; return the wheel and the sdist."""
    python = environment(folder / "tools", "build", "hatchling")
    first, second = sources(folder / "one" / "treewright"), sources(folder / "another place" / "copy")
    (wheel,) = build(python, first, folder / "wheel", "--wheel")
    (again,) = build(python, second, folder / "wheel-again", "--wheel")
    (sdist,) = build(python, first, folder / "sdist", "--sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    (from_sdist,) = build(python, unpacked, folder / "wheel-from-sdist", "--wheel")
    if not digest(wheel) == digest(again) == digest(from_sdist):
        raise Finding(f"three wheels of the same sources differ: {[digest(w) for w in (wheel, again, from_sdist)]}")
    foreign = [name for name in zipfile.ZipFile(wheel).namelist() if not name.startswith("treewright")]
    if foreign:
        raise Finding(f"the wheel has files that do not belong to the package: {foreign}")
    return wheel, sdist


def try_out(wheel: Path, folder: Path) -> None:
    """Install the wheel in an empty environment, and use it as a new user does."""
    python = environment(folder / "empty", wheel)
    home = folder / "home"
    home.mkdir()
    command, place = (
        python.parent / "treewright",
        {"cwd": home, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")},
    )
    version = run(python, "-c", "import treewright; print(treewright.__version__)", **place).strip()
    if version not in wheel.name or version not in run(command, "--version", **place):
        raise Finding(f"{wheel.name} says that it is version {version}")
    (home / "text.txt").write_text(TEXT + "\n")
    parsed = run(command, "parse", "english", "text.txt", **place)
    if "Time" not in parsed or "root" not in parsed:
        raise Finding(f"the bundled model gave: {parsed!r}")
    listed = run(command, "models", **place)
    if "english" not in listed:
        raise Finding(f"the bundled models are: {listed!r}")
    run(command, "info", "english", **place)


class Distribution(Check):
    """Wheel and sdist, built, compared, installed and tried."""

    name, what = "dist", "wheels built three times with the same bytes, installed in an empty environment and tried"
    goal, quick, limit = 1, 0, 1200.0  # quick: `make dist` takes minutes, most of them for downloads

    def prepare(self, folder: Path) -> None:
        self._folder = folder

    def case(self, random: Random, number: int) -> int:
        return number

    def run(self, case: Any) -> None:
        wheel, _ = distributions(self._folder)
        try_out(wheel, self._folder)


class Locked(Check):
    """The lock file of the test environment names each package once, by version and hashes, and without an address."""

    name, what, goal, quick = "lock", "packages in the lock file, each with one version and hashes", 1, 1

    def case(self, random: Random, number: int) -> Path:
        return LOCK

    def run(self, case: Path) -> None:
        from importlib.metadata import requires

        locked = packages(case)
        if not locked:
            raise Finding(f"{case} has no packages")
        for name, (_, hashes) in locked.items():
            if not hashes:
                raise Finding(f"{name} has no hash in {case}")
        if "://" in "".join(line for line in case.read_text().splitlines() if not line.lstrip().startswith("#")):
            raise Finding(f"{case} names a place on the network or on this machine")
        for requirement in requires("treewright") or []:
            name = canonical(_name(requirement))
            wanted = "extra ==" not in requirement or "test" in requirement or "docs" in requirement
            if wanted and name not in locked and name not in (*UNLOCKED, "treewright"):
                raise Finding(f"{name} is needed, and is not in {case}: run make lock")


def canonical(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def packages(lock: Path) -> dict[str, tuple[str, int]]:
    """Return the version and the number of hashes of each package in a lock file."""
    found: dict[str, tuple[str, int]] = {}
    for block in lock.read_text().replace("\\\n", " ").splitlines():
        requirement, *hashes = block.split("--hash=")
        name, equal, version = requirement.split(";")[0].strip().partition("==")
        if equal and not name.startswith("#"):
            found[canonical(name)] = version.strip(), len(hashes)
    return found


def checks() -> Iterator[Check]:
    yield Distribution()
    yield Locked()


def lock() -> None:
    """Write the lock file: everything except PyTorch, whose builds differ between platforms, and packages that need it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["test"], *extras["docs"]]
    own = [name for line in wanted if line.startswith("treewright[") for name in line[11:-1].split(",")]
    wanted += [line for name in own for line in extras[name]]
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        python = environment(Path(folder, "tools"), "uv")
        source, out = Path(folder, "test.in"), Path(folder, "test.txt")
        source.write_text("".join(f"{line}\n" for line in wanted if _name(line) not in (*UNLOCKED, "treewright")))
        run(
            *(python.parent / "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"),
            *("--generate-hashes", "--no-annotate", "--no-header", "--no-emit-index-url", "--no-emit-find-links"),
            *("--output-file", out, source),
            cwd=Path(folder),
        )
        LOCK.parent.mkdir(exist_ok=True)
        LOCK.write_text(LOCK_HEADER + out.read_text())
    print(f"{len(packages(LOCK))} packages in {LOCK.relative_to(ROOT)}")


def audit() -> None:
    """Look up the locked packages in the public database of vulnerabilities."""
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        python = environment(Path(folder, "tools"), "pip-audit")
        said = run(python, "-m", "pip_audit", "--disable-pip", "--require-hashes", "-r", LOCK, cwd=Path(folder))
    unknown = said.count("could not be audited")
    if unknown:
        raise Unavailable(f"{unknown} of {len(packages(LOCK))} packages could not be looked up: is there a network?")
    print(said)


def licences() -> None:
    """Write the licences of all packages that are installed with Treewright, its extras and its tests."""
    from importlib.metadata import PackageNotFoundError, metadata, requires

    def needed(waiting: list[str]) -> dict[str, Any]:
        """Return the metadata of packages and of their dependencies, as far as these are installed here."""
        found: dict[str, Any] = {}
        while waiting:
            name = canonical(waiting.pop())
            if name in found or name == "treewright":
                continue
            with suppress(PackageNotFoundError):  # a package for another platform or Python
                found[name] = metadata(name)
                waiting += [_name(line) for line in requires(name) or [] if "extra ==" not in line]
        return found

    every = requires("treewright") or []
    always = needed([_name(line) for line in every if "extra ==" not in line])
    everything = needed([_name(line) for line in every])
    rows = [(name not in always, name, about["Version"], _licence(about)) for name, about in everything.items()]
    table = ["| package | version | licence | needed for |", "|---|---|---|---|"]
    for more, name, version, licence in sorted(rows):
        table.append(f"| {name} | {version} | {licence} | {'extras, tests, documentation' if more else 'every use'} |")
    replace(PAGE, "licences", "\n".join(table))
    print(f"{len(rows)} packages")


def _name(requirement: str) -> str:
    return re.split(r"[\s;\[(<>=!~]", requirement, maxsplit=1)[0]


def _licence(about: Any) -> str:
    """Return the licence in the metadata of a package: an expression, classifiers, or the first line of a text."""
    if expression := about.get("License-Expression"):
        return str(expression)
    classifiers = [
        line.split(" :: ")[-1] for line in about.get_all("Classifier") or [] if line.startswith("License ::")
    ]
    found = [line for line in classifiers if line != "OSI Approved"]
    text = (about.get("License") or "").strip().partition("\n")[0]
    return ", ".join(found) or text[:60] or "not said in its metadata"


def main() -> None:
    {"dist": dist, "lock": lock, "licences": licences, "audit": audit}[sys.argv[1]]()


def dist() -> None:
    target = ROOT / "dist"
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        wheel, sdist = distributions(Path(folder))
        try_out(wheel, Path(folder))
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for path in (wheel, sdist):
            shutil.copy(path, target)
            print(f"{path.name}: {path.stat().st_size:,} bytes, SHA-256 {digest(path)}")
    print("Built three times with the same bytes, installed in an empty environment, and tried there.")


if __name__ == "__main__":
    try:
        main()
    except (Finding, Unavailable) as problem:
        sys.exit(str(problem))
