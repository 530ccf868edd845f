"""The service under load, beside UDPipe 1 behind a minimal server of the same framework.

``python -m benchmarks serve [--seconds 60] [--turns 4] [--clients 1,32,200] [--requests 100000] [--parts start,load,memory]
[--no-udpipe] [--only NAME,…]``.
The load generator is this process: each client is a connection that sends a sentence of the English Web Treebank, waits for
the answer and sends the next one. The first answer to each sentence is compared with what the library says, and each later one
with the first. All servers run at the same time, and take turns for each number of clients: each gets ``--seconds`` in ``--turns``
parts, with the library alone before and after each part. UDPipe's model is trained here, with its default settings but for
fewer iterations and sentences: its networks have the usual sizes, and its accuracy is poor. Memory is that of the server after 1,000 requests and
after ``--requests``. Parts that are not measured keep the figures that they have.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

from benchmarks.common import RESULTS, ROOT, Clock, corpus_folder, keep, say, timed
from treewright.corpora import load_corpus
from treewright.text.raw import raw_text

SENTENCES = 500
TRAINED_ON = 300  # sentences of UDPipe's model
REPEATS = 3
MINIMAL = """
import sys
from fastapi import FastAPI, Request
import uvicorn
from ufal.udpipe import Model, Pipeline
model = Model.load(sys.argv[1])  # the pipeline does not keep it alive
pipeline = Pipeline(model, "tokenize", Pipeline.DEFAULT, Pipeline.DEFAULT, "conllu")
app = FastAPI()
@app.post("/process")
async def process(request: Request, data: str):  # one at a time: the library is not made for threads
    return {"model": "udpipe", "acknowledgements": [], "result": pipeline.process(data)}
@app.get("/health")
def health():
    return {}
uvicorn.run(app, port=int(sys.argv[2]), log_level="warning", access_log=False)
"""
#: a server with the same framework that does nothing but answer from a table
PREPARED = """
import json, sys
from fastapi import FastAPI, Request
import uvicorn
answers = json.load(open(sys.argv[1]))
app = FastAPI()
@app.post("/process")
async def process(request: Request, data: str):
    return {"model": "none", "acknowledgements": [], "result": answers[data]}
@app.get("/health")
def health():
    return {}
