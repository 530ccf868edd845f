"""Model files: every change is detected, no size in a header is trusted, and nothing in a file is executed."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from campaign.frame import Check, Finding
from campaign.mutations import mutated
from treewright.errors import ModelError
from treewright.models import read_model, write_model

SMALL: dict[str, Any] = {
    "task": "tagging",
    "config": {
        "params": {"bits": 4, "learner": "dagger"},
        "learned": {"labels": ["DET", "NÖUN"], "rate": 0.5, "beam": None},
    },
    "arrays": {
        "weights": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3),
        "counts": np.arange(3, dtype=np.int64),
        "seen": np.array([True, False, True]),
    },
    "card": {"seed": 7, "corpora": {"train": "ab12"}, "date": "2025-01-31"},
}


class _InMemory(Check):
    """Checks that write many small files."""

    def prepare(self, folder: Path) -> None:
        self._memory = tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else folder)
        self._path = Path(self._memory.name, "case.tw")

    def finish(self) -> None:
        self._memory.cleanup()


class SmallFlips(_InMemory):
    """Every byte of a small model, replaced by every other value."""

    name, what, quick = "small", "single bytes of a small model changed: all positions, all values", 20_000

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write_model(Path(folder, "small.tw"), **SMALL)
            self._raw = Path(folder, "small.tw").read_bytes()
        self.goal = len(self._raw) * 255

    def case(self, random: Random, number: int) -> tuple[int, int]:
        position, change = number % len(self._raw), number // len(self._raw) + 1
        return position, change

    def run(self, case: tuple[int, int]) -> None:
        position, change = case
        changed = bytearray(self._raw)
        changed[position] ^= change
        self._path.write_bytes(changed)
        try:
            read_model(self._path)
        except ModelError:
            return
        raise Finding(f"byte {position} changed by {change}, and the model is read")


class LargeFlips(_InMemory):
    """Random bytes of the bundled model."""

    name, what, goal, quick = "large", "single bytes of the bundled English model changed, at random", 100_000, 50

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        self._make()
        self._size = self._path.stat().st_size

    def _make(self) -> None:
        from treewright.bundled import found_model

        shutil.copy(found_model("english"), self._path)

    def case(self, random: Random, number: int) -> tuple[float, int]:
        return random.random(), random.randrange(1, 256)

    def run(self, case: tuple[float, int]) -> None:
        position, change = int(case[0] * self._size), case[1]
        with open(self._path, "r+b", buffering=0) as file:
            old = os.pread(file.fileno(), 1, position)
            os.pwrite(file.fileno(), bytes([old[0] ^ change]), position)
            try:
                read_model(self._path)
            except ModelError:
                return
            finally:
                os.pwrite(file.fileno(), old, position)
        raise Finding(f"byte {position} changed by {change}, and the model is read")


class MediumFlips(LargeFlips):
    """Random bytes of a model that is large enough to have all parts, and small enough for many cases."""

    name, what, quick = "medium", "single bytes of a trained tagger (about 1 MB) changed, at random", 1_000

    def _make(self) -> None:
        from treewright import Tagger, builtin_corpus

        Tagger(bits=14).fit(builtin_corpus(train=100, dev=1, test=1).train).save(self._path)


class Files(_InMemory):
    """Mutated model files, half of them with right checksums: a model that is written and read again, or an error."""

    name, what, goal, quick = "files", "mutated model files, half of them with right checksums", 1_000_000, 5_000

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        write_model(self._path, **SMALL)
        self._raw = self._path.read_bytes()
        length = int.from_bytes(self._raw[:8], "little")
        self._header, self._data = json.loads(self._raw[8 : 8 + length]), self._raw[8 + length :]
        # A header may declare petabytes, which must not be allocated. No case needs as much memory as this limit.
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))

    def case(self, random: Random, number: int) -> tuple[int, int]:
        return random.getrandbits(60), number

    def shown(self, case: tuple[int, int]) -> str:
        return repr(self._content(case))

    def _content(self, case: tuple[int, int]) -> bytes:
        random = Random(case[0])
        if random.random() < 0.4:
            return mutated(random, [self._raw], PIECES)
        return signed(random, self._header, self._data)

    def run(self, case: tuple[int, int]) -> None:
        self._path.write_bytes(self._content(case))
        try:
            model = read_model(self._path)
        except ModelError as error:
            if not str(error).startswith(f"{self._path}: "):
                raise Finding(f"the error does not begin with the file: {error}") from None
            if len(str(error)) > 1000:
                raise Finding(f"a message of {len(str(error)):,} characters") from None
            return
        parts = {"task": model.task, "config": model.config, "arrays": model.arrays, "card": model.card}
        write_model(self._path, **parts)
        again = read_model(self._path)
        same = (again.task, again.config, again.card) == (model.task, model.config, model.card)
        if not same or {n: a.tobytes() for n, a in again.arrays.items()} != {
            n: a.tobytes() for n, a in model.arrays.items()
        }:
            raise Finding("written and read again, it is another model")


PIECES = [
    b'{"', b'":', b"[", b"]", b"{", b"}", b'"dtype":"F32"', b'"shape":[', b'"data_offsets":[', b"-1", b"1e999", b"NaN",
    b'"__metadata__"', b'"sha256"', b"\\u0000", b"\\ud800", b"0" * 64, b"\xff" * 8, b"\0" * 8,
]  # fmt: skip
NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    6,
    8,
    24,
    51,
    2**31,
    2**40,
    2**50,
    2**62,
    2**63,
    2**64,
    10**30,
    10**4000,
    0.5,
    True,
    None,
    "3",
)


def signed(random: Random, header: dict[str, Any], data: bytes) -> bytes:
    """A file with wrong contents and right checksums, as an attacker would make it."""
    header = json.loads(json.dumps(header))
    names = [name for name in header if name != "__metadata__"]
    document = json.loads(header["__metadata__"]["treewright"])
    duplicate = deep = ""
    for _ in range(random.choice((1, 1, 2, 3))):
        entry = header[random.choice(names)]
        match random.randrange(10):
            case 0:
                entry["shape"] = [random.choice(NUMBERS) for _ in range(random.choice((0, 1, 2, 3, 70)))]
            case 1:
                entry["data_offsets"] = [random.choice(NUMBERS), random.choice(NUMBERS)]
            case 2:
                entry["dtype"] = random.choice(("F64", "I8", "BOOL", "U64", "BF16", "O", "", None, [], "f4"))
            case 3:  # arrays that overlap
                entry["data_offsets"] = header[random.choice(names)]["data_offsets"]
            case 4:
                extent = 2 ** random.randrange(64)
                entry |= {"shape": [extent], "data_offsets": [0, extent * random.choice((1, 2, 4, 8))]}
            case 5:
                document[random.choice(list(document))] = random.choice((*NUMBERS, {}, [], "", {"a": [{}]}))
            case 6:
                del document[random.choice(list(document))]
                document = document or {"format": 1}
            case 7:
                duplicate = random.choice(names)
            case 8:
                deep = "[" * random.choice((10, 999, 100_000)) if random.random() < 0.5 else '{"a":' * 5000
            case _:
                data = (
                    data[: random.randrange(len(data) + 1)]
                    if random.random() < 0.5
                    else data + bytes(random.randrange(99))
                )
    if random.random() < 0.7:
        document["arrays_sha256"] = hashlib.sha256(data).hexdigest()
    header["__metadata__"] = {"sha256": "0" * 64, "treewright": json.dumps(document) + deep}
    text = json.dumps(header, separators=(",", ":"))
    if random.random() < 0.01:  # more digits than Python converts
        text = text.replace("[0,", f"[{'9' * 5000},", 1)
    if duplicate:
        text = text[:-1] + f',"{duplicate}":{json.dumps(header[duplicate])}' + "}"
    raw = text.encode()
    raw = struct.pack("<Q", len(raw)) + raw
    return raw.replace(b"0" * 64, hashlib.sha256(raw).hexdigest().encode(), 1) + data


def checks() -> Iterator[Check]:
    yield SmallFlips()
    yield MediumFlips()
    yield LargeFlips()
    yield Files()
