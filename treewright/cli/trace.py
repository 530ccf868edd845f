"""``treewright trace``: a parse step by step, as the lectures print it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from treewright.cli.console import make_table, print_json, wide_stdout
from treewright.cli.outcomes import note
from treewright.cli.preparing import Parser, Tagger, Trees, preparation
from treewright.cli.streams import load
from treewright.cli.tasks import TASKS, load_model
from treewright.cli.tasks.graphs import sentence_id
from treewright.cli.trace_graphs import GRAPH_COLUMNS, GRAPH_STYLES, trace_graphs
from treewright.cli.trace_pops import POP_COLUMNS, trace_pops
from treewright.cli.trace_trees import TREE_COLUMNS, trace_trees
from treewright.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from treewright.corpora import Sentence
    from treewright.dependency.trace import Step

__all__ = ["trace"]

_FORMATS = ("table", "tsv", "json")


class _Row(NamedTuple):
    """A step and the arcs made before it."""

    step: Step
    edges: list[str]


def _list(words: Sequence[str]) -> str:
    return f"[{', '.join(words)}]"


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _letter(row: _Row) -> str:
    """Boyd-Graber's letters: S, l and r; his system has no Reduce and no Swap."""
    action = row.step.action.lower()
    return {"sh": "S", "shift": "S", "re": "e", "swap": "w"}.get(action, action[:1])


def _next(row: _Row) -> str:
    return "" if _is_done(row.step) else f"{row.step.number + 1}. {row.step.action}"


def _is_done(step: Step) -> bool:
    return step.action == "Done"


def _scored(scores: dict[str, float]) -> str:
    return ", ".join(f"{name} {score:.2f}" for name, score in scores.items())


def _root_is_none(row: _Row) -> str:
    return "None" if row.step.head == 0 else row.step.head_word or ""


_COLUMNS: dict[str, Callable[[_Row], str]] = {
    "step": lambda row: str(row.step.number),
    "stack": lambda row: _list(row.step.stack),
    "buffer": lambda row: _list(row.step.buffer),
    "action": lambda row: row.step.action,
    "transition": lambda row: row.step.transition,
    "next": _next,
    "letter": _letter,
    "label": lambda row: row.step.label or "",
    "arc": lambda row: row.step.edge,
    "edges": lambda row: ", ".join(row.edges),
    "head": lambda row: _number(row.step.head),
    "head-word": _root_is_none,
    "dependent": lambda row: _number(row.step.dependent),
    "dependent-word": lambda row: row.step.dependent_word or "",
    "costs": lambda row: ", ".join(f"{move} {cost}" for move, cost in row.step.costs.items()),
    "zero-cost": lambda row: ", ".join(row.step.zero_cost),
    "errors": lambda row: _number(row.step.errors),
    "scores": lambda row: _scored(row.step.scores),
    "label-scores": lambda row: _scored(row.step.label_scores),
}


class _Style(NamedTuple):
    """How a table looks: the columns with their titles, the usual system, and whether the last row is there."""

    columns: dict[str, str]
    system: str = "arc-standard"
    done: bool = True


_STYLES = {
    "steps": _Style(
        {name: name for name in ("step", "stack", "buffer", "transition", "arc", "costs", "scores", "label-scores")}
    ),
    "fig-14.8": _Style({"step": "Step", "stack": "Stack", "buffer": "Word List", "action": "Predicted Action"}),
    "edges": _Style(
        {"stack": "Stack", "buffer": "Buffer", "edges": "Edges", "next": "Next action"}, "arc-standard-buffer"
    ),
    "actions": _Style(
        {
            "letter": "Action",
            "head": "Head Index",
            "head-word": "Head Word",
            "dependent": "Dep Index",
            "dependent-word": "Dep Word",
        },
        "arc-standard-buffer",
        done=False,
    ),
}


