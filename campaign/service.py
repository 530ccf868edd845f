"""The service under load: many clients, some of them hostile; answers equal those of the library, and memory stays flat."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

from campaign.frame import Check, Finding, processor_delay

CLIENTS, HOSTILE = 198, 2
SLICE = 10.0  # seconds of load in one case: 360 cases take an hour
PAUSES = (0.0, 0.5, 1.0, 2.0)  # mean seconds between an answer and the next question of a client, case by case
LAYERS = ["upos", "xpos", "feats", "lemma", "dependency"]
WARM = 3  # cases after which the memory of the server is measured for comparison
STOPPED = 5.0  # seconds in which nothing happened here: the processes were stopped, which says nothing about the server
TRIES = 50  # of a slice in which the processes were stopped


class Load(Check):
    """Intervals of load on one server, which keeps running."""

    name, what = "load", f"slices of {SLICE:g} s with {CLIENTS + HOSTILE} clients, 1 % of them hostile"
    goal, quick, limit = 360, 1, 300.0

    def prepare(self, folder: Path) -> None:
        import treewright
        from treewright.corpora import builtin_corpus
        from treewright.text.raw import raw_text

        sentences = builtin_corpus(train=200, dev=0, test=0).train
        texts = [raw_text(sentences[k : k + 1 + k % 3]).strip() for k in range(0, 198, 2)]
        pipeline = treewright.load("english", without=["constituency", "amr"])
        self._right = [(text, pipeline(text).to_conllu()) for text in texts]
        del pipeline
        command = [sys.executable, "-m", "treewright", "serve", "english", "--port", "0"]
        self._server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self._server.stdout is not None
        url = urlsplit(self._server.stdout.readline().split()[-1])
        self._host, self._port = url.hostname, url.port
        asyncio.run(self._wait(b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
        # The first text for each layer compiles its kernels, which takes minutes on a busy machine.
        asyncio.run(self._wait(_request(b'{"text": "Hello there."}', more="connection: close\r\n")))
        self._alone = asyncio.run(self._seconds())
        self._usual, self._cases = 0, 0

    def finish(self) -> None:
        self._server.terminate()  # not SIGINT, which the processes of a background job ignore
        self._server.wait(60)

    def case(self, random: Random, number: int) -> tuple[int, float]:
        return random.getrandbits(32), PAUSES[number % len(PAUSES)]

    def run(self, case: tuple[int, float]) -> None:
        for _ in range(TRIES):
            counts, seconds, stopped = asyncio.run(self._slice(*case))
            if stopped < STOPPED:
                break
        else:
            raise Finding(f"the processes were stopped {TRIES} times")
        if counts.keys() - {"right", "hostile"}:
            raise Finding(f"other answers than the right ones: {dict(counts)}")
        if not counts["right"]:
            raise Finding(f"no answer at all: {dict(counts)}")
        if seconds > 1.0 + self._alone:
            raise Finding(f"after the load, an answer took {seconds:.1f} s, and {self._alone:.1f} s before it")
        self._cases += 1
        memory = _memory(self._server.pid)
        if self._cases == WARM:
            self._usual = memory
        elif self._cases > WARM and memory > 1.1 * self._usual:
            raise Finding(f"the server has {memory:,} kB of memory, and had {self._usual:,} kB before")

    async def _slice(self, seed: int, pause: float) -> tuple[Counter[str], float, float]:
        """Return the answers under load, the seconds of one request after it, and the longest stop of this process."""
        stops = [0.0]
        watching = asyncio.create_task(_watch(stops))
        counts = await self._load(seed, pause)
        waited = processor_delay(self._server.pid)
        seconds = await self._seconds()
        # Other programs may use the processors: the time that the server waited for one is not its own.
        seconds -= processor_delay(self._server.pid) - waited
        watching.cancel()
        return counts, seconds, max(stops)

    async def _wait(self, request: bytes) -> None:
        """Repeat a request until it is answered."""
        end = time.monotonic() + 480
        while True:
            reader, writer = await asyncio.open_connection(self._host, self._port)
            writer.write(request)
            answer = await reader.read()
            writer.close()
            if answer.startswith(b"HTTP/1.1 200"):
                return
            if time.monotonic() > end:
                raise Finding("the server did not become ready")
            await asyncio.sleep(0.2)

    async def _seconds(self) -> float:
        """The time of one request on a new connection."""
        begun = time.monotonic()
        reader, writer = await asyncio.open_connection(self._host, self._port)
        text, right = self._right[0]
        status, body = await _ask(reader, writer, text)
        writer.close()
        if status != 200 or json.loads(body)["conllu"] != right:
            raise Finding(f"a request alone was answered with {status}, or wrongly")
        return time.monotonic() - begun

    async def _load(self, seed: int, pause: float) -> Counter[str]:
        counts: Counter[str] = Counter()
        end = time.monotonic() + SLICE
        tasks = [self._client(Random(seed + k), end, pause, counts) for k in range(CLIENTS)]
        tasks += [self._hostile_client(Random(seed - 1 - k), end, counts) for k in range(HOSTILE)]
        await asyncio.gather(*tasks)
        return counts

    async def _client(self, random: Random, end: float, pause: float, counts: Counter[str]) -> None:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        while time.monotonic() < end:
            text, right = random.choice(self._right)
            try:
                status, body = await _ask(reader, writer, text)
            except (OSError, EOFError):
                counts["broken"] += 1
                break
            if status != 200:
                counts[str(status)] += 1
            else:
                counts["right" if json.loads(body)["conllu"] == right else "wrong"] += 1
            if pause:
                await asyncio.sleep(min(random.uniform(0, 2 * pause), max(end - time.monotonic(), 0)))
        writer.close()

    async def _hostile_client(self, random: Random, end: float, counts: Counter[str]) -> None:
        while time.monotonic() < end:
            with suppress(OSError, EOFError, TimeoutError):
                reader, writer = await asyncio.open_connection(self._host, self._port)
                try:
                    left = max(end - time.monotonic(), 0.1)
                    answer = await asyncio.wait_for(random.choice(HOSTILITIES)(random, reader, writer), left)
                    if answer.startswith(b"HTTP/1.1 5"):
                        counts[answer[9:12].decode()] += 1
                finally:
                    writer.close()
            counts["hostile"] += 1
            await asyncio.sleep(0.05)


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, text: str) -> tuple[int, bytes]:
    writer.write(_request(json.dumps({"text": text, "layers": LAYERS}).encode()))
    await writer.drain()
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
    size = next(int(line.split(":")[1]) for line in head if line.startswith("content-length"))
    return int(head[0].split()[1]), await reader.readexactly(size)


def _request(body: bytes, length: int | None = None, more: str = "") -> bytes:
    size = len(body) if length is None else length
    head = f"POST /api/parse HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {size}\r\n"
    return f"{head}{more}\r\n".encode() + body


def _memory(pid: int) -> int:
    """The resident memory of a process, in kB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS")))


