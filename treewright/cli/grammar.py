"""``treewright grammar``: the contents of a grammar, and its export."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from treewright.cli.console import make_table, print_json, several, stdout
from treewright.cli.evaluate import annotation_kind
from treewright.cli.outcomes import note
from treewright.cli.streams import load
from treewright.cli.tasks.constituency import grammar_name, read_grammar
from treewright.errors import ConfigError

if TYPE_CHECKING:
    from treewright.constituency import Grammar
    from treewright.constituency.grammar.listing import ListedRule

__all__ = ["grammar"]

_ABOUT = {
    "phrases": "constituents of the treebank, with their context",
    "bottoms": "phrases below a unary chain",
    "intermediate": "parts of constituents with more than two children",
    "tags": "what stands over words",
    "unary": "whole chains, including those of length 0",
}


def grammar(
    source: Annotated[
        str,
        typer.Argument(
            help="A constituency model, or a pipeline with one; a treebank (.ptb, .mrg, or - for standard input); or a "
            "grammar (.txt, .tw).",
            metavar="SOURCE",
        ),
    ],
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            "-o",
            help="Write all rules to this file: .txt is text, .tw is smaller; - prints.",
            metavar="FILE",
        ),
    ] = None,
    symbol: Annotated[
        str | None, typer.Option("--symbol", "-s", help="Only the rules of this symbol, as NP^S.")
    ] = None,
    top: Annotated[
        int, typer.Option("--top", "-n", help="How many rules to show, the most frequent first.", min=0)
    ] = 20,
    kind: Annotated[
        str | None,
        typer.Option(
            "--grammar", help="Of a treebank: what symbols remember, as v2h1, v3hinf, v2h1-head.", show_default="v2h1"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
) -> None:
    """Show a grammar, or export it: the numbers of symbols and rules, and the most frequent rules.

    The probability of a rule is its share among the rules of its parent. Its weight is
    what a parser adds for it: the logarithm of the probability, unless a learner has
    changed it.

    The text format has one rule per line: parent, arrow, children, then tab, count, tab,
    weight. You can write or edit such a file and train with it.

    Examples:
      treewright grammar train.ptb --grammar v3h2
      treewright grammar model.tw --symbol NP^S --top 5
      treewright grammar model.tw --export rules.txt
      treewright train constituency train.ptb --grammar rules.txt --out model.tw
      treewright grammar train.ptb --json | jq .size
    """
    from treewright.constituency.grammar.listing import list_rules, sizes

    if export is not None and (symbol is not None or as_json):
        raise ConfigError("--export writes the whole grammar: leave out --symbol and --json")
    _check_export(export)
    found = _find(source, kind, shown=not as_json)
    if export is not None:
        _export(found.grammar, export)
        return
    rules = list_rules(found.grammar, symbol)
    if as_json:
        about = {"source": source, "grammar": found.name, "trees": found.trees, "size": sizes(found.grammar)}
        print_json({**about, "rules": [asdict(rule) for rule in rules[:top]]}, pretty=True)
        return
    _show(source, found, sizes(found.grammar), rules, top, symbol)


class _Found(NamedTuple):
    grammar: Grammar
    name: str
    trees: int | None


def _find(source: str, kind: str | None, *, shown: bool) -> _Found:
    """The grammar of a treebank, of a model, or of a grammar file."""
    from treewright.constituency import ML, ConstituencyParser
    from treewright.constituency.settings import memory_of

    if _is_treebank(source):
        sentences = load(source, "ptb" if source == "-" else "auto", shown=shown)
        parser = ConstituencyParser(kind or "v2h1", learner=ML)
        name = grammar_name(parser.resolved_config()["grammar"])
        return _Found(parser.fit(sentences).grammar_, name, len(sentences))
    if kind is not None:
        raise ConfigError(f"{source}: this is a grammar already; --grammar is for treebanks, leave it out")
    read = read_grammar(source)
    return _Found(read, grammar_name(asdict(memory_of(read))), None)


def _is_treebank(source: str) -> bool:
    """Whether a file is a treebank, by its suffix or its first byte; models have zeros among their first bytes."""
    if source == "-" or annotation_kind(source) is not None:
        return True
    if Path(source).suffix.lower() in (".txt", ".tw"):
        return False
    try:
        with open(source, "rb") as file:
            start = file.read(64)
    except OSError:
        return False  # the reader of the file reports the error
    return b"\0" not in start and start.lstrip().startswith(b"(")


def _check_export(export: Path | None) -> None:
    if export is not None and str(export) != "-" and export.suffix.lower() not in (".txt", ".tw"):
        raise ConfigError(f"{export}: a grammar is exported as text to a name that ends in .txt, or to one in .tw")


def _export(grammar: Grammar, target: Path) -> None:
    from treewright.corpora.files import text_writer

    if target.suffix.lower() == ".tw":
        grammar.save(target)
    else:
        printed = str(target) == "-"
        with text_writer(sys.stdout.buffer if printed else target) as write:
            for line in grammar.lines():
                write(line)
        if printed:
            sys.stdout.buffer.flush()
            return
    note(f"{target}: {several(len(grammar), 'rule')}")


def _show(
    source: str, found: _Found, size: dict[str, int], rules: Sequence[ListedRule], top: int, symbol: str | None
) -> None:
    console = stdout()
    trees = "" if found.trees is None else f", {found.trees:,} tree{'' if found.trees == 1 else 's'}"
    if symbol is None:
        rows = [
            (name if name in ("symbols", "rules") else f"  {name}", f"{count:,}", _ABOUT.get(name, ""))
            for name, count in size.items()
        ]
        table = make_table(None, ("", "", ""), rows, header=False)
        table.columns[2].justify = "left"
        console.print(f"{source}: {found.name}{trees}\n", markup=False)
        console.print(table)
        console.print()
    shown = rules[:top]
    if shown:
        console.print(make_table(None, ("rule", "count", "probability", "weight"), [_cells(rule) for rule in shown]))
    if len(rules) > len(shown):
        of = "" if symbol is None else f" of {symbol}"
        console.print(f"… and {len(rules) - len(shown):,} more rules{of}; --top shows more of them", markup=False)


def _cells(rule: Any) -> tuple[str, str, str, str]:
    return rule.text, f"{rule.count:,.15g}", f"{rule.probability:.4f}", f"{rule.weight:.4f}"
