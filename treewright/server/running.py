"""Run the application on a socket until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import uvicorn

from treewright.errors import TreewrightError
from treewright.garbage import kept_forever
from treewright.server.door import LINE
from treewright.server.limits import Limits

__all__ = ["serve"]

_HEAD = 16_384  # the maximum number of bytes in the head of a request, without its address
_LAST = 2.0  # seconds without progress after which a client that does not read its answer cannot delay the end


def serve(
    app: Any,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    limits: Limits | None = None,
    on_start: Callable[[str], None] | None = None,
) -> None:
    """Serve the application of :func:`make_app` until Ctrl-C or a termination signal.

    Active requests are finished first. With ``port`` 0, a free port is used. ``on_start`` is called with the
    address as soon as connections are accepted.
    """
    limits = limits or Limits()
    app.state.workbench.when_loaded = kept_forever
    _allow_many_files()
    listening = _bound(host, port)
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listening.getsockname()[1]}"
    config = uvicorn.Config(
        app,
        http=_patient(limits),
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # no answer depends on the address of the client
        timeout_keep_alive=max(int(limits.idle), 1),
        timeout_graceful_shutdown=int(limits.seconds) + 5,
        h11_max_incomplete_event_size=limits.body + _HEAD,
        backlog=2_048,
    )
    server = _Server(config, (lambda: on_start(address)) if on_start else None)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that calls a function when it has started."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._on_start is not None:
            self._on_start()


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # with the protocol named, asyncio switches Nagle's algorithm off, which would delay answers by 40 milliseconds
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(2_048)
    except OSError as error:
        raise TreewrightError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
    found.set_inheritable(True)
    return found


def _allow_many_files() -> None:
    """Raise the limit of open files of the process to the maximum that the system allows."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 16_384 if hard == resource.RLIM_INFINITY else min(hard, 16_384)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _http() -> tuple[type[Any], bool]:
    """The fastest installed HTTP implementation of uvicorn, and whether a :class:`_Line` fits it."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol

        return H11Protocol, False
    return HttpToolsProtocol, True


class _Line:
    """What a connection offers for a request beyond ASGI: see :class:`treewright.server.door.Line`.

    The messages of ASGI cost more time than anything else that a server does for a short answer.
    """

    __slots__ = ("_cycle", "lost")

    def __init__(self, cycle: Any) -> None:
        self._cycle = cycle
        self.lost: Callable[[], None] | None = None

    @property
    def is_lost(self) -> bool:
        return bool(self._cycle.disconnected)

    @property
    def is_whole(self) -> bool:
        return not self._cycle.more_body

    def send(self, head: Any, body: bytes) -> bool:
        """Send an answer as uvicorn would, but in one piece: one call of the system, which wakes the client up once.

        Answers with errors and those that must wait for the client are left to uvicorn.
        """
        cycle, headers = self._cycle, head["headers"]
        if head["status"] != 200 or cycle.response_started or cycle.flow.write_paused or cycle.disconnected:
            return False
        if cycle.scope["method"] == "HEAD" or (b"content-length", b"%d" % len(body)) not in headers:
            return False
        lines = [b"%b: %b\r\n" % each for each in (*cycle.default_headers, *headers)]
        text = b"".join([b"HTTP/1.1 200 OK\r\n", *lines, b"" if cycle.keep_alive else _CLOSE, b"\r\n"])
        if text.count(b"\n") != len(lines) + (2 if cycle.keep_alive else 3):  # a value with a line end
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.transport.write(text + body)
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
        return True


_CLOSE = b"connection: close\r\n"


def _patient(limits: Limits) -> type[Any]:
    """Return the HTTP protocol with a time limit: a connection without a complete request head is closed after it.

    The limit applies to the first request of a connection and to later ones. If there are too many such connections,
    the one that has waited longest is closed at once. A client that opens thousands of connections and sends nothing
    therefore cannot block other clients. The limit also applies to a client that does not read its answer. When the
    server stops, it waits neither for the rest of a request nor for such a client.
    """
    silent: OrderedDict[Any, float] = OrderedDict()  # connections, and when their patience ends; the first one first
    sweep: asyncio.TimerHandle | None = None
    most = limits.body + _HEAD
    http, is_quick = _http()

    def sweep_silent() -> None:
        """Close the connections whose time is over. One timer for all costs less than one for each request."""
        nonlocal sweep
        sweep, loop = None, asyncio.get_running_loop()
        while silent:
            connection, end = next(iter(silent.items()))
            if end > loop.time():
                sweep = loop.call_at(end, sweep_silent)
                return
            connection._give_up()

    class Patient(http):  # type: ignore[misc, valid-type]  # one of two classes
        """A connection with limited patience."""

        _unread = 0
        _lines: tuple[_Line, ...] = ()
        _delivery: asyncio.TimerHandle | None = None
        _patience = limits.idle

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            self._unread += len(data)
            if self._unread > most and self in silent:
                self.send_400_response(f"The head of the request is larger than {most:,} bytes.")
                return
            before = self.cycle
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._heard()
                if is_quick and self.cycle is not before:
                    self._offer(self.cycle)

        def _offer(self, cycle: Any) -> None:
            """Offer a line for a request, before the application begins with it."""
            line = _Line(cycle)
            self._lines = (line, *(each for each in self._lines if each.lost is not None))
            cycle.scope["extensions"] = {LINE: line}

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if not self.transport.is_closing() and self.cycle.response_complete:
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._heard()
            self._delivered()
            super().connection_lost(exc)
            for line in self._lines:
                if line.lost is not None:
                    line.lost()

        def shutdown(self) -> None:
            self._patience = min(limits.idle, _LAST)
            if self._delivery is not None:
                self._deliver()
            if self.cycle is not None and not self.cycle.response_complete and self.cycle.more_body:
                self.transport.close()  # the rest of the request may never come
            else:
                super().shutdown()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._deliver()

        def resume_writing(self) -> None:
            self._delivered()
            super().resume_writing()

        def _deliver(self) -> None:
            """Start the timer of an answer that the client has not read: it must make progress."""
            self._delivered()
            self._delivery = self.loop.call_later(self._patience, self._progress, self._unsent())

        def _progress(self, before: int) -> None:
            if self._unsent() < before:
                self._deliver()
            else:
                self.transport.abort()

        def _unsent(self) -> int:
            size: int = self.transport.get_write_buffer_size()
            return size

        def _delivered(self) -> None:
            if self._delivery is not None:
                self._delivery.cancel()
                self._delivery = None

        def _wait(self) -> None:
            """Have patience, until the head of a request is complete."""
            nonlocal sweep
            self._heard()
            end = silent[self] = self.loop.time() + limits.idle
            if sweep is None:
                sweep = self.loop.call_at(end, sweep_silent)
            while len(silent) > limits.connections:
                next(iter(silent))._give_up()

        def _heard(self) -> None:
            silent.pop(self, None)
            self._unread = 0

        def _give_up(self) -> None:
            self._heard()
            if not self.transport.is_closing():
                self.transport.close()

    return Patient
