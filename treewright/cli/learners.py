"""``treewright learners``: the tables of named algorithms."""

from __future__ import annotations

from typing import Annotated

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
    learn from rewards: they trade accuracy for speed (tune-speed). The one of the last
    table counts relative frequencies (constituency). Learners of installed packages stand
    in the table of their family.

    Examples:
      treewright learners
      treewright train tagging train.conllu --learner v-dagger --out model.tw
      treewright train tagging train.conllu -l max-violation --beam 8 -o model.tw
    """
    from treewright.learners import FAMILIES

    tables = {family.name: family.table() for family in FAMILIES.values()}
    if as_json:
        print_json(tables, pretty=True)
        return
    for name, rows in tables.items():
        columns = list(rows[0])
        stdout().print(f"[bold]{FAMILIES[name].title}\n")
        stdout().print(make_table(None, columns, [list(row.values()) for row in rows], left=len(columns)))
        stdout().print()
