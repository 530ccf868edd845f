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


def _http() -> type[Any]:
    """The fastest installed HTTP implementation of uvicorn."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol

        return H11Protocol
    return HttpToolsProtocol


class _Joining:
    """A transport that sends the head of an answer and the beginning of its body together.

    The HTTP implementations write them one after the other. Sending them in one call of the system costs half the time,
    and wakes the client up once. What is written alone is sent before the loop waits for anything else.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held = b""
        self._sending: asyncio.Handle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if self._sending is None:
            self._held, self._sending = data, self._loop.call_soon(self._send)
        else:
            self._held += data
            self._send()

    def _send(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            data, self._held, self._sending = self._held, b"", None
            self._transport.write(data)

    def close(self) -> None:
        self._send()
        self._transport.close()

    def get_write_buffer_size(self) -> int:
        return len(self._held) + int(self._transport.get_write_buffer_size())


def _patient(limits: Limits) -> type[Any]:
    """Return the HTTP protocol with a time limit: a connection without a complete request head is closed after it.

    The limit applies to the first request of a connection and to later ones. If there are too many such connections,
    the one that has waited longest is closed at once. A client that opens thousands of connections and sends nothing
    therefore cannot block other clients. The limit also applies to a client that does not read its answer. When the
    server stops, it waits neither for the rest of a request nor for such a client.
    """
    silent: OrderedDict[Any, None] = OrderedDict()
    most = limits.body + _HEAD

    class Patient(_http()):  # type: ignore[misc]  # one of two classes
        """A connection with a timer."""

        _clock: asyncio.TimerHandle | None = None
        _unread = 0
        _delivery: asyncio.TimerHandle | None = None
        _patience = limits.idle

        def connection_made(self, transport: Any) -> None:
            super().connection_made(_Joining(transport, self.loop))
            self._wait()

        def data_received(self, data: bytes) -> None:
            self._unread += len(data)
            if self._clock is not None and self._unread > most:
                self.send_400_response(f"The head of the request is larger than {most:,} bytes.")
                return
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._heard()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if not self.transport.is_closing() and self.cycle.response_complete:
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._heard()
            self._delivered()
            super().connection_lost(exc)

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
            """Start the timer, which runs until the head of a request is complete."""
            self._heard()
            self._clock = self.loop.call_later(limits.idle, self._give_up)
            silent[self] = None
            while len(silent) > limits.connections:
                next(iter(silent))._give_up()

        def _heard(self) -> None:
            silent.pop(self, None)
            self._unread = 0
            if self._clock is not None:
                self._clock.cancel()
                self._clock = None

        def _give_up(self) -> None:
            self._heard()
            if not self.transport.is_closing():
                self.transport.close()

    return Patient
