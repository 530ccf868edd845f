"""Settings: one table that makes the options, the keys of the TOML files and their checks.

A setting lives in one of three tables, as in the configuration file::

    bits = 18                    # the task's own, and where things are

    [learner]
    name = "dagger"
    iterations = 10

    [learner.update]
    name = "arow"
    C = 10.0
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

__all__ = ["LEARNING", "RUNNING", "Setting", "option_parameters", "with_parameters"]

Where = Literal["", "learner", "update"]


@dataclass(frozen=True)
class Setting:
    """One setting: ``name`` is the library's, ``default`` is only shown (the library knows it)."""

    name: str
    type: type
    help: str
    table: Where = ""
    flag: str = ""
    default: str = ""
    least: int | None = None
    metavar: str | None = None
    key: str = ""

    @property
    def parameter(self) -> str:
        """The name of the command's parameter; ``name`` itself is taken where tables share it."""
        return self.key or self.name

    def option(self, panel: str) -> inspect.Parameter:
        """The setting as an option of a command, None where it was not given."""
        info = typer.Option(
            *(self.flag or f"--{self.name.replace('_', '-')}").split(" "),
            help=self.help,
            show_default=self.default or False,
            rich_help_panel=panel,
            min=self.least,
            metavar=self.metavar,
        )
        return _parameter(self.parameter, Annotated[self.type | None, info], None)


#: where things are and how to run: known to every task
RUNNING = (
    Setting("dev", Path, "Development corpus: the pass that is best on it is kept.", metavar="FILE"),
    Setting("out", Path, "Where the model goes. Nothing is written there before training is done.", flag="--out -o",
            metavar="FILE"),
    Setting("jobs", int, "Threads. The model does not depend on it.", flag="--jobs -j", default="1", least=1),
)  # fmt: skip

#: the learner and its update: known to every task
LEARNING = (
    Setting("name", str, "The algorithm: see [bold]treewright learners[/bold].", "learner", "--learner -l", key="learner"),
    Setting("iterations", int, "Passes over the corpus.", "learner", "--iterations -n"),
    Setting("epochs", int, "Epochs of classifier training in each iteration.", "learner"),
    Setting("beta", str, "The expert's share: decay:0.1, constant:0.5, linear:10 or expert-first.", "learner",
            metavar="SCHEDULE"),
    Setting("samples", int, "Roll-outs of each action.", "learner"),
    Setting("focus", int, "Cut roll-outs after so many steps; 0: never.", "learner"),
    Setting("k", int, "Exploration: follow predictions after pass k.", "learner", "-k"),
    Setting("p", float, "Exploration: but only if a random number is above p.", "learner", "-p"),
    Setting("interpolation", float, "SEARN's γ, the newest policy's share.", "learner"),
    Setting("roll_in", str, "Who visits states: expert, learned, mixed-per-step, mixed-per-roll or explore.", "learner"),
    Setting("roll_out", str, "Who finishes them: none, expert, learned, mixed-per-step, mixed-per-roll or both.",
            "learner"),
    Setting("cost", str, "What actions cost: action, optimal, oracle or loss.", "learner"),
    Setting("data", str, "What to train on: first, current, all or online.", "learner"),
    Setting("name", str, "The classifier's update: perceptron, passive-aggressive, arow or log-linear.", "update",
            "--update -u", key="update"),
    Setting("averaged", bool, "Average the weights over time, or not.", "update", "--averaged/--no-averaged"),
    Setting("margin", float, "Margin of perceptron and log-linear.", "update"),
    Setting("C", float, "Aggressiveness of passive-aggressive, caution of arow.", "update", "--C"),
    Setting("rate", float, "Step size of log-linear.", "update"),
)  # fmt: skip

_PANELS = {"": "Settings of the task", "learner": "Learner (a named one has made most of these choices)",
           "update": "Update of the classifier"}  # fmt: skip


def option_parameters(settings: Iterable[Setting], panel: str | None = None) -> list[inspect.Parameter]:
    """Settings as parameters of a command."""
    return [setting.option(panel or _PANELS[setting.table]) for setting in settings]


def with_parameters(
    function: Callable[..., None], parameters: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """A function of ``**given`` that takes exactly these parameters, so that typer makes options of them."""

    def command(**given: Any) -> None:
        function(**given)

    parameters = list(parameters)
    setattr(command, "__signature__", inspect.Signature(parameters))  # noqa: B010 - mypy knows no such attribute
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
