"""What a request must not reach, and what a connection must not hold: files, other sites, time and places."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from typing import Any
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

import pytest

from treewright.server import Limits, make_app

pytestmark = [pytest.mark.jit, pytest.mark.slow]

MARK = "no-such-file-4711"
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


# ---- the application in this process


def ask(
    app: Any, *requests: tuple[str, str, Any, dict[str, str]], load: bool = True
) -> list[tuple[int, dict[str, str], bytes]]:
    """Send requests (method, address, body, headers) to an application, and return status, headers and body of each."""

    async def one(method: str, address: str, body: Any, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        path, _, query = address.partition("?")
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        values = {"content-type": "application/json", "content-length": str(len(content)), **headers}
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in values.items()],
        }
        sent: list[dict[str, Any]] = []
        come = iter([{"type": "http.request", "body": content, "more_body": False}])

        async def receive() -> dict[str, Any]:
            for message in come:
                return message
            await asyncio.Event().wait()  # the client stays
            raise AssertionError

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await app(scope, receive, send)
        head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], head, b"".join(message.get("body", b"") for message in sent[1:])

    async def all() -> list[tuple[int, dict[str, str], bytes]]:
        async with app.router.lifespan_context(app) if load else nullcontext():
            return [await one(*request) for request in requests]

    return asyncio.run(all())


_reached: list[str] | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _reached is not None and event.startswith(("open", "os.", "shutil.", "glob.", "import", "subprocess.")):
        _reached.append(f"{event} {arguments}")


@contextmanager
def file_system() -> Iterator[list[str]]:
    """What the process asks of the file system, as Python's audit events tell it."""
    global _reached
    if not hasattr(file_system, "hooked"):
        sys.addaudithook(_hook)  # for ever: hooks cannot be taken away
        file_system.hooked = True
    _reached = found = []
    try:
        yield found
    finally:
        _reached = None


def test_nothing_of_a_request_reaches_the_file_system(tmp_path):
    app = make_app(["english"])
    path = f"../../{MARK}"
    parse, trace = {"text": "It rains."}, {"text": "It rains.", "layer": "dependency"}
    form = {"content-type": "application/x-www-form-urlencoded"}
    part = f'--x\r\nContent-Disposition: form-data; name="data"; filename="{path}"\r\n\r\nHi {MARK}\r\n--x--\r\n'
    requests = [
        *(
            ("POST", "/api/parse", {**parse, name: value}, {})
            for name, value in (("text", path), ("model", path), ("layers", [path]), ("sentences", [[path]]))
        ),
        *(
            ("POST", "/api/trace", {**trace, name: value}, {})
            for name, value in (
                ("text", path),
                ("model", path),
                ("layer", path),
                ("gold", path),
                ("prefix", [path]),
                ("kind", path),
            )
        ),
        ("POST", "/api/compare", {"models": [path, path], "treebank": path, "layer": path, "text": path}, {}),
        ("POST", "/api/compare", {"models": ["english", "english"], "treebank": path}, {}),
        ("POST", "/api/grammar", {"grammar": f"S -> '{path}'", "text": path}, {}),
        *(
            ("POST", "/process", f"data={path}&tokenizer&tagger&parser&{name}={path}".encode(), form)
            for name in ("model", "input", "output", "tokenizer", "tagger", "parser")
        ),
        ("POST", "/process?tokenizer", part.encode(), {"content-type": "multipart/form-data; boundary=x"}),
        ("POST", f"/?properties={quote(repr({'annotators': path, 'outputFormat': path}))}", path.encode(), {}),
        ("POST", f"/?model={path}", path.encode(), {}),
        *(
            ("GET", prefix + path, b"", {})
            for prefix in ("/", "/static/", "/static/viewer/", "/static/%2e%2e/", "/docs/")
        ),
        ("GET", f"/static//etc/{MARK}", b"", {"host": path, "referer": path, "accept-language": path}),
    ]
    with file_system() as reached:
        answers = ask(app, *requests)
    assert any("english.tw" in each for each in reached)  # the hook sees: the model was read
    assert [each for each in reached if MARK in each] == []
    statuses = [status for status, _, _ in answers]
    assert set(statuses) <= {200, 400, 404, 405, 422}
    assert statuses[0] == 200
    assert set(statuses[-6:]) == {404}