uvicorn.run(app, port=int(sys.argv[2]), log_level="warning", access_log=False)
"""
HTTP_ALONE = "FastAPI alone, prepared answers"


class Case(NamedTuple):
    """What is asked of which server: the request for a text, the part of an answer that matters, and the library's.

    A text has one sentence, or several (``sentences``).
    """

    server: str
    layers: str
    request: Callable[[str], bytes]
    heart: Callable[[bytes], Any]
    library: Callable[[], Callable[[str], Any]]
    sentences: int = 1


# ---- what is asked


def _process(text: str) -> bytes:
    query = urlencode({"data": text, "tokenizer": "", "tagger": "", "parser": ""})
    return f"POST /process?{query} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n".encode()


def _parse(text: str) -> bytes:
    body = json.dumps({"text": text}).encode()
    head = (
        f"POST /api/parse HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _rows(conllu: str) -> str:
    return "\n".join(line for line in conllu.splitlines() if line and not line.startswith("#"))


def _columns_library() -> Callable[[str], Any]:
    import treewright

    pipeline = treewright.load("english").without("constituency", "amr")
    return lambda text: _rows(pipeline(text).to_conllu())


def _all_library() -> Callable[[str], Any]:
    import treewright

    pipeline = treewright.load("english")
    return lambda text: json.loads(json.dumps(pipeline(text).to_json()["sentences"]))


def _all_heart(body: bytes) -> Any:
    sentences = json.loads(body)["sentences"]
    return [{name: value for name, value in each.items() if name != "formats"} for each in sentences]


def _udpipe_library() -> Callable[[str], Any]:
    from ufal.udpipe import Model, Pipeline

    model = Model.load(str(udpipe_model()))
    pipeline = Pipeline(model, "tokenize", Pipeline.DEFAULT, Pipeline.DEFAULT, "conllu")
    return lambda text, model=model: _rows(pipeline.process(text))


COLUMNS = "words, UPOS, XPOS, features, lemmas, dependencies"
CASES = {
    "Treewright, `/process`": Case(
        "treewright", COLUMNS, _process, lambda body: _rows(json.loads(body)["result"]), _columns_library
    ),
    "Treewright, `/process`, ten sentences a request": Case(
        "treewright", COLUMNS, _process, lambda body: _rows(json.loads(body)["result"]), _columns_library, 10
    ),
    "UDPipe 1, minimal server": Case(
        "udpipe", COLUMNS, _process, lambda body: _rows(json.loads(body)["result"]), _udpipe_library
    ),
    HTTP_ALONE: Case("prepared", COLUMNS, _process, lambda body: _rows(json.loads(body)["result"]), _columns_library),
    "Treewright, `/api/parse`": Case(
        "treewright", f"{COLUMNS}, constituents, meaning", _parse, _all_heart, _all_library
    ),
}


def texts(together: int = 1) -> list[str]:
    """Sentences as they stand in the text, or several in each text, with blank lines between them."""
    sentences = load_corpus(corpus_folder("ud-english-ewt") / "test.conllu")
    found = [raw_text([sentence]).strip() for sentence in sentences]
    found = [text for text in found if 3 <= len(text.split()) <= 60][:SENTENCES]
    return ["\n\n".join(found[k : k + together]) for k in range(0, len(found), together)]


def udpipe_model() -> Path:
    """A model of UDPipe 1 by its default settings, with fewer iterations and sentences than are usual."""
    from benchmarks.dependency_peers import UDPIPE_OPTIONS, udpipe_sentences

    path = ROOT / "build" / "serve" / "default.udpipe"
    if not path.exists():
        from ufal.udpipe import ProcessingError, Sentences, Trainer

        part, error = Sentences(), ProcessingError()
        for sentence in udpipe_sentences(load_corpus(corpus_folder("ud-english-ewt") / "train.conllu")[:TRAINED_ON]):
            part.append(sentence)
        parser = ";".join(f"{name}={value}" for name, value in {**UDPIPE_OPTIONS, "iterations": 1}.items())
        model = Trainer.train("morphodita_parsito", part, Sentences(), "epochs=2", "iterations=2", parser, error)
        if error.occurred():
            raise RuntimeError(error.message)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(model)
    return path


# ---- the servers


class Server(NamedTuple):
    url: str
    pid: int

    def cpu(self) -> float:
        """CPU seconds so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Resident memory, in megabytes."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return round(next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1000, 1)