def trace(
    file: Annotated[
        str | None,
        typer.Argument(help="Sentences, with trees unless there is a model; - is standard input.", metavar="FILE"),
    ] = None,
    model: Annotated[Path | None, typer.Option("--model", "-m", help="Follow this parser, not the gold trees.")] = None,
    text: Annotated[
        str | None, typer.Option("--text", "-t", help="With a model: a sentence, words separated by spaces.")
    ] = None,
    sentence: Annotated[
        str | None,
        typer.Option("--sentence", "-n", help="Only this one: its number in the file, or its sent_id."),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(
            "--system",
            "-s",
            help="arc-standard, arc-standard-buffer, arc-eager, arc-hybrid or swap.",
            show_default="arc-standard; arc-standard-buffer with --style edges and actions",
        ),
    ] = None,
    oracle: Annotated[
        str | None, typer.Option("--oracle", help="Who follows gold trees: static or dynamic.", show_default="static")
    ] = None,
    moves: Annotated[
        str | None, typer.Option("--moves", help="Make these moves first, right or wrong, as in 'SH LA_SBJ'.")
    ] = None,
    style: Annotated[
        str, typer.Option("--style", help="steps, fig-14.8, edges or actions; of an AMR parser: steps or graphs.")
    ] = "steps",
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            help=f"Columns instead of a style's: {', '.join(_COLUMNS)}. Of a constituency parser: "
            f"{', '.join(TREE_COLUMNS)}; with an agenda: {', '.join(POP_COLUMNS)}. "
            f"Of an AMR parser: {', '.join(GRAPH_COLUMNS)}.",
        ),
    ] = None,
    gold: Annotated[
        bool, typer.Option("--gold", help="With a constituency parser: follow the gold trees, and judge their steps.")
    ] = False,
    top: Annotated[
        int, typer.Option("--top", help="With a model: how many scores, or rivals, a step shows.", min=0)
    ] = 3,
    trees: Trees = None,
    tagger: Tagger = None,
    tree_parser: Parser = None,
    format: Annotated[str, typer.Option("--format", "-f", help="table, tsv or json (an object a sentence).")] = "table",
    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="Leave labels out.")] = False,
) -> None:
    """Show a parse step by step: stack, buffer, move, and what each move costs.

    Without a model it is the way to the gold tree. Costs count the gold arcs that
    a move loses for good. Styles print the tables of the lectures: fig-14.8
    (UMD), edges and actions (Boyd-Graber).

    A constituency parser (--model) builds a tree from the top, leftmost first: each
    row is a constituent, the rule that expands it, what that is worth, and the best
    rivals with their advantages, which are below 0: what is lost by taking them. One
    that has an agenda builds it from the words up: each row is a constituent popped, its
    priority, and what that is made of.

    An AMR parser (--model) makes a graph of a dependency tree: each row has σ (the stack),
    β (the buffer: the children of the top node), the action, and if there is a gold graph
    what the expert would do, or "any" where nothing can be saved any more. --style graphs
    shows the graph at every step.

    Examples:
      treewright trace docs/lectures.conllu --sentence flight --style fig-14.8
      treewright trace docs/lectures.conllu --sentence general --style edges
      treewright trace docs/lectures.conllu --sentence cat --style actions
      treewright trace docs/lectures.conllu -n letter --system arc-eager
      treewright trace docs/lectures.conllu -n letter -s arc-eager --moves "SH SH"
      treewright trace --model model.tw --text "Time flies ."
      treewright trace test.conllu -n 3 --columns step,stack,action -f tsv
      treewright trace --model trees.tw --text "Time flies ." --top 5
      treewright trace --model trees.tw test.ptb -n 3 --gold
      treewright trace --model amr.tw test.conllu -n 3 --style graphs
      treewright trace --model amr.tw test.amr --trees test.conllu -n 3
    """
    styles = dict.fromkeys((*_STYLES, *GRAPH_STYLES))
    if style not in styles:
        raise ConfigError(f"there is no style {style!r}; choose one of {', '.join(styles)}")
    if format not in _FORMATS:
        raise ConfigError(f"there is no format {format!r}; choose one of {', '.join(_FORMATS)}")
    if (text is None) == (file is None):
        raise ConfigError("name a file with sentences or, with a model, give a sentence by --text")
    if model is None and text is not None:
        raise ConfigError("--text has no tree to follow: add --model, or name a file with trees")
    if model is not None and (system or oracle or moves):
        raise ConfigError(
            "a model has its own system and makes its own moves: leave out --system, --oracle and --moves"
        )
    task, parser = (None, None) if model is None else load_model(model)
    if task is not None and task.name == "constituency":
        if unlabelled or style != "steps":
            raise ConfigError(f"{model}: --style and --unlabelled are for dependency parsers; leave them out")
        if parser is not None and parser.priority_ is not None and not gold:
            names = None if columns is None else list(_chosen_columns(columns, POP_COLUMNS))
            trace_pops(parser, _sentences(file, text, sentence), names, format, top=top)
            return
        names = None if columns is None else list(_chosen_columns(columns, TREE_COLUMNS))
        trace_trees(parser, _sentences(file, text, sentence), names, format, follow_gold=gold, top=top)
        return
    if task is not None and task.name == "amr":
        if unlabelled or gold or style not in GRAPH_STYLES:
            raise ConfigError(f"{model}: --gold, --unlabelled and other styles are for other parsers; leave them out")
        names = None if columns is None else list(_chosen_columns(columns, GRAPH_COLUMNS))
        prepare = preparation(task, parser, tagger, tree_parser)
        found = _sentences(file, text, sentence, trees)
        prepared = prepare([one for _, one in found], 1)
        numbered = [(number, one) for (number, _), one in zip(found, prepared, strict=True)]
        trace_graphs(parser, numbered, names, format, style=style, top=top)
        return
    if trees or tagger or tree_parser or style not in _STYLES:
        remedy = "add --model with one" if model is None else "leave them out"
        raise ConfigError(f"--trees, --tagger, --parser and --style graphs are for AMR parsers; {remedy}")
    if task is not None and task.name != "dependency":
        raise ConfigError(
            f"{model}: this is a model for {task.name}; only dependency parsers (with transitions), constituency "
            "parsers and AMR parsers can be traced"
        )
    if gold:
        raise ConfigError("--gold is for constituency parsers; dependency parsers show what each move costs anyway")
    chosen = _STYLES[style] if columns is None else _Style(_chosen_columns(columns, _COLUMNS), _STYLES[style].system)
    sentences = _sentences(file, text, sentence)
    follow = (
        _gold_follower(system or chosen.system, oracle or "static", (moves or "").split(), not unlabelled)
        if task is None
        else _model_follower(parser, not unlabelled, top)
    )
    if task is None:
        _check_heads(sentences)
    frames = style == "edges" and columns is None
    for k, (number, one) in enumerate(sentences):
        steps = follow(one)
        if format == "json":
            print_json({"sentence": number, "text": str(one), "steps": [_plain(step) for step in steps]})
            continue
        if k:
            print()
        if len(sentences) > 1 and format == "table":
            print(f"{number}: {one}\n")
        _print(steps, chosen, format, frames)