def test_other_sites_may_ask_only_if_they_are_named():
    site, other = "http://lectures.example", "http://elsewhere.example"
    requests = [
        ("OPTIONS", "/api/parse", b"", {"origin": each, "access-control-request-method": "POST"})
        for each in (site, other)
    ]
    requests += [("GET", "/health", b"", {"origin": each}) for each in (site, other)]

    def allowed(app: Any) -> list[str | None]:
        return [head.get("access-control-allow-origin") for _, head, _ in ask(app, *requests, load=False)]

    assert allowed(make_app(["english"], origins=[site])) == [site, None, site, None]
    assert allowed(make_app(["english"])) == [None] * 4


def test_a_request_that_takes_too_long():
    [(status, _, body)] = ask(
        make_app(["english"], limits=Limits(seconds=0.001)), ("POST", "/api/parse", {"text": "It rains."}, {})
    )
    assert (status, json.loads(body)["error"]) == (408, "too-slow")
    assert "0.001 seconds" in json.loads(body)["message"]


def test_text_is_escaped_in_every_answer(served):
    """Nothing that a request says comes back as markup: not as HTML, and in drawings as text."""
    text, tag = f"It rains {SCRIPT}", "<script>alert(1)</script>"
    trace = {"text": text, "layer": "dependency"}
    answers = [
        served.post("/api/parse", {"text": text, "drawings": True}),
        *(
            served.post("/api/parse", {"text": "Hi.", name: value})
            for name, value in (("model", SCRIPT), ("layers", [SCRIPT]), ("width", SCRIPT), (SCRIPT, 1))
        ),
        *(
            served.post("/api/trace", {**trace, name: value})
            for name, value in (("gold", SCRIPT), ("layer", SCRIPT), ("prefix", [SCRIPT]), ("kind", SCRIPT))
        ),
        served.post("/api/compare", {"models": ["english", "worse"], "text": text}),
        served.post("/api/compare", {"models": [SCRIPT, SCRIPT], "text": text}),
        served.post("/api/grammar", {"grammar": f"S -> '{tag}'", "text": tag}),
        served.post("/api/grammar", {"grammar": SCRIPT, "text": SCRIPT}),
        *(served.get("/process", params={"data": text, "tokenizer": "", name: SCRIPT}) for name in ("model", "output")),
        served.post(f"/?properties={quote(SCRIPT)}"),
        served.post("/?properties=" + quote(repr({"annotators": SCRIPT}))),
        served.get("/" + quote(SCRIPT)),
        served.get("/static/" + quote(SCRIPT)),
    ]
    for answer in answers:
        assert "html" not in answer.headers["content-type"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    drawings = list(answers[0].json()["sentences"][0]["drawings"].values())
    drawings += [tree["drawing"] for answer in answers for tree in _json(answer).get("trees", ())]
    assert len(drawings) == 4
    assert "script" in "".join(ElementTree.fromstring(drawings[0]).itertext())  # it is there, as text
    for drawing in drawings:
        names = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(drawing).iter()}
        assert names <= {
            "svg",
            "g",
            "path",
            "text",
            "tspan",
            "rect",
            "style",
            "title",
            "desc",
            "polygon",
            "line",
            "circle",
        }
        assert "<script" not in drawing
        assert not any(name.startswith("on") for e in ElementTree.fromstring(drawing).iter() for name in e.attrib)


def _json(answer: Any) -> dict[str, Any]:
    return answer.json() if "json" in answer.headers["content-type"] else {}


# ---- connections, with a server that has little patience

_STRICT = """
import sys
from treewright.server import Limits, make_app, serve
limits = Limits(body=50_000, words=400, waiting=2, idle=0.7, connections=30)
serve(make_app(["english"], limits=limits), port=0, limits=limits, on_start=lambda address: print(address, flush=True))
"""


@pytest.fixture(scope="module")
def strict(starting, stopping) -> Iterator[Any]:
    found = starting(code=_STRICT)
    yield found
    assert stopping(found) == 0


def _connect(served: Any) -> socket.socket:
    return socket.create_connection(("127.0.0.1", urlsplit(served.url).port), timeout=30)


def _ends(connection: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    return b"".join(iter(lambda: connection.recv(65_536), b""))


_PING = b"GET /ping HTTP/1.1\r\nhost: x\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"GET /ping HTTP/1.1\r\nhost:", b""),
        (_PING, b"pong"),
        (_PING + b"GET /ping HTTP/1.1\r\nhost:", b"pong"),  # the second request of a connection
        (b"POST /api/parse HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{", b"408"),
    ],
    ids=["silence", "half a head", "a request, and silence", "a request, and half a head", "half a body"],
)
def test_connections_are_closed_when_nothing_more_comes(strict, sent, answer):
    with _connect(strict) as connection:
        connection.sendall(sent)
        found = _ends(connection)
    assert answer in found
    assert bool(found) == bool(answer)


