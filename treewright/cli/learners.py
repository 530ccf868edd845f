"""``treewright learners``: the tables of named algorithms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from treewright.cli.console import make_table, print_json, stdout

__all__ = ["learners"]


def learners(
    as_json: Annotated[bool, typer.Option("--json", help="Print the tables as a JSON object.")] = False,
) -> None:
    """Show the named learners and their settings.

    Each learner of the first table is the same algorithm with different choices: the
    policy that visits the states (roll-in), the policy that finishes the sentence to
    determine the cost of an action (roll-out), and the training data. With --learner
    imitation you make the choices.

    The learners of the second table search with a beam during training; give one, such
    as --beam 8. Those of the third table are methods of inverse reinforcement learning:
    they compare whole plans with the given function of a planner, and train parsers and
    taggers that have a planner (constituency, viterbi, eisner). Those of the fourth table
    learn from rewards: they trade accuracy for speed (tune-speed --learner, or train
    constituency --priority-learner), and train dependency parsers. The one of the last
    table counts relative frequencies (constituency). Learners of installed packages stand
    in the table of their family.

    Then come the learners that were measured. Those of imitation: what each gains over
    supervised, in points with a 95 % interval over seeds, and its training time as a
    multiple; the tasks on which it pays, that is, gains more than the interval; and what
    it needs besides its name; then the same on a treebank of another language. Those of
    inverse reinforcement learning, on two treebanks: the gain over relative frequencies,
    with the p-value of a paired test. Those of priorities for an agenda: pops and
    accuracy, compared with A*.

    Examples:
      treewright learners
      treewright train tagging train.conllu --learner v-dagger --out model.tw
      treewright train tagging train.conllu -l max-violation --beam 8 -o model.tw
    """
    from treewright.learners import FAMILIES
    from treewright.learners.measured import (
        default_measurements,
        measured_conditions,
        measurements,
        planner_measurements,
        search_measurements,
    )

    tables = {family.name: family.table() for family in FAMILIES.values()}
    if as_json:
        print_json(
            {name: [{**row, **_plain_evidence(row["learner"])} for row in rows] for name, rows in tables.items()},
            pretty=True,
        )
        return
    for name, rows in tables.items():
        columns = list(rows[0])
        stdout().print(f"[bold]{FAMILIES[name].title}\n")
        stdout().print(make_table(None, columns, [list(row.values()) for row in rows], left=len(columns)))
        stdout().print()
    names = [row["learner"] for rows in tables.values() for row in rows]
    stdout().print("[bold]When it pays\n")
    _show_evidence(names, measurements, _TASKS)
    stdout().print(f"\nMeasured on {measured_conditions()}, against supervised.\n")
    _show_evidence(names, measurements, _ELSEWHERE)
    stdout().print("\nThe same on 400 sentences of UD Afrikaans AfriBooms: another treebank, other gains.\n")
    usual = "; ".join(f"{where}: {row}" for where, row in default_measurements().items())
    stdout().print(f"exploration, the default, with all defaults of the commands: {usual}.\n")
    _show_evidence(names, planner_measurements, _TREEBANKS)
    stdout().print(
        "\nF1 on test, sentences of up to 15 words, against relative frequencies; max-margin and irl-perceptron with "
        "features of spans, their default.\n"
    )
    _show_evidence(["on-policy", *names], search_measurements, _TREEBANKS)
    stdout().print(
        "\nPops and F1 on test, sentences of up to 15 words, against A*₀, all with the same price λ of a pop; it pays "
        "to have fewer pops for at most one point. on-policy is the default of `tune-speed`, which tries several λ "
        "and limits the loss.\n\n"
        "All of them by `python -m benchmarks`: learners, amr_learners, constituency_learners, agenda."
    )


_TASKS = ("tagging", "dependency", "graphs")
_ELSEWHERE = ("tagging, Afrikaans", "dependency, Afrikaans")
_TREEBANKS = ("CRAFT", "WSJ sample")


def _show_evidence(names: list[str], measured: Callable[[str], Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Show the learners that were measured, or that need more than their names: gains, where they pay, their needs."""
    from treewright.learners import learner_rows

    shown = []
    for name in names:
        found = {column: row for column, row in measured(name).items() if column in columns}
        needs = learner_rows()[name].advice if columns is _TASKS else ""
        if found or needs:
            pays = ", ".join(column for column in columns if column in found and found[column].pays)
            where = "the baseline" if name == "supervised" else pays or ("none of them" if found else "")
            shown.append([name, *(str(found.get(column, "")) for column in columns), where, needs])
    head = ["learner", *columns, "pays for", *(["needs"] if any(row[-1] for row in shown) else [])]
    stdout().print(make_table(None, head, [row[: len(head)] for row in shown], left=len(head)))


def _plain_evidence(learner: str) -> dict[str, Any]:
    """The same as plain values."""
    from treewright.learners import learner_rows
    from treewright.learners.measured import measurements, planner_measurements, search_measurements

    found: dict[str, Any] = {
        **measurements(learner),
        **planner_measurements(learner),
        **search_measurements(learner),
    }
    measured = {where: {**row._asdict(), "pays": row.pays} for where, row in found.items()}
    return {"needs": learner_rows()[learner].advice, "measured": measured}
