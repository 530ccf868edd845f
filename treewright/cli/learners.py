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

    Those of the second table search with a beam while they learn; give them one,
    such as --beam 8. Those of the third are inverse reinforcement learning: they compare
    whole plans, with the function of a planner that is named there, and train parsers and
    taggers that have one (ConstituencyParser, ViterbiTagger, EisnerParser).
    With --json only the first table is printed.

    Examples:
      treewright learners
      treewright train tagging train.conllu --learner v-dagger --out model.tw
      treewright train tagging train.conllu -l max-violation --beam 8 -o model.tw
    """
    from treewright.learners import STRUCTURED, Structured, irl_table, table

    rows = table()
    if as_json:
        print_json(rows, pretty=True)
        return
    stdout().print(make_table(None, list(rows[0]), [list(row.values()) for row in rows], left=len(rows[0])))
    searching = [(row.name, row().violation, row.source) for row in STRUCTURED.values() if row is not Structured]
    stdout().print()
    stdout().print(make_table(None, ("learner", "violation", "source"), searching, left=3))
    planning = [(row["learner"], row["what it does"], row["planner"], row["source"]) for row in irl_table()]
    stdout().print()
    stdout().print(make_table(None, ("learner", "what it does", "planner", "Neu & Szepesvári 2009"), planning, left=4))
