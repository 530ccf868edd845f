"""``treewright serve``: the workbench in a browser, and a web service."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from treewright.cli.outcomes import finish_output
from treewright.errors import ConfigError

__all__ = ["serve"]


def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(help="Model files, or names of bundled models.", metavar="MODEL…", show_default="all bundled"),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", help="The port; 0 takes a free one.", min=0, max=65535)] = 8080,
    max_body: Annotated[int, typer.Option("--max-body", help="Bytes of a request.", min=1)] = 1_000_000,
    max_words: Annotated[int, typer.Option("--max-words", help="Words of a request.", min=1)] = 20_000,
    max_seconds: Annotated[float, typer.Option("--max-seconds", help="Seconds of a request.", min=0.1)] = 60.0,
    max_waiting: Annotated[int, typer.Option("--max-waiting", help="Requests that may wait.", min=1)] = 512,
    cors: Annotated[
        list[str] | None,
        typer.Option("--cors", help="A web site whose pages may call the service; repeat for more.", metavar="ORIGIN"),
    ] = None,
) -> None:
    """Serve a page that shows how models decide, and a service that others can call.

    The page is at the address that is printed. The service has its own API, described at
    /docs, and speaks the protocols of UDPipe (/models, /process) and of CoreNLP's server
    (POST /). Ctrl-C ends it when the requests under way are answered.

    It needs the extra: pip install 'treewright[serve]'

    Examples:
      treewright serve
      treewright serve english model.tw --port 9000
      curl -F data="Don't stop him!" -F tokenizer= -F tagger= -F parser= localhost:8080/process
    """
    try:
        from treewright.server import Limits, make_app
        from treewright.server import serve as run
    except ModuleNotFoundError as error:
        raise ConfigError(f"the package {error.name!r} is not installed: pip install 'treewright[serve]'") from None
    from treewright.bundled import found_model
    from treewright.models import read_model

    for model in models or ():
        read_model(found_model(model), arrays=False)  # raises an error at once if there is no such model
    limits = Limits(body=max_body, words=max_words, seconds=max_seconds, waiting=max_waiting)
    app = make_app(models or (), limits=limits, origins=cors or ())
    run(app, host=host, port=port, limits=limits, on_start=lambda address: typer.echo(f"Treewright is at {address}"))
    if app.state.workbench.is_busy:  # loading, or an answer that nobody waits for any more
        os._exit(finish_output(0))