def test_an_endless_head_is_cut_off(strict):
    with _connect(strict) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nx: ")
        with pytest.raises(OSError, match=r"reset|pipe"):
            connection.sendall(b"y" * 100_000_000)
    assert strict.get("/ping").text == "pong\n"


def _count(served: Any, status: int) -> int:
    """The number of requests with this status, as the server counts them."""
    found = re.findall(rf'requests_total{{.*status="{status}"}} (\d+)', served.get("/metrics").text)
    return sum(map(int, found))


def test_requests_of_clients_that_disconnect_are_stopped(strict):
    body = json.dumps({"text": "It rains. " * 100}).encode()
    head = f"host: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    posted = f"POST /api/parse HTTP/1.1\r\n{head}\r\n\r\n".encode() + body
    address = "/process?tokenizer&tagger&parser&data=" + "It+rains.+" * 100
    got = f"GET {address} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
    for sent in (posted, got):
        for seconds in (0.0, 0.01):  # before the body is read, and up to some time afterwards
            before = _count(strict, 499)
            for k in range(100):  # a request may be answered before the end of its connection is noticed
                with _connect(strict) as connection:
                    connection.sendall(sent)
                    time.sleep(seconds * k / 100)
                if _count(strict, 499) > before:
                    break
            assert _count(strict, 499) > before
    assert _count(strict, 500) == 0
    assert strict.post("/api/parse", {"text": "It rains."}).status_code == 200


def test_a_request_that_never_becomes_complete(starting, stopping):
    """Each byte comes in time, but the whole does not."""
    served = starting(code=_STRICT.replace("idle=0.7", "idle=600, seconds=0.5"), ready=False)
    with _connect(served) as connection:
        connection.sendall(b"POST /api/parse HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n")
        answer = b""
        while not answer:
            connection.sendall(b"{")
            with suppress(TimeoutError):
                connection.settimeout(0.1)
                answer = connection.recv(65_536)
    assert b"408" in answer.splitlines()[0]
    assert stopping(served) == 0


def test_too_many_waiting_requests_are_told_to_come_back(strict):
    body = {"text": "It rains. " * 100}
    with ThreadPoolExecutor(24) as pool:
        found = list(pool.map(lambda _: strict.post("/api/parse", body), range(24)))
    assert {answer.status_code for answer in found} == {200, 429}
    assert {answer.headers["Retry-After"] for answer in found if answer.status_code == 429} == {"1"}
    assert strict.post("/api/parse", body).status_code == 200


def test_the_oldest_silent_connections_make_place(strict):
    silent = [_connect(strict) for _ in range(60)]
    try:
        assert strict.get("/ping").text == "pong\n"
        assert _ends(silent[0]) == b""
    finally:
        for connection in silent:
            connection.close()


_PATIENT = _STRICT.replace("body=50_000, words=400, waiting=2, idle=0.7", "idle=600, seconds=600")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_although_clients_neither_send_nor_read(starting, number):
    """With its own limits, the server would wait ten minutes for each of these clients."""
    served = starting(code=_PATIENT)
    parse = json.dumps({"text": "It rains. " * 5_000, "layers": ["words"]}).encode()
    head = b"POST /api/parse HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    sent = [b"", b"POST /api", head % 100 + b"{", head % len(parse) + parse]
    clients = [_connect(served) for _ in sent]
    try:
        clients[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for client, data in zip(clients, sent, strict=True):
            client.sendall(data)
        assert clients[-1].recv(12) == b"HTTP/1.1 200"  # the rest of this answer is not read
        served.process.send_signal(number)
        assert served.process.wait(timeout=120) in (0, -number)
    finally:
        for client in clients:
            client.close()


_LOADING = """
import sys, threading
from treewright.cli import main
from treewright.server import registry
registry.Models.load = lambda models: threading.Event().wait()
sys.argv = ["treewright", "serve", "english", "--port", "0"]
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_while_it_loads(starting, number):
    served = starting(code=_LOADING, ready=False)
    served.process.send_signal(number)
    assert served.process.wait(timeout=120) == 0