def _chosen_columns(names: str, known: Iterable[str]) -> dict[str, str]:
    columns = {name.strip(): name.strip() for name in names.split(",") if name.strip()}
    known = list(known)
    for name in columns:
        if name not in known:
            raise ConfigError(f"there is no column {name!r}; there are: {', '.join(known)}")
    if not columns:
        raise ConfigError(f"name some columns, separated by commas: {', '.join(known)}")
    return columns


def _sentences(
    file: str | None, text: str | None, wanted: str | None, trees: str | None = None
) -> list[tuple[int, Sentence]]:
    """The sentences to trace, with their numbers."""
    from treewright.corpora import Sentence

    if text is not None:
        if wanted is not None:
            raise ConfigError("--text is one sentence: leave out --sentence")
        if not text.split():
            raise ConfigError('there are no words in the text: try --text "Time flies ."')
        return [(1, Sentence.from_words(text.split()))]
    assert file is not None
    numbered = list(enumerate(load(file) if trees is None else TASKS["amr"].read(file, trees=trees), 1))
    if wanted is None:
        return numbered
    found = [(k, one) for k, one in numbered if sentence_id(one) == wanted]
    if not found and wanted.isdecimal():
        found = [(k, one) for k, one in numbered if k == int(wanted)]
    if not found:
        raise ConfigError(
            f"{file}: there is no sentence {wanted!r}: neither a sent_id nor a number up to {len(numbered)}"
        )
    return found[:1]


def _check_heads(sentences: Sequence[tuple[int, Sentence]]) -> None:
    """Neither constituency trees nor graphs can be followed without a parser: only heads tell the way."""
    for _, sentence in sentences:
        if any(token.head is not None for token in sentence):
            continue
        if sentence.tree is not None:
            message = "this is a constituency tree, which has no heads: add --model with a constituency parser"
            raise CorpusError(message, path=sentence.path, line=sentence.line)
        if sentence.graph is not None:
            message = (
                "this is a meaning graph, which is made from a dependency tree: add --model with an AMR parser, and "
                "--trees with the trees in CoNLL-U, or --tagger and --parser with models that make them"
            )
            raise CorpusError(message, path=sentence.path, line=sentence.line)


def _gold_follower(system: str, oracle: str, moves: list[str], labelled: bool) -> Callable[[Sentence], list[Step]]:
    from treewright.dependency.trace import trace_gold

    return lambda sentence: trace_gold(sentence, system, oracle=oracle, labelled=labelled, moves=moves)


def _model_follower(parser: Any, labelled: bool, top: int) -> Callable[[Sentence], list[Step]]:
    from treewright.dependency.trace import trace

    if parser.beam > 1:
        note(f"note: this parser has a beam of {parser.beam}; the steps are those of greedy parsing")
    return lambda sentence: trace(parser, sentence, labelled=labelled, top=top)


def _plain(step: Step) -> dict[str, object]:
    return {**asdict(step), "transition": step.transition}


def _rows(steps: Sequence[Step], done: bool) -> Iterator[_Row]:
    edges: list[str] = []
    for step in steps:
        if done or not _is_done(step):
            yield _Row(step, list(edges))
        if step.edge:
            edges.append(step.edge)


def _print(steps: Sequence[Step], style: _Style, format: str, frames: bool) -> None:
    rows = list(_rows(steps, style.done))
    if frames and format == "table":
        _print_frames(rows)
        return
    table = {title: [_COLUMNS[name](row) for row in rows] for name, title in style.columns.items()}
    if style is _STYLES["steps"]:
        table = {title: cells for title, cells in table.items() if any(cells)}
    lines = list(zip(*table.values(), strict=True))
    if format == "tsv":
        print("\n".join("\t".join(line) for line in [tuple(table), *lines]))
        return
    wide_stdout().print(make_table(None, list(table), lines, left=len(table)))


def _print_frames(rows: Sequence[_Row]) -> None:
    """A slide a step: stack and buffer, the edges so far, what comes next."""
    console = wide_stdout()
    for k, row in enumerate(rows):
        if k:
            print()
        console.print(make_table(None, ("Stack", "Buffer"), [(_list(row.step.stack), _list(row.step.buffer))], left=2))
        print("Edges")
        for edge in row.edges:
            print(f"  {edge}")
        if not _is_done(row.step):
            print(f"Next action: {_next(row)}")
