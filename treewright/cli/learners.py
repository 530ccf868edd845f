"""``treewright learners``: the table of named algorithms."""

from __future__ import annotations

from typing import Annotated

import typer

from treewright.cli.console import make_table, print_json, stdout

__all__ = ["learners"]


def learners(
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as a JSON list.")] = False,
) -> None:
    """Show the named learners and what each of them chooses.

    Each is one algorithm with some choices made: who visits the states (roll-in), who
    finishes the sentence to see what an action costs (roll-out), what is trained on.
    With --learner imitation you make the choices.

    Examples:
      treewright learners
      treewright train tagging train.conllu --learner v-dagger --out model.tw
    """
    from treewright.learners import table

    rows = table()
    if as_json:
        print_json(rows, pretty=True)
        return
    stdout().print(make_table(None, list(rows[0]), [list(row.values()) for row in rows], left=len(rows[0])))