@contextmanager
def running(name: str) -> Iterator[Server]:
    """A server that is ready."""
    if name == "treewright":
        command = [sys.executable, "-m", "treewright", "serve", "english", "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
    elif name == "prepared":
        import treewright

        pipeline = treewright.load("english").without("constituency", "amr")
        table = Path(tempfile.gettempdir()) / "treewright-benchmark-answers.json"
        table.write_text(json.dumps({text: pipeline(text).to_conllu() for text in texts()}))
        process = subprocess.Popen([sys.executable, "-c", PREPARED, str(table), "8798"], text=True)
        url = "http://127.0.0.1:8798"
    else:
        process = subprocess.Popen([sys.executable, "-c", MINIMAL, str(udpipe_model()), "8799"], text=True)
        url = "http://127.0.0.1:8799"
    try:
        _wait(url)
        yield Server(url, process.pid)
    finally:
        process.terminate()
        process.wait()


def _wait(url: str) -> None:
    while True:
        try:
            urlopen(f"{url}/health", timeout=5)
            return
        except OSError:
            time.sleep(0.02)


# ---- the load generator


class Client(asyncio.Protocol):
    """A connection that sends one request after the other, until it is told that there are no more."""

    def __init__(self, following: Callable[[], bytes | None], answered: Callable[[float, int, bytes], None]) -> None:
        self.following, self.answered = following, answered
        self.ended = asyncio.get_running_loop().create_future()
        self.buffer, self.whole, self.status, self.sent = bytearray(), 0, 0, 0.0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._send()

    def _send(self) -> None:
        request = self.following()
        if request is None:
            self.transport.close()
            return
        self.sent = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.whole and (head := self.buffer.find(b"\r\n\r\n")) >= 0:
            lines = bytes(self.buffer[:head]).lower().split(b"\r\n")
            self.status = int(lines[0].split()[1])
            size = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length"))
            del self.buffer[: head + 4]
            self.whole = size
        if self.whole and len(self.buffer) >= self.whole:
            body, self.buffer, self.whole = bytes(self.buffer), bytearray(), 0
            self.answered(time.perf_counter() - self.sent, self.status, body)
            self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(error)


class Loaded(NamedTuple):
    """What came of some seconds of load: the time of each request, the seconds, errors, and answers that differ."""

    times: list[float]
    seconds: float
    errors: int
    wrong: int


def summed(parts: list[Loaded]) -> dict[str, Any]:
    """The parts as one."""
    times = sorted(time for part in parts for time in part.times)
    return {
        "requests": len(times),
        "requests/s": round(len(times) / sum(part.seconds for part in parts), 1),
        "p50, ms": round(1000 * statistics.median(times), 1),
        "p99, ms": round(1000 * times[int(0.99 * (len(times) - 1))], 1),
        "errors": sum(part.errors for part in parts),
        "wrong": sum(part.wrong for part in parts),
    }


async def load(
    url: str,
    requests: list[bytes],
    clients: int,
    more: Callable[[], bool],
    heart: Callable[[bytes], Any],
    right: list[Any] | None,
) -> Loaded:
    """Let clients send requests as long as there are to be more."""
    times: list[float] = []
    known: dict[int, bytes] = {}  # answers that agree with the library
    count = {"errors": 0, "wrong": 0}
    loop, host, port = asyncio.get_running_loop(), urlsplit(url).hostname, urlsplit(url).port

    def client(number: int) -> Client:
        at = number * 37

        def following() -> bytes | None:
            nonlocal at
            at += 1
            return requests[at % len(requests)] if more() else None

        def answered(taken: float, status: int, body: bytes) -> None:
            times.append(taken)
            k = at % len(requests)
            if status != 200:
                count["errors"] += 1
            elif right is not None and known.get(k) != body:
                if k not in known and heart(body) == right[k]:
                    known[k] = body
                else:
                    count["wrong"] += 1

        return Client(following, answered)

    start = time.perf_counter()
    made = [await loop.create_connection(lambda k=k: client(k), host, port) for k in range(clients)]
    ended = await asyncio.gather(*(each.ended for _, each in made))
    taken = time.perf_counter() - start
    count["errors"] += sum(error is not None for error in ended)
    return Loaded(times, taken, count["errors"], count["wrong"])


def run_load(*arguments: Any) -> Loaded:
    """Run :func:`load`, in uvloop where it is installed, so that the generator takes little time itself."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        from asyncio import new_event_loop
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(load(*arguments))


# ---- the parts


class Turns:
    """The turns of one case with one number of clients."""

    def __init__(self, case: Case, server: Server, library: Callable[[str], Any], right: list[Any]) -> None:
        self.case, self.server, self.right = case, server, right
        self.texts = texts(case.sentences)
        self.words = sum(len(text.split()) for text in self.texts)
        self.requests = [case.request(text) for text in self.texts]
        joint = "\n\n".join(self.texts)
        self.alone = lambda: timed(lambda: library(joint))[1]  # on one thread, with the same layers and output
        self.parts: list[Loaded] = []
        self.clocks: list[Clock] = []
        self.cpu = self.generator = 0.0

    def turn(self, clients: int, seconds: float) -> None:
        """Some seconds of load, and the library alone before and after them, because the machine is shared."""
        self.clocks += self.warm()
        end, cpu, generator = time.perf_counter() + seconds, self.server.cpu(), time.process_time()
        more = lambda: time.perf_counter() < end  # noqa: E731
        self.parts.append(run_load(self.server.url, self.requests, clients, more, self.case.heart, self.right))
        self.cpu += self.server.cpu() - cpu
        self.generator += time.process_time() - generator
        self.clocks += self.warm()

    def warm(self) -> list[Clock]:
        """The library alone; not the first time, for which the caches of the processor are cold."""
        return [self.alone() for _ in range(REPEATS)][1:]

    def row(self) -> dict[str, Any]:
        found, seconds = summed(self.parts), sum(part.seconds for part in self.parts)
        per_request = self.words / len(self.texts)
        return found | {
            "words/s": round(found["requests/s"] * per_request),
            "library words/s": round(self.words / statistics.median(clock.wall for clock in self.clocks)),
            "CPU s per 1,000 words": round(1000 * self.cpu / (found["requests"] * per_request), 4),
            "library CPU s": round(1000 * statistics.median(clock.cpu for clock in self.clocks) / self.words, 4),
            "cores of the server": round(self.cpu / seconds, 2),
            "cores of the generator": round(self.generator / seconds, 2),
            "seconds": round(seconds),
            "turns": len(self.parts),
            "load of the machine": round(os.getloadavg()[0], 1),
        }


def measure_load(
    results: dict[str, Any], cases: dict[str, Case], clients: list[int], seconds: float, turns: int
) -> None:
    kept = results.setdefault("load", {})
    with ExitStack() as stack:
        servers = {name: stack.enter_context(running(name)) for name in dict.fromkeys(c.server for c in cases.values())}
        libraries = {name: case.library() for name, case in cases.items()}
        right = {name: [library(text) for text in texts(cases[name].sentences)] for name, library in libraries.items()}
        for number in clients:
            found = {
                name: Turns(case, servers[case.server], libraries[name], right[name]) for name, case in cases.items()
            }
            for _ in range(turns):
                for each in found.values():
                    each.turn(number, seconds / turns)
            for name, case in cases.items():
                row = found[name].row()
                own = kept.setdefault(name, {"layers": case.layers, "clients": {}})
                own["clients"][str(number)] = row
                say(f"{name}, {number} clients:", json.dumps(row))
            keep("serve", results)


def measure_memory(results: dict[str, Any], most: int) -> None:
    requests, found, sent = [_process(text) for text in texts()], {}, 0

    def more() -> bool:
        nonlocal sent
        sent += 1
        return sent <= goal

    with running("treewright") as server:
        for goal in (1_000, most):
            row = run_load(server.url, requests, 32, more, bytes, None)
            sent = goal
            found[f"{goal:,}"] = {"MB": server.memory(), "errors": row.errors}
            say("memory after", goal, "requests:", json.dumps(found[f"{goal:,}"]))
    results["memory"] = found


def measure_start(results: dict[str, Any]) -> None:
    """Seconds from the command to the address, to the first answer, and until all models are loaded; the second start on."""
    found: dict[str, list[float]] = {"address": [], "answer": [], "ready": []}
    for repeat in range(REPEATS + 1):
        start = time.perf_counter()
        command = [sys.executable, "-m", "treewright", "serve", "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        at = [time.perf_counter()]
        urlopen(f"{url}/ping", timeout=60).read()
        at.append(time.perf_counter())
        _wait(url)
        at.append(time.perf_counter())
        process.terminate()
        process.wait()
        if repeat:  # the first one fills the caches
            for name, when in zip(found, at, strict=True):
                found[name].append(when - start)
    results["start, s"] = {name: round(statistics.median(each), 2) for name, each in found.items()}
    say("start:", json.dumps(results["start, s"]))


# ---- the report


def report(results: dict[str, Any]) -> list[str]:
    """The section of ``docs/benchmarks.md``."""
    lines = [
        "## The service under load",
        "",
        "`python -m benchmarks serve`: one server process, and a load generator in another process on the same two cores. Each client",
        f"sends one of {SENTENCES} sentences of EWT's test part, waits for the answer, and sends the next one. Every answer was compared with",
        "the library's. *Library* is the same work without a server: all sentences in one call, on one thread, with the output written.",
        "*Share* is the library's CPU time for 1,000 words divided by that of the server process (all its threads, as the system counts them;",
        "the generator's is not in it, although it takes its part of the two cores): the rest goes into HTTP, and into batches that are smaller than",
        "the library's. The servers ran at the same time and took turns, with the library before and after each turn. *FastAPI alone* is a server of one route that looks prepared answers up: what HTTP costs by itself. *Cores* are those that the server and the generator kept busy.",
        f"UDPipe 1 has its default settings and the default sizes of its networks, but was trained on {TRAINED_ON:,} sentences with fewer iterations:",
        "this is about its speed, and its accuracy is poor. Its server is FastAPI with one route. *Load* is the load average of the two cores, on",
        "which others worked too: compare figures within a row.",
        "",
        "| server | clients | requests/s | words/s | library, words/s | p50, ms | p99, ms | errors | wrong | CPU s per 1,000 words | library | share | cores | load |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, case in results["load"].items():
        for clients, row in sorted(case["clients"].items(), key=lambda each: int(each[0])):
            cells = [name, clients, f"{row['requests/s']:,.0f}", f"{row['words/s']:,}", f"{row['library words/s']:,}"]
            cells += [f"{row['p50, ms']:g}", f"{row['p99, ms']:g}", str(row["errors"]), str(row["wrong"])]
            share = f"{100 * row['library CPU s'] / row['CPU s per 1,000 words']:.0f} %"
            cells += [f"{row['CPU s per 1,000 words']:.3f}", f"{row['library CPU s']:.3f}"]
            cells += ["–" if name == HTTP_ALONE else share]
            cells += [f"{row['cores of the server']:g} + {row['cores of the generator']:g}"]
            cells += [f"{row['load of the machine']:g}"]
            lines.append("| " + " | ".join(cells) + " |")
    lines += ["", *(f"- {name}: {case['layers']}." for name, case in results["load"].items()), ""]
    one, alone = (
        results["load"]["Treewright, `/process`"]["clients"],
        results["load"].get(HTTP_ALONE, {"clients": {}})["clients"],
    )
    floors = [
        f"with {clients} clients {one[clients]['CPU s per 1,000 words']:.3f} against {one[clients]['library CPU s'] + row['CPU s per 1,000 words']:.3f}"
        for clients, row in alone.items()
        if int(clients) > 1
    ]
    lines += _beside(results["load"])
    if floors:
        lines += [
            f"CPU seconds for 1,000 words in requests of one sentence, against those of the library and of FastAPI alone together: {'; '.join(floors)}.",
            "",
        ]
    if "memory" in results:
        memory = [f"{row['MB']:g} MB after {count} requests" for count, row in results["memory"].items()]
        lines += [f"Memory of the server (`/process`, 32 clients): {', '.join(memory)}.", ""]
    if "start, s" in results:
        start = results["start, s"]
        lines += [
            f"`treewright serve` prints its address after {start['address']:.2f} s, has answered a request after {start['answer']:.2f} s and has",
            f"the bundled model in memory after {start['ready']:.2f} s (full caches; medians of {REPEATS}).",
            "",
        ]
    return lines


def _beside(load: dict[str, Any]) -> list[str]:
    """How `/process` compares with UDPipe's server, for the numbers of clients with which both were measured."""
    one, other = (
        load.get(name, {"clients": {}})["clients"] for name in ("Treewright, `/process`", "UDPipe 1, minimal server")
    )
    ratios = [
        f"with {clients} client{'s' * (clients != '1')} {row['requests/s'] / other[clients]['requests/s']:.1f} times the requests a second and"
        f" {row['CPU s per 1,000 words'] / other[clients]['CPU s per 1,000 words']:.2f} of the CPU time for a word"
        for clients, row in sorted(one.items(), key=lambda each: int(each[0]))
        if clients in other
    ]
    return [f"Treewright's `/process` against UDPipe's server: {'; '.join(ratios)}.", ""] if ratios else []


def main() -> None:
    options = _options()
    path = RESULTS / "serve.json"
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    results = {name: results[name] for name in ("load", "memory", "start, s") if name in results}
    cases = {name: case for name, case in CASES.items() if options.udpipe or case.server != "udpipe"}
    cases = {name: case for name, case in cases.items() if any(part in name for part in options.only)}
    if "start" in options.parts:
        measure_start(results)
        keep("serve", results)
    if "load" in options.parts:
        measure_load(results, cases, options.clients, options.seconds, options.turns)
    if "memory" in options.parts:
        measure_memory(results, options.requests)
        keep("serve", results)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks serve")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--clients", type=lambda text: [int(each) for each in text.split(",")], default=[1, 32, 200])
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--parts", type=lambda text: text.split(","), default=["start", "load", "memory"])
    parser.add_argument("--no-udpipe", dest="udpipe", action="store_false")
    parser.add_argument(
        "--only", type=lambda text: text.split(","), default=[""], help="cases by a part of their names"
    )
    return parser.parse_args(sys.argv[2:])


if __name__ == "__main__":
    main()
