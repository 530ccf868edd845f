"""``treewright trace``: the decisions of a parser, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli.console import make_table, patience_while_compiling, print_json, wide_stdout
from treewright.cli.outcomes import note
from treewright.cli.output import check_out
from treewright.cli.parse import warn_if_untokenized
from treewright.cli.preparing import Parser, Tagger, Trees, pipeline_of, preparation
from treewright.cli.streams import load
from treewright.cli.tasks import TASKS, Task, load_model
from treewright.cli.tasks.amr import NO_TREES, check_trees
from treewright.cli.tasks.graphs import sentence_id
from treewright.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from treewright.corpora import Sentence
    from treewright.tracing import Trace

__all__ = ["COLUMNS", "trace"]

_FORMATS = ("table", "tsv", "json")
_TOP = 3
#: the columns of each kind of trace, for the help, which must not import all reports
COLUMNS = {
    "transitions": "step, stack, buffer, action, transition, next, letter, label, arc, edges, head, head-word, "
    "dependent, dependent-word, costs, zero-cost, errors, scores, label-scores",
    "tokens": "step, word, label, probability, correct, expert, errors, scores",
    "tags": "step, word, label, probability, correct, expert, errors, scores",
    "arcs": "step, span, action, probability, correct, expert, errors, costs, rivals",
    "derivation": "step, constituent, rule, split, words, reward, advantage, value, total, correct, expert, rivals",
    "chart": "step, start, end, words, constituents, pruned, used, correct",
    "pops": "pop, constituent, words, inside, priority, used, correct, from, agenda, features, shares",
    "graph": "step, stack, buffer, action, correct, expert, scores, graph",
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
            help="The transition system; treewright train dependency --help lists them.",
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
            help=f"Columns instead of a style's: {COLUMNS['transitions']}. Of a tagger: {COLUMNS['tags']}. Of a parser "
            f"that plans (eisner): {COLUMNS['arcs']}. Of a constituency parser: {COLUMNS['derivation']}; with an "
            f"agenda: {COLUMNS['pops']}. Of an AMR parser: {COLUMNS['graph']}.",
        ),
    ] = None,
    gold: Annotated[
        bool, typer.Option("--gold", help="With a model: follow the gold answers, and show how it scores their steps.")
    ] = False,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            help="With a model: how many scores, or rivals, a step shows.",
            min=0,
            show_default="3; with --format json all",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", help="Write a page that shows the steps, and needs no server, to this file.", metavar="FILE"
        ),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            "--layer", help="Of a pipeline: the layer whose component is followed.", show_default="dependency"
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="Of a constituency parser: derivation, chart or pops.", show_default="derivation"),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="With --html or json: the features of actions with their weights.")
    ] = False,
    beam: Annotated[
        int | None,
        typer.Option("--beam", help="With a model: this width of the beam; --html draws the hypotheses.", min=1),
    ] = None,
    grammar: Annotated[
        Path | None,
        typer.Option("--grammar", help="Follow rules written by hand: --kind chart or pops.", metavar="FILE"),
    ] = None,
    full_symbols: Annotated[
        bool, typer.Option("--full-symbols", help="Symbols of grammars as they are: NP^PP~, not NP.")
    ] = False,
    trees: Trees = None,
    tagger: Tagger = None,
    tree_parser: Parser = None,
    format: Annotated[
        str, typer.Option("--format", "-f", help="table, tsv or json (an object a sentence, with everything).")
    ] = "table",
    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="Leave labels out.")] = False,
) -> None:
    """Show a parse step by step: stack, buffer, move, and what each move costs.

    Without a model, an oracle builds the gold trees. The cost of a move is the number
    of gold arcs that it makes unreachable, with swap an estimate of it. Styles print the
    tables of the lectures: fig-14.8 (UMD), edges and actions (Boyd-Graber).

    With --model, the decisions of the model are shown and, where the file has gold
    answers, those of the expert. --gold follows the expert, and shows how the model
    scores its decisions. A tagger has a row for each word.

    A constituency parser builds a tree from the top, leftmost first: each row is a
    constituent, the rule that expands it, its reward, and the best rivals with their
    advantages: what the best tree loses by them. A parser with an agenda builds the tree
    from the words up: each row is a constituent popped, its priority, and the features
    that contribute most to it.

    An AMR parser makes a graph from a dependency tree: each row has σ (the stack), β (the
    buffer: the children of the top node), the action, and, if there is a gold graph, the
    expert's action, which is "any" if all actions are equally good. --style graphs shows
    the graph at every step. Without a model, graphs with --trees (or --tagger and --parser)
    are built by the expert.

    Examples:
      treewright trace docs/lectures.conllu --sentence flight --style fig-14.8
      treewright trace docs/lectures.conllu --sentence general --style edges
      treewright trace docs/lectures.conllu --sentence cat --style actions
      treewright trace docs/lectures.conllu -n letter --system arc-eager
      treewright trace docs/lectures.conllu -n letter -s arc-eager --moves "SH SH"
      treewright trace --model model.tw --text "Time flies ."
      treewright trace --model english --text "Time flies." --layer constituency --kind chart
      treewright trace --model english --text "Time flies." --explain --html steps.html
      treewright trace --model english --text "Time flies." --beam 4 --html beam.html
      treewright trace --grammar toy.cfg --text "the man saw the dog" --kind pops
      treewright trace test.conllu -n 3 --columns step,stack,action -f tsv
      treewright trace --model trees.tw --text "Time flies ." --top 5
      treewright trace --model trees.tw test.ptb -n 3 --gold
      treewright trace --model amr.tw test.conllu -n 3 --style graphs
      treewright trace --model amr.tw test.amr --trees test.conllu -n 3
      treewright trace docs/thesis.amr --trees docs/thesis.conllu -n 4.9 --style graphs
    """
    from treewright.reports import STYLES

    if style not in STYLES:
        raise ConfigError(f"there is no style {style!r}; choose one of {', '.join(STYLES)}")
    if format not in _FORMATS:
        raise ConfigError(f"there is no format {format!r}; choose one of {', '.join(_FORMATS)}")
    check_out(html, "page")
    if (text is None) == (file is None):
        raise ConfigError("name a file with sentences or, with a model, give a sentence by --text")
    names = None if columns is None else [name.strip() for name in columns.split(",") if name.strip()]
    if grammar is not None:
        if model is not None or gold or layer or explain or beam or system or oracle or moves:
            raise ConfigError("--grammar goes with --text or a file, --kind, --columns, --format and --html only")
        sentences, follow = _sentences(file, text, sentence), _written(grammar, kind or "chart")
    elif model is None:
        if text is not None:
            raise ConfigError("--text has no tree to follow: add --model, or name a file with trees")
        if gold:
            raise ConfigError("--gold is for models; without one the gold trees are followed anyway: leave it out")
        if trees or tagger or tree_parser or style == "graphs":
            if system or oracle or moves or unlabelled or style not in ("steps", "graphs"):
                raise ConfigError(
                    "graphs have an expert of their own: leave out --system, --oracle, --moves and --unlabelled, or "
                    "--trees, --tagger and --parser; the style is steps or graphs"
                )
            sentences = _with_trees(_sentences(file, None, sentence, trees, graphs=True), tagger, tree_parser)
            follow = _expert()
        else:
            sentences = _sentences(file, None, sentence)
            _check_heads(sentences)
            follow = _oracle(system or STYLES[style].system, oracle or "static", (moves or "").split(), not unlabelled)
    else:
        if system or oracle or moves:
            raise ConfigError(
                "a model has its own system and makes its own moves: leave out --system, --oracle and --moves"
            )
        task, estimator = load_model(model)
        pipeline = estimator if task.name == "pipeline" else None
        if pipeline is not None:
            task, estimator = _component(pipeline, layer or "dependency")
        elif layer is not None:
            raise ConfigError("--layer is for pipelines; leave it out")
        _check_options(str(model), task, style, unlabelled, trees)
        if pipeline is not None and text is not None and pipeline.tokenizer is not None:
            found = list(enumerate(pipeline.tokenizer.stream([text]), 1))
        else:
            found = _sentences(file, text, sentence, trees)
            if text is not None and task.name != "tokenization":
                warn_if_untokenized([one for _, one in found], "treewright trace --model english --text …", "")
        if pipeline is None:
            prepared = preparation(task, estimator, tagger, tree_parser)([one for _, one in found], 1)
        else:
            prepared = _annotated_before(pipeline, estimator, [one for _, one in found])
        if task.annotates == "amr":
            check_trees(prepared, NO_TREES)
        sentences = [(number, one) for (number, _), one in zip(found, prepared, strict=True)]
        follow = _model(task, estimator, gold, not unlabelled, kind=kind, explain=explain, beam=beam)
    if model is None and grammar is None and (kind or explain or layer or beam):
        raise ConfigError("--kind, --explain, --layer and --beam are for models: add --model, or leave them out")
    if html is not None:
        _write_page(sentences, follow, html)
    else:
        _show(sentences, follow, style, names, format, top, full_symbols)


def _written(path: Path, kind: str) -> Callable[[Sentence], Trace]:
    """Trace sentences with a grammar that was written by hand."""
    from treewright.cli.written import read_written
    from treewright.constituency import trace_written

    searches = {"chart": "cky", "pops": "agenda"}
    if kind not in searches:
        raise ConfigError(f"--kind is chart or pops with --grammar, not {kind!r}")
    grammar = read_written(path)
    return lambda sentence: trace_written(grammar, sentence.forms, searches[kind])


def _component(pipeline: Any, layer: str) -> tuple[Task, Any]:
    """The component of a pipeline that gives a layer, and its task."""
    for component in pipeline.components:
        if layer in component.gives() and component.task in TASKS:
            return TASKS[component.task], component
    raise ConfigError(f"this pipeline has no layer {layer!r}; --layer is one of: {', '.join(pipeline.gives)}")


def _annotated_before(pipeline: Any, component: Any, sentences: list[Sentence]) -> list[Sentence]:
    """The sentences with the layers of the components before one."""
    from treewright.pipeline import Pipeline

    before = pipeline.components[: pipeline.components.index(component)]
    if not before:
        return sentences
    return Pipeline(before, lemmas=pipeline.lemmas).annotate(sentences)


def _write_page(sentences: Sequence[tuple[int, Sentence]], follow: Callable[[Sentence], Trace], path: Path) -> None:
    """Write the traces as one page."""
    from treewright.corpora.files import text_writer
    from treewright.reports import trace_html

    with patience_while_compiling():
        traces = [follow(sentence) for _, sentence in sentences]
    with text_writer(path) as write:
        write(trace_html(traces, title=str(sentences[0][1]) if len(sentences) == 1 else "Traces"))


def _show(
    sentences: Sequence[tuple[int, Sentence]],
    follow: Callable[[Sentence], Trace],
    style: str,
    columns: Sequence[str] | None,
    format: str,
    top: int | None,
    full_symbols: bool,
) -> None:
    """Print the traces of numbered sentences."""
    from treewright.constituency import NotInGrammar
    from treewright.reports import STYLES, trace_slides, trace_table

    footnote, is_first = "", True
    for number, sentence in sentences:
        try:
            with patience_while_compiling():
                found = follow(sentence)
        except NotInGrammar as error:
            note(f"note: sentence {number}: the gold tree cannot be derived: {error}")
            continue
        shown = _TOP if top is None else top
        table = trace_table(
            found,
            style=style,
            columns=columns,
            top=shown,
            for_people=format == "table",
            full_symbols=full_symbols,
        )
        if format == "json":
            found = found if top is None else found.pruned(top)
            print_json({"sentence": number, "text": str(sentence), **found.to_json()})
        if not found.steps:
            note(f"note: sentence {number}: the grammar has no tree for these words, so there are no steps to show")
        if format == "json" or not found.steps:
            continue
        if not is_first:
            print()
        is_first = False
        if len(sentences) > 1 and format == "table":
            print(f"{number}: {sentence}\n")
        if format == "tsv":
            print(table.tsv())
        elif STYLES[style].slides and columns is None:
            print(trace_slides(found))
        else:
            wide_stdout().print(make_table(None, table.header, table.rows, left=len(table.header)))
        if table.left_out:
            rows = len(table.rows)
            every = f"{rows + table.left_out:,}"
            note(f"note: these are the first {rows} of {every} pops; --format tsv or json has them all")
        footnote = footnote or table.footnote
    if footnote and format == "table":
        print(f"\n{footnote}")


def _oracle(system: str, oracle: str, moves: list[str], labelled: bool) -> Callable[[Sentence], Trace]:
    """Trace gold trees with an oracle."""
    from treewright.dependency.trace import trace_gold

    return lambda sentence: trace_gold(sentence, system, oracle=oracle, labelled=labelled, moves=moves)


def _expert() -> Callable[[Sentence], Trace]:
    """Trace gold graphs with the expert of AMR parsing."""
    from treewright.amr import AMRParser

    return AMRParser().trace_expert


def _with_trees(
    sentences: list[tuple[int, Sentence]], tagger: Sequence[Path] | None, parser: Path | None
) -> list[tuple[int, Sentence]]:
    """The sentences with dependency trees, from a file or by models."""
    found = [one for _, one in sentences]
    if tagger or parser:
        found = pipeline_of(tagger, parser, {}).annotate(found)
    TASKS["amr"].check_gold(found, "")
    check_trees(found, NO_TREES)
    return [(number, one) for (number, _), one in zip(sentences, found, strict=True)]


def _model(
    task: Task,
    estimator: Any,
    gold: bool,
    labelled: bool,
    *,
    kind: str | None = None,
    explain: bool = False,
    beam: int | None = None,
) -> Callable[[Sentence], Trace]:
    """Trace the decisions of a model, or with ``gold`` those of the expert, which the model scores."""
    if not hasattr(estimator, "trace"):
        raise ConfigError(f"a {task.name} has no steps of its own; give the model of one of its components")
    options: dict[str, Any] = {"follow": "gold" if gold else "model", "beam": beam}
    if task.annotates == "dependency":
        options["labelled"] = labelled
    if kind is not None:
        if task.annotates != "constituency":
            raise ConfigError("--kind is for constituency parsers; leave it out")
        options["kind"] = kind
    if explain:
        options["explain"] = True

    def follow(sentence: Sentence) -> Trace:
        judge = sentence if gold or _is_annotated(task, estimator, sentence) else None
        found: Trace = estimator.trace(sentence, judge, **options)
        return found

    return follow


def _is_annotated(task: Task, estimator: Any, sentence: Sentence) -> bool:
    """Whether a sentence has the gold annotation of a task."""
    if task.annotates == "tagging":
        return any(label != "_" for label in sentence.column(estimator.column))
    if task.annotates == "dependency":
        return all(token.head is not None for token in sentence)
    return (sentence.tree if task.annotates == "constituency" else sentence.graph) is not None


def _check_options(model: str, task: Task, style: str, unlabelled: bool, trees: str | None) -> None:
    """Check options that apply to one kind of model only."""
    of_graphs = task.annotates == "amr"
    if (trees or style == "graphs") and not of_graphs:
        raise ConfigError(f"{model}: --trees and --style graphs are for AMR parsers; leave them out")
    if (unlabelled or style not in ("steps", "graphs")) and task.annotates != "dependency":
        raise ConfigError(f"{model}: --style and --unlabelled are for dependency parsers; leave them out")


def _sentences(
    file: str | None, text: str | None, wanted: str | None, trees: str | None = None, *, graphs: bool = False
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
    has_graphs = graphs or trees is not None
    numbered = list(enumerate(TASKS["amr"].read(file, trees=trees) if has_graphs else load(file), 1))
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
    """Raise an error for constituency trees and graphs, which cannot be followed without a model."""
    for _, sentence in sentences:
        if any(token.head is not None for token in sentence):
            continue
        if sentence.tree is not None:
            message = "this is a constituency tree, which has no heads: add --model with a constituency parser"
            raise CorpusError(message, path=sentence.path, line=sentence.line)
        if sentence.graph is not None:
            message = (
                "this is a meaning graph, which is made from a dependency tree: add --trees with the trees in CoNLL-U, "
                "--parser english, or --tagger and --parser with models that make them"
            )
            raise CorpusError(message, path=sentence.path, line=sentence.line)
