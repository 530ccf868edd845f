"""Options get the same values with the shortcut that avoids pydantic as from Typer itself, and the same errors."""

from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.core import TyperCommand
from typer.testing import CliRunner

from treewright.cli.values import Command


def upper(value: str | None) -> str | None:
    return value and value.upper()


def run(cls, *arguments: str) -> tuple[int, str]:
    app = typer.Typer()

    @app.command(cls=cls)
    def command(
        model: Annotated[str, typer.Argument()],
        files: Annotated[list[Path] | None, typer.Argument()] = None,
        out: Annotated[Path | None, typer.Option()] = None,
        there: Annotated[Path | None, typer.Option(exists=True)] = None,
        jobs: Annotated[int, typer.Option(min=1)] = 1,
        most: Annotated[int | None, typer.Option(max=5)] = None,
        share: Annotated[float, typer.Option()] = 0.5,
        name: Annotated[str | None, typer.Option(callback=upper)] = None,
        parsed: Annotated[str | None, typer.Option(parser=lambda text: text + "!")] = None,
        several: Annotated[list[str] | None, typer.Option()] = None,
        quiet: Annotated[bool, typer.Option()] = False,
    ) -> None:
        print(repr((model, files, out, there, jobs, most, share, name, parsed, several, quiet)))

    done = CliRunner().invoke(app, arguments)
    return done.exit_code, done.output


@pytest.mark.parametrize(
    "arguments",
    [
        "m",
        "",
        "m a b --out x --jobs 3 --share 0.25 --name n --quiet",
        "m --out .",
        "m --there .",
        "m --there missing",
        "m --jobs 0",
        "m --jobs many",
        "m --jobs 007",
        "m --jobs -3",
        "m --jobs 12345678901234567890",
        "m --jobs ²",
        "m --most 4 --jobs 1_0",
        "m --most 6",
        "m --share 1e9",
        "m --parsed text --several one --several two",
        "m --out",
        "m --unknown",
        "--help",
    ],
)
def test_values_are_those_of_typer(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run(Command, *arguments.split())
    assert found == run(TyperCommand, *arguments.split())
