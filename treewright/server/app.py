"""The application: routes, middleware, and error responses."""

from __future__ import annotations

import reprlib
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from treewright import __version__
from treewright.errors import TreewrightError
from treewright.server import api, corenlp, udpipe
from treewright.server.counting import Counts
from treewright.server.door import Door, too_large
from treewright.server.limits import Limits, Refused
from treewright.server.registry import Models
from treewright.server.work import Workbench

__all__ = ["make_app"]

_HERE = files("treewright.server") / "static"
_VIEWER = files("treewright.reports") / "viewer"
_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def make_app(models: Iterable[str] = (), *, limits: Limits | None = None, origins: Sequence[str] = ()) -> FastAPI:
    """Return the application for model files or names of bundled models; by default, for all bundled models.

    ``origins`` are the web sites whose pages may call the service (CORS); by default, no other site may.
    """
    from treewright.bundled import bundled_models

    limits = limits or Limits()
    bench = Workbench(Models(list(models) or list(bundled_models())), limits)
    if not len(bench.models):
        raise TreewrightError("no models are bundled with this installation; name a model file")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        bench.start()
        yield
        bench.stop()

    app = _Application(
        title="Treewright",
        version=__version__,
        summary="Parsers as a service, and step by step",
        docs_url=None,  # FastAPI's own pages load scripts from other hosts
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.workbench, app.state.counts = bench, Counts()
    _add_routes(app)
    _add_pages(app)
    _add_answers(app)
    inner: Any = app.answer
    if origins:
        inner = CORSMiddleware(inner, allow_origins=list(origins), allow_methods=["GET", "POST"])
    app.door = Door(inner, limits, app.state.counts)
    return app


class _Application(FastAPI):
    """FastAPI behind the service's door, with a short path to the endpoints that read the request themselves.

    FastAPI's own handling of a request would take as long as parsing a short sentence. It has routes for these
    endpoints too: for the OpenAPI description, and for the case that the application is mounted below another path.
    """

    door: Door
    direct: dict[tuple[str, str], APIRoute]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        await self.door(scope, receive, send)

    async def answer(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request that has passed the door."""
        is_http = scope["type"] == "http"
        if is_http and (refusal := too_large(scope, self.door.limits)) is not None:
            await refusal(scope, receive, send)
            return
        route = self.direct.get((scope["method"], scope["path"])) if is_http else None
        if route is None:
            await super().__call__(scope, receive, send)
            return
        scope["app"], scope["route"] = self, route
        request = Request(scope, receive)
        try:
            response = await route.endpoint(request)
        except Exception as error:
            handlers: dict[Any, Any] = self.exception_handlers
            handler = next((handlers[each] for each in type(error).__mro__ if each in handlers), None)
            if handler is None:
                raise
            response = await handler(request, error)
        await response(scope, receive, send)


def _add_routes(app: _Application) -> None:
    others = [route for module in (udpipe, corenlp) for route in module.router.routes if isinstance(route, APIRoute)]
    app.direct = {(method, route.path): route for route in others for method in route.methods or ()}
    app.router.routes += [*api.router.routes, *others]


def _add_pages(app: FastAPI) -> None:
    """Add the pages and their files. All files are read here, so that no path of a request reaches the file system."""
    parts = {"": _HERE, "viewer/": _VIEWER}
    found = {
        f"{folder}{file.name}": file.read_bytes()
        for folder, place in parts.items()
        for file in place.iterdir()
        if file.is_file()
    }

    async def static(name: str) -> Response:
        if name not in found:
            raise HTTPException(404, "Not Found")
        return Response(found[name], media_type=_TYPES[name.rpartition(".")[2]])

    def page(name: str) -> Any:
        async def answer() -> Response:
            return await static(name)

        return answer

    app.add_api_route("/", page("index.html"), include_in_schema=False)
    app.add_api_route("/docs", page("docs.html"), include_in_schema=False)
    app.add_api_route("/static/{name:path}", static, include_in_schema=False)


def _add_answers(app: FastAPI) -> None:
    """Add the error handlers: a status, a code and a message, or plain text for clients of other protocols."""

    async def refused(request: Request, error: Any) -> Response:
        return _problem(request, error.status, error.code, error.message, error.headers)

    async def mistaken(request: Request, error: Any) -> Response:
        return _problem(request, 422, "unsuitable", str(error))

    async def invalid(request: Request, error: Any) -> Response:
        return _problem(request, 422, "invalid", _sentence_of(error.errors()[0]))

    async def other(request: Request, error: Any) -> Response:
        if isinstance(error.__cause__, UnicodeDecodeError):  # FastAPI does not say which error it was
            return await unreadable(request, error.__cause__)
        return _problem(request, error.status_code, "http", str(error.detail), dict(error.headers or {}))

    async def unreadable(request: Request, error: Any) -> Response:
        return _problem(request, 400, "not-utf-8", f"the request is not UTF-8: {error.reason} at byte {error.start:,}")

    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(TreewrightError, mistaken)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, other)
    app.add_exception_handler(UnicodeDecodeError, unreadable)


# What a value must be, by the type of Pydantic's error; the numbers and names are in its context.
_MUST_BE = {
    "string_type": "must be a string",
    "list_type": "must be a list",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
    "literal_error": "must be {expected}",
}


def _sentence_of(error: dict[str, Any]) -> str:
    """What is wrong with a request, from the first error of its validation: a sentence with the name of the field."""
    kind, where = error["type"], [part for part in error["loc"] if part != "body"]
    field = "the field " + repr(".".join(map(str, where)))
    if kind == "json_invalid":
        return f"the body is not JSON, from character {where[0]:,} on: {error['ctx']['error']}"
    if kind == "missing":
        return f"{field} is missing" if where else "the request has no body: send a JSON object"
    if kind == "extra_forbidden":
        return f"there is {field.replace('the', 'no', 1)}; /docs lists all fields"
    if not where:
        return "the body must be a JSON object, with the header Content-Type: application/json"
    if kind in _MUST_BE:
        return f"{field} {_MUST_BE[kind].format(**error.get('ctx', {}))}, not {reprlib.repr(error['input'])}"
    return f"{field} is not valid: {error['msg']}"


def _problem(request: Request, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response:
    if request.url.path in udpipe.PATHS or request.url.path in corenlp.PATHS:
        plain = 400 if request.url.path in udpipe.PATHS and status in (404, 422) else status
        return Response(message + "\n", plain, headers, media_type="text/plain; charset=utf-8")
    return JSONResponse({"error": code, "message": message}, status, headers)
