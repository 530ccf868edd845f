"""Large inputs: 10 MB of any bytes take at most 10 seconds, and memory of at most 10 times their size plus 100 MB.

Each file is read in a copy of a process that has read a small file before, so that imports and compilation do not count.
``python -m campaign.large READER FILE`` reads one file and prints the time and the memory.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from campaign.frame import Check, Finding
from campaign.trainings import ended, expect, forked
from treewright.errors import TreewrightError

SIZE = 10_000_000
CUT = {"configuration": 1_000_000, "experiment": 1_000_000}  # larger files are refused before they are read
SECONDS = 10.0
MEMORY = 10 * SIZE + 100_000_000

#: the pattern that is repeated until the file is large, or a function that makes the whole content
PATTERNS: dict[str, bytes | Callable[[], bytes]] = {
    "random bytes": lambda: Random(0).randbytes(SIZE),
    "random ASCII": lambda: Random(0).randbytes(SIZE).translate(bytes(32 + k % 95 for k in range(256))),
    **{
        repr(piece)[1:-1].replace("`", ""): piece.encode()
        for piece in (
            *(
                "\0",
                "a",
                "é",
                "🙂",
                "e\u0301",
                "\n",
                "\r",
                "\r\n",
                " ",
                "\t",
                "9",
                '"',
                "\\",
                "'",
                "#",
                ":",
                "-",
                "=",
                ".",
            ),
            *("(", ")", "((", "(a ", "(a b)", "(a b)\n", "(a (b c) ", "()", "(S a b "),
            *("(a / a :x ", ":x ", "(a / a)\n\n", ' :op1 "x"', "~e.1", "# ::snt a\n", "# ::id a\n\n"),
            *("a ", "ab ", "a b\n", "a\n", "a\tb\n", "a\n\n", "# a\n", "1-2\t", "1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n"),
            *(
                "1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n\n",
                "a=1\n",
                "[a]\n",
                "[",
                "{a=",
                "a.",
                "[[a]]\n",
                "a=[",
                '"""',
                "'''",
                '\\"',
            ),
            *("a 1 2 3\n", "1 ", "a 1e5 ", "1 1\n", ". ", "a. B ", "http://", "a-", "\u2028", "\u3000"),
        )
    },
    "numbers of 3,999 digits": lambda: _cut(("9" * 3999 + "\n") * 2_500),
    "one long sentence in CoNLL-U": lambda: _cut(
        "".join(f"{k}\ta{k}\t_\t_\t_\t_\t0\t_\t_\t_\n" for k in range(1, 400_000))
    ),
    "other forms and heads": lambda: _cut("".join(f"1\ta{k}\t_\t_\t_\t_\t{k}\t_\t_\t_\n\n" for k in range(300_000))),
    "other words": lambda: _cut("".join(f"w{k} " for k in range(1_500_000))),
    "other words in lines": lambda: _cut("".join(f"w{k}\tt{k}\n" for k in range(900_000))),
    "other trees": lambda: _cut("".join(f"(S{k} (T{k} w{k}))\n" for k in range(500_000))),
    "other nodes": lambda: _cut("(t / t" + "".join(f" :r{k} (n{k} / c{k})" for k in range(500_000))),
    "other nodes, aligned": lambda: _cut("(t / t" + "".join(f" :r{k} (n{k} / c{k}~e.{k})" for k in range(500_000))),
    "other keys": lambda: _cut("".join(f"k{k} = {k}\n" for k in range(700_000))),
    "other vectors": lambda: _cut("".join(f"w{k} 0.1 0.2 0.3\n" for k in range(700_000))),
    "JSON without end": lambda: (SIZE - 8).to_bytes(8, "little") + b'{"__metadata__":{"sha256":"' + b"[" * (SIZE - 35),
    "JSON with many keys": lambda: _model("{" + ",".join(f'"k{k}":0' for k in range(800_000)) + "}"),
    "a model's header alone": lambda: _model(
        '{"__metadata__":{"sha256":"' + "0" * 64 + '","treewright":"' + "[" * 9_000_000 + '"}}'
    ),
}


def _cut(text: str) -> bytes:
    return text.encode()[:SIZE]


def _model(header: str) -> bytes:
    return len(header).to_bytes(8, "little") + header.encode()


