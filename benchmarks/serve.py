"""The service under load: requests a second, waiting times, errors and memory, beside UDPipe 1 behind a minimal server.

``python -m benchmarks serve [--seconds 60] [--clients 1,32,200] [--requests 100000] [--no-udpipe]``. Clients are connections
of one process, each of which sends a sentence of the English Web Treebank and waits for the answer. Answers are compared with
those of the library. UDPipe's model is the one that ``python -m benchmarks rawtext`` trains; without that, a small one is
trained, which is as fast but worse. Memory is that of the server after 1,000 requests and after ``--requests``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from benchmarks.common import ROOT, corpus_folder, keep, say, versions
from treewright.corpora import load_corpus
from treewright.text.raw import raw_text

MODELS = ROOT / "build" / "rawtext"
SENTENCES = 500
UDPIPE = """
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


def main() -> None:
    options = _options()
    texts = _texts()
    results: dict[str, Any] = {"versions": versions(), "seconds": options.seconds, "servers": {}}
    for name, start in _servers(options):
        process, url = start()
        try:
            _wait(url)
            right = _right(texts) if name == "Treewright" else None
            rows = {}
            for clients in options.clients:
                rows[str(clients)] = row = asyncio.run(load(url, texts, clients, options.seconds, right))
                say(f"{name}, {clients} clients:", json.dumps(row))
            results["servers"][name] = {"load": rows}
            if name == "Treewright":
                results["servers"][name]["library words/s"] = _library_speed(texts)
                results["servers"][name]["memory, MB"] = asyncio.run(memory(url, process.pid, texts, options.requests))
                say(f"{name}, memory:", json.dumps(results["servers"][name]["memory, MB"]))
        finally:
            process.terminate()
            process.wait()
    keep("serve", results)
    say(table(results))


def table(results: dict[str, Any]) -> str:
    """All results as a table of Markdown."""
    lines = [
        "| server | clients | requests/s | words/s | p50, ms | p99, ms | errors | wrong |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, server in results["servers"].items():
        for clients, row in server["load"].items():
            cells = (row["requests/s"], row["words/s"], row["p50"], row["p99"], row["errors"], row["wrong"])
            lines.append(f"| {name} | {clients} | " + " | ".join(f"{cell:g}" for cell in cells) + " |")
    return "\n".join(lines)


async def load(url: str, texts: list[str], clients: int, seconds: float, right: list[str] | None) -> dict[str, Any]:
    """Let clients send requests for some time."""
    end = time.perf_counter() + seconds
    found: list[tuple[float, int, int]] = []  # seconds, status, and whether the answer is wrong

    async def client(number: int) -> None:
        connection = Connection(url)
        k = number * 37 % len(texts)
        while time.perf_counter() < end:
            start = time.perf_counter()
            try:
                status, body = await connection.process(texts[k])
            except (OSError, EOFError):
                status, body = 0, b""
                connection = Connection(url)
            wrong = status == 200 and right is not None and _rows(json.loads(body)["result"]) != right[k]
            found.append((time.perf_counter() - start, status, int(wrong)))
            words[0] += len(texts[k].split())
            k = (k + 1) % len(texts)
        connection.close()

    words, begin = [0], time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(clients)))
    taken = time.perf_counter() - begin
    times = sorted(each[0] for each in found)
    return {
        "requests": len(found),
        "requests/s": round(len(found) / taken, 1),
        "words/s": round(words[0] / taken),
        "p50": round(1000 * statistics.median(times), 1),
        "p99": round(1000 * times[int(0.99 * (len(times) - 1))], 1),
        "errors": sum(status != 200 for _, status, _ in found),
        "wrong": sum(wrong for _, _, wrong in found),
    }


class Connection:
    """A connection that stays open, and sends one request after the other."""

    def __init__(self, url: str) -> None:
        self.host, self.port = urlsplit(url).hostname, urlsplit(url).port
        self.streams: Any = None

    async def process(self, text: str) -> tuple[int, bytes]:
        """Ask UDPipe's route for everything that it gives."""
        if self.streams is None:
            self.streams = await asyncio.open_connection(self.host, self.port)
        reader, writer = self.streams
        query = urlencode({"data": text, "tokenizer": "", "tagger": "", "parser": ""})
        writer.write(f"POST /process?{query} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n".encode())
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        size = next(int(line.split(":")[1]) for line in head if line.lower().startswith("content-length"))
        body = await reader.readexactly(size)
        if any(line.lower() == "connection: close" for line in head):
            self.close()
        return int(head[0].split()[1]), body

    def close(self) -> None:
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


