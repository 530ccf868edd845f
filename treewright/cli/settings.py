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
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

__all__ = ["LEARNING", "PLANNING", "RUNNING", "Setting", "option_parameters", "with_parameters"]

Where = Literal["", "learner", "update"]


@dataclass(frozen=True)
class Setting:
    """One setting: ``name`` is the library's, ``default`` is only shown (the library knows it).

    Where the library takes None (no limit, the whole corpus), neither an option nor TOML can say so: there ``nothing``
    stands for it, mostly 0. A file may also have a setting under its ``alias``.
    """

    name: str
    type: type
    help: str
    table: Where = ""
    flag: str = ""
    default: str = ""
    least: int | None = None
    metavar: str | None = None
    key: str = ""
    nothing: int | None = None
    alias: str = ""

    @property
    def parameter(self) -> str:
        """The name of the command's parameter; ``name`` itself is taken where tables share it."""
        return self.key or self.name

    @property
    def flags(self) -> list[str]:
        """What the option is called, its long name first."""
        return (self.flag or f"--{self.name.replace('_', '-')}").split(" ")

    def option(self, panel: str) -> inspect.Parameter:
        """The setting as an option of a command, None where it was not given."""
        info = typer.Option(
            *self.flags,
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
    Setting("out", Path, "Where the model goes, once training is done.", flag="--out -o", metavar="FILE"),
    Setting("jobs", int, "Threads. The model does not depend on it.", flag="--jobs -j", default="1", least=1),
)

_learner, _update = partial(Setting, table="learner"), partial(Setting, table="update")

#: the learner and its update, of tasks that learn by imitation
LEARNING = (
    _learner("name", str, "The algorithm: see `treewright learners`.", flag="--learner -l", key="learner"),
    _learner("iterations", int, "Passes over the corpus.", flag="--iterations -n"),
    _learner("epochs", int, "Epochs of classifier training in each iteration."),
    _learner(
        "beta",
        str,
        "The expert's share: decay:0.1, constant:0.5, linear:10, expert-first.",
        metavar="SCHEDULE",
    ),
    _learner("samples", int, "Roll-outs of each action."),
    _learner("focus", int, "Cut roll-outs after so many steps; 0: never."),
    _learner("small_first", int, "In the first so many passes take shorter sentences only, more each time; 0: all."),
    _learner("alpha", int, "Leave out an example after so many mistakes on it; 0: never."),
    _learner("k", int, "Exploration: follow predictions after pass k.", flag="-k"),
    _learner("p", float, "Exploration: but only if a random number is above p.", flag="-p"),
    _learner("violation", str, "Beam training: learn where the search is worst, max, or first wrong, early."),
    _learner("interpolation", float, "SEARN's γ, the newest policy's share."),
    _learner("roll_in", str, "Who visits states: expert, learned, mixed-per-step, mixed-per-roll, explore."),
    _learner("roll_out", str, "Who finishes: none, expert, learned, mixed-per-step, mixed-per-roll, both."),
    _learner("cost", str, "What actions cost: action, optimal, oracle, loss."),
    _learner("data", str, "What to train on: first, current, all, online."),
    _update("name", str, "perceptron, passive-aggressive, arow, log-linear.", flag="--update -u", key="update"),
    _update("averaged", bool, "Average the weights over time, or not.", flag="--averaged/--no-averaged"),
    _update("margin", float, "Margin of perceptron and log-linear."),
    _update("C", float, "Aggressiveness of passive-aggressive, caution of arow.", flag="--C"),
    _update("rate", float, "Step size of log-linear."),
)

#: the learner of tasks that learn from whole plans, by inverse reinforcement learning; it has no update
PLANNING = (
    _learner(
        "name",
        str,
        "The algorithm, of inverse reinforcement learning: see `treewright learners`.",
        flag="--learner -l",
        key="learner",
    ),
    _learner("passes", int, "Passes over the corpus.", flag="--passes --iterations -n", alias="iterations"),
    _learner("step", str, "How the step size shrinks: constant, 1/k, 1/sqrt(k); or irprop.", metavar="RULE"),
    _learner("step_size", float, "The first step size, or the constant one."),
    _learner("normalise", bool, "Give every update the length 1, or not.", flag="--normalise/--no-normalise"),
    _learner("l2", float, "Regularisation: small weights."),
    _learner("l1", float, "Regularisation: few weights."),
    _learner("averaged", bool, "Average the weights over time, or not.", flag="--averaged/--no-averaged"),
    _learner("batch", int, "Sentences an update; 0: the whole corpus.", nothing=0),
    _learner("loss", float, "max-margin: how far the expert must be ahead."),
    _learner("temperature", float, "policy-matching: how much chance the policy has; it must be above 0."),
    _learner("n_best", int, "maxent: the best plans to learn from; 0: all plans."),
    _learner("least", float, "mwal: what weights of 0 begin with."),
)

_PANELS = {
    "": "Settings of the task",
    "learner": "Learner (a named one has made most of these choices)",
    "update": "Update of the classifier",
}


def option_parameters(settings: Iterable[Setting], panel: str | None = None) -> list[inspect.Parameter]:
    """Settings as parameters of a command."""
    return [setting.option(panel or _PANELS[setting.table]) for setting in settings]


def with_parameters(function: Callable[..., None], parameters: Iterable[inspect.Parameter]) -> Callable[..., None]:
    """A function of ``**given`` that takes exactly these parameters, so that typer makes options of them."""

    def command(**given: Any) -> None:
        function(**given)

    parameters = list(parameters)
    setattr(command, "__signature__", inspect.Signature(parameters))  # noqa: B010 - mypy knows no such attribute
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