def _corpus(format: str) -> Callable[[str], None]:
    def read(path: str) -> None:
        from treewright.corpora import read_sentences

        for _ in read_sentences(path, format):
            pass

    return read


@cache
def _tokenizer() -> Any:
    import treewright

    return treewright.load("english", without=["dependency", "constituency", "amr"]).tokenizer


def _text(path: str) -> None:
    from treewright.cli.streams import Input

    with Input(path, "text", tokenizer=_tokenizer()) as opened:
        for _ in opened.sentences():
            pass


def _configuration(path: str) -> None:
    from treewright.cli.config import resolve
    from treewright.cli.tasks import TASKS

    resolve(TASKS["tagging"], {}, Path(path))


def _experiment(path: str) -> None:
    from treewright.experiments import read_experiment

    read_experiment(path)


def _vectors(path: str) -> None:
    from treewright.policies.encoders.vectors import read_vectors

    read_vectors(path)


def _model_file(path: str) -> None:
    from treewright.models import read_model

    read_model(path)


READERS: dict[str, Callable[[str], None]] = {
    **{format: _corpus(format) for format in ("conllu", "tabular", "ptb", "amr", "text", "auto")},
    "raw text": _text,
    "configuration": _configuration,
    "experiment": _experiment,
    "vectors": _vectors,
    "model": _model_file,
}


class Large(Check):
    """Every reader with every pattern."""

    name, what, limit = "large", "files of 10 MB: time and memory", 600.0
    goal = len(READERS) * len(PATTERNS)
    quick = 6  # without raw text: one-letter words take 9 of their 10 s, which is not for a busy machine

    def prepare(self, folder: Path) -> None:
        self._file, self._log, self._result = folder / "large", folder / "log", folder / "result"
        self._ready: set[str] = set()

    def case(self, random: Random, number: int) -> tuple[str, str]:
        pairs = [(reader, pattern) for reader in READERS for pattern in PATTERNS]
        Random(4).shuffle(pairs)
        return pairs[number]

    def run(self, case: tuple[str, str]) -> None:
        reader, pattern = case
        if reader not in self._ready:
            _read_small_file(reader)
            self._ready.add(reader)
        # Not in this process: memory that was used and freed here would not be counted when a reader takes it again.
        self._copy(lambda: self._file.write_bytes(_content(reader, pattern)))
        size = self._file.stat().st_size
        for last in (False, False, True):  # other processes on the machine slow this one down: the best time counts
            self._copy(lambda: self._result.write_text(json.dumps(_measure(reader, str(self._file)))))
            took = json.loads(self._result.read_text())
            if took["seconds"] <= SECONDS and took["bytes"] <= MEMORY:
                return
            if last or took["bytes"] > MEMORY:
                raise Finding(f"{size:,} bytes took {took['seconds']:.1f} s and {took['bytes']:,} bytes of memory")

    def _copy(self, work: Callable[[], Any]) -> None:
        """Do something in a copy of this process."""
        self._log.write_text("")
        code = ended(forked(lambda: int(work() is None), self._log))
        expect(code == 0, f"the process ended with {code}: {self._log.read_text()[-2000:]}")


def _content(reader: str, pattern: str) -> bytes:
    content = PATTERNS[pattern]
    return (content() if callable(content) else content * (SIZE // len(content)))[: CUT.get(reader)]


def _read_small_file(reader: str) -> None:
    os.environ["TREEWRIGHT_COMPILE"] = "now"  # not while the large file is read
    warnings.simplefilter("ignore")
    with tempfile.NamedTemporaryFile(suffix=".x") as small:
        small.write(b"a b .\n")
        small.flush()
        with suppress(TreewrightError):
            READERS[reader](small.name)


def _measure(reader: str, path: str) -> dict[str, Any]:
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # to protect the machine
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        READERS[reader](path)
    except TreewrightError as error:
        if len(str(error)) > 2000:
            raise Finding(f"a message of {len(str(error)):,} characters") from None
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": time.process_time() - begun, "bytes": (after - before) * 1024}


if __name__ == "__main__":
    _read_small_file(sys.argv[1])
    print(json.dumps(_measure(*sys.argv[1:])))
