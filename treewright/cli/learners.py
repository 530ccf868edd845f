"""``treewright learners``: the tables of named algorithms."""

from __future__ import annotations

from typing import Annotated

import typer

from treewright.cli.console import make_table, print_json, stdout

__all__ = ["learners"]


def learners(
    as_json: Annotated[bool, typer.Option("--json", help="Print the tables as a JSON object.")] = False,
) -> None:
    """Show the named learners and what each of them chooses.

    Each is one algorithm with some choices made: who visits the states (roll-in), who
    finishes the sentence to see what an action costs (roll-out), what is trained on.
    With --learner imitation you make the choices.

    Those of the second table search with a beam while they learn; give them one,
    such as --beam 8. Those of the third are inverse reinforcement learning: they compare
    whole plans, with the function of a planner that is named there, and train parsers and
    taggers that have one (constituency, viterbi, eisner). Those of the fourth learn from
    rewards: they trade accuracy for speed (tune-speed). That of the last counts, and
    learns nothing else (constituency). Learners of installed packages stand in the table
    of their family.

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
