"""Parse many files, sequentially or by the workers of a cluster; the output is the same."""

from __future__ import annotations

import glob
import hashlib
import json
import sys
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from treewright.cli.console import Bar
from treewright.cli.outcomes import note
from treewright.cli.parse import annotate_file
from treewright.cli.preparing import preparation
from treewright.cli.tasks import load_model
from treewright.errors import ConfigError, CorpusError
from treewright.files import atomic_write

__all__ = ["parse_shards"]

_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []  # of models, which may be read later


def parse_shards(
    models: dict[str, Any], pattern: str, how: dict[str, Any], out: Path | None, cluster: str | None, *, quiet: bool
) -> None:
    """Parse all files that match a pattern, in the order of their names, and write one file."""
    from treewright.cluster.parsing import forget_shards, join_shards, run_shards, shards_of

    if how["named"] in ("svg", "html"):
        raise ConfigError(f"several files cannot be written as {how['named']}; parse them one by one")
    files = [Path(name) for name in sorted(glob.glob(pattern, recursive=True)) if Path(name).is_file()]
    if not files:
        raise CorpusError("there is no file of this name", path=pattern)
    value = (_contents(models), json.dumps(how))
    about = hashlib.sha256(repr(value).encode()).hexdigest()
    with ExitStack() as stack:
        if out is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        else:
            folder = out.with_name(out.name + ".shards")
        shards = shards_of(files, folder, about)
        done = sum(shard.is_done for shard in shards)
        if done and not quiet:
            note(f"note: {done} of {len(shards)} files are parsed already, in {folder}")
        client = None
        if cluster is not None:
            from treewright.cluster import connect

            client = stack.enter_context(connect(cluster))
        bar = stack.enter_context(Bar(shown=not quiet))
        for shard in run_shards(shards, parse_shard, value, client):
            done += 1
            bar.update(f"parsing, last {shard.source.name}", done, len(shards))
        if out is None:
            join_shards(shards, sys.stdout.buffer.write)
            sys.stdout.buffer.flush()
        else:
            with atomic_write(out, "wb") as file:
                join_shards(shards, file.write)
            forget_shards(shards)


def _contents(models: dict[str, Any]) -> tuple[tuple[str, str, bytes], ...]:
    """The models as bytes, with their options and names: workers may not have the files."""
    from treewright.bundled import found_model

    paths = [("model", models["model"]), *(("tagger", path) for path in models["tagger"])]
    paths += [("parser", models["parser"])] if models["parser"] is not None else []
    found = []
    for option, path in paths:
        try:
            found.append((option, Path(path).name, Path(found_model(path)).read_bytes()))
        except OSError:
            load_model(path)  # raises the error
            raise
    return tuple(found)


def parse_shard(value: tuple[tuple[tuple[str, str, bytes], ...], str], name: str, data: bytes) -> bytes:
    """Parse the contents of a file; a process loads the models once."""
    models, written = value
    how = json.loads(written)
    wanted = "ptb" if how["k_best"] is not None else how["named"] or "conllu"  # a pipeline's own format
    task, estimator, prepare = _loaded(models, wanted)
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, "in", name), Path(folder, "out")
        file.parent.mkdir()
        file.write_bytes(data)
        annotate_file(task, estimator, prepare, str(file), out, quiet=True, **how)
        return out.read_bytes() if out.exists() else b""


@cache
def _loaded(models: tuple[tuple[str, str, bytes], ...], wanted: str) -> tuple[Any, Any, Any]:
    """The task, the estimator and the function that prepares sentences for it."""
    folder = tempfile.TemporaryDirectory()
    _FOLDERS.append(folder)
    paths: dict[str, list[Path]] = {"model": [], "tagger": [], "parser": []}
    for number, (option, name, data) in enumerate(models):
        path = Path(folder.name, str(number), name if name.endswith(".tw") else f"{name}.tw")
        path.parent.mkdir()
        path.write_bytes(data)
        paths[option].append(path)
    task, estimator = load_model(paths["model"][0], wanted)
    return task, estimator, preparation(task, estimator, paths["tagger"], next(iter(paths["parser"]), None))