async def memory(url: str, pid: int, texts: list[str], requests: int) -> dict[str, float]:
    """The server's memory after 1,000 requests and after many."""
    found, done = {}, 0
    for goal in (1_000, requests):

        async def client(share: int) -> None:
            connection = Connection(url)
            for k in range(share):
                await connection.process(texts[k % len(texts)])
            connection.close()

        await asyncio.gather(*(client((goal - done) // 32) for _ in range(32)))
        done = goal
        found[f"after {goal:,} requests"] = _resident(pid)
    return found


def _resident(pid: int) -> float:
    """The memory of a process, in megabytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1000, 1)


def _texts() -> list[str]:
    """Sentences as they stand in the text."""
    sentences = load_corpus(corpus_folder("ud-english-ewt") / "test.conllu")
    texts = [raw_text([sentence]).strip() for sentence in sentences]
    return [text for text in texts if 3 <= len(text.split()) <= 60][:SENTENCES]


def _pipeline() -> Any:
    import treewright
    from treewright.pipeline import Pipeline

    model = treewright.load("english")
    kept = [each for each in model.components if not {"constituency", "amr"} & set(each.gives())]
    return Pipeline(kept, lemmas=model.lemmas)


def _right(texts: list[str]) -> list[str]:
    """What the library makes of the texts."""
    pipeline = _pipeline()
    return [_rows(pipeline(text).to_conllu()) for text in texts]


def _rows(conllu: str) -> str:
    return "\n".join(line for line in conllu.splitlines() if line and not line.startswith("#"))


def _library_speed(texts: list[str]) -> float:
    """Words a second of the library, for all texts at once."""
    pipeline, text = _pipeline(), "\n\n".join(texts)
    pipeline(text)
    start = time.perf_counter()
    pipeline(text).to_conllu()
    return round(len(text.split()) / (time.perf_counter() - start))


def _servers(options: argparse.Namespace) -> list[tuple[str, Any]]:
    def treewright() -> tuple[Any, str]:
        command = [sys.executable, "-m", "treewright", "serve", "english", "--port", "0", "--max-waiting", "1000"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        return process, process.stdout.readline().split()[-1]

    def udpipe() -> tuple[Any, str]:
        process = subprocess.Popen([sys.executable, "-c", UDPIPE, str(_udpipe_model()), "8799"])
        return process, "http://127.0.0.1:8799"

    return [("Treewright", treewright), *([("UDPipe 1", udpipe)] if options.udpipe else [])]


def _udpipe_model() -> Path:
    """The model of the benchmark of raw text, or else a small one."""
    from ufal.udpipe import ProcessingError, Sentences, Trainer

    from benchmarks.dependency_peers import udpipe_sentences

    path = MODELS / "ud-english-ewt.udpipe"
    if path.exists():
        return path
    path = ROOT / "build" / "serve" / "small.udpipe"
    if not path.exists():
        part, error = Sentences(), ProcessingError()
        for sentence in udpipe_sentences(load_corpus(corpus_folder("ud-english-ewt") / "train.conllu")[:1000]):
            part.append(sentence)
        settings = "epochs=3", "iterations=3", "iterations=2;embedding_form=20;hidden_layer=100"
        model = Trainer.train("morphodita_parsito", part, Sentences(), *settings, error)
        if error.occurred():
            raise RuntimeError(error.message)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(model)
    return path


def _wait(url: str) -> None:
    from urllib.request import urlopen

    while True:
        try:
            urlopen(f"{url}/health", timeout=5)
            return
        except OSError:
            time.sleep(0.2)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks serve")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=lambda text: [int(each) for each in text.split(",")], default=[1, 32, 200])
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--no-udpipe", dest="udpipe", action="store_false")
    return parser.parse_args(sys.argv[2:])


if __name__ == "__main__":
    main()