async def _watch(stops: list[float]) -> None:
    """Note the seconds between events of this process that should come every 50 ms."""
    while True:
        begun = time.monotonic()
        await asyncio.sleep(0.05)
        stops[0] = max(stops[0], time.monotonic() - begun)


# ---- the behaviours of hostile clients; each returns the beginning of the answer, if there is one

Hostility = Callable[[Random, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]


async def _hang_up(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(_request(b'{"text": "Hello there."}')[: random.randrange(1, 120)])
    await writer.drain()
    return b""


async def _hang_up_before_the_answer(
    random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bytes:
    writer.write(_request(json.dumps({"text": "Hello there. " * 200}).encode()))
    await writer.drain()
    return b""


async def _send_slowly(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    for byte in _request(b'{"text": "Hello there."}'):
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.2)
    return await reader.read(100)


async def _read_slowly(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(_request(json.dumps({"text": "Hello there. " * 500}).encode()))
    await writer.drain()
    start = await reader.read(20)
    await asyncio.sleep(2)
    return start


async def _rubbish(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(random.randbytes(random.choice((10, 1000, 100_000))))
    await writer.drain()
    return await reader.read(100)


def _sending(*bodies: bytes) -> Hostility:
    async def send(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(random.choice(bodies))
        await writer.drain()
        return await reader.read(100)

    return send


HOSTILITIES: tuple[Hostility, ...] = (
    _hang_up,
    _hang_up_before_the_answer,
    _send_slowly,
    _read_slowly,
    _rubbish,
    _sending(
        _request(b"{"),
        _request(b"[" * 100_000),
        _request(b'{"text": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
        _request(b'{"text": "\\ud800"}'),
        _request(b'{"text": "a\\u0000b"}'),
        _request(b'{"text": "' + b"a" * 5_000 + b'"}'),
        _request(b'{"text": "' + b"a " * 30_000 + b'"}'),
        _request(b'{"text": "a", "model": "../../etc/passwd"}'),
        _request(b'{"text": "a", "width": 1e999}'),
        _request(b'{"text": 1}'),
        _request(b"\xff\xfe"),
        _request(b"{}", length=2_000_000_000),
        _request(b"x" * 2_000_000),
        _request(b"{}" * 10, length=-1),
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /static/%2e%2e/%2e%2e/api.py HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000 + b"\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api/parse HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzzz\r\n",
        b"POST /api/parse HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}",
    ),
)


def checks() -> Iterator[Check]:
    yield Load()
