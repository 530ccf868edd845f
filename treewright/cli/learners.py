"""``treewright learners``: the tables of named algorithms."""

from __future__ import annotations

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

    Then come the learners that were measured: what each gains over supervised, in points
    with a 95 % interval, and its training time as a multiple; the tasks on which it pays,
    that is, gains more than the interval; and what it needs besides its name.

    Examples:
      treewright learners
      treewright train tagging train.conllu --learner v-dagger --out model.tw
      treewright train tagging train.conllu -l max-violation --beam 8 -o model.tw
    """
    from treewright.learners import FAMILIES
    from treewright.learners.measured import measured_conditions

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
    learners = [row["learner"] for rows in tables.values() for row in rows]
    shown = [row for row in map(_evidence, learners) if any(row[1:])]
    stdout().print("[bold]When it pays\n")
    stdout().print(make_table(None, ["learner", *_TASKS, "pays for", "needs"], shown, left=3 + len(_TASKS)))
    stdout().print(f"\nMeasured on {measured_conditions()}, against supervised: `python -m benchmarks learners`.")


_TASKS = ("tagging", "dependency")


def _evidence(learner: str) -> list[str]:
    """The row of a learner: its name, its gain on each task, the tasks on which it pays, and the settings it needs."""
    from treewright.learners import learner_rows
    from treewright.learners.measured import measurements

    found = measurements(learner)
    pays = ", ".join(task for task in _TASKS if task in found and found[task].pays)
    gains = [str(found[task]) if task in found else "" for task in _TASKS]
    where = "the baseline" if learner == "supervised" else pays or "neither"
    return [learner, *gains, where if found else "", learner_rows()[learner].advice]


def _plain_evidence(learner: str) -> dict[str, Any]:
    """The same as plain values."""
    from treewright.learners import learner_rows
    from treewright.learners.measured import measurements

    found = {task: {**row._asdict(), "pays": row.pays} for task, row in measurements(learner).items()}
    return {"needs": learner_rows()[learner].advice, "measured": found}
