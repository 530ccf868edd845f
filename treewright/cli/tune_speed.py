"""``treewright tune-speed``: trade accuracy for speed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from treewright.cli.console import Bar, make_table, print_json, several, stdout
from treewright.cli.outcomes import note
from treewright.cli.output import check_out
from treewright.cli.streams import load
from treewright.cli.tasks import TASKS, load_model
from treewright.errors import ConfigError, CorpusError
from treewright.settings import one_of

if TYPE_CHECKING:
    from treewright.constituency import ConstituencyParser, LatentParser
    from treewright.corpora import Sentence

__all__ = ["tune_speed"]

_LAMBDAS = {"latent": (0.0001, 0.0003, 0.001, 0.003, 0.01), "constituency": (1e-6, 1e-5, 1e-4, 1e-3)}
_DELTAS = (2.0, 4.0, 6.0, 8.0, 12.0)  # for searches without learning
_SEARCHES = ("agenda", "ida-star", "ha-star")
_HELD_OUT = 5  # every fifth sentence is held out for measuring
_FEWEST = 10
_REPEATS = 3
_ENOUGH = 200  # the number of sentences to measure on; with fewer, F1 is unreliable
_LONG_ENOUGH = 0.5  # seconds; with less, the speed is unreliable


class Outcome(NamedTuple):
    """The result of one λ or Δ on the test sentences; without either, of the original model or of A*₀."""

    name: str
    tradeoff: float | None
    f1: float
    seconds: float
    pops: int
    parser: ConstituencyParser | LatentParser


def tune_speed(
    model: Annotated[
        Path, typer.Argument(help="A model of `treewright train latent` or `constituency`.", metavar="MODEL")
    ],
    dev: Annotated[
        Path, typer.Argument(help="A treebank to learn from, preferably not the model's training data.", metavar="DEV")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file for the faster model.", metavar="FILE")
    ] = None,
    tradeoffs: Annotated[
        list[float] | None,
        typer.Option(
            "--lambda",
            "--tradeoff",
            help="latent: the price of an unnecessary constituent, relative to a missing one; constituency: "
            "the price of a pop, in constituents. May be repeated.",
            show_default="; ".join(f"{name}: {' '.join(map(str, values))}" for name, values in _LAMBDAS.items()),
        ),
    ] = None,
    learner: Annotated[
        str,
        typer.Option("--learner", "-l", help="How priorities or pruning are learned; see `treewright learners`."),
    ] = "on-policy",
    measure_of_time: Annotated[
        str,
        typer.Option("--time", help="What λ is the price of: pops, pushes or seconds (constituency)."),
    ] = "pops",
    deltas: Annotated[
        list[float] | None,
        typer.Option(
            "--delta",
            help="Δ: drop constituents that are worse than another one over the same words by more than this "
            "(constituency). May be repeated.",
            show_default=f"chosen with the priorities; {' '.join(f'{Δ:g}' for Δ in _DELTAS)} without priorities",
        ),
    ] = None,
    search: Annotated[
        str,
        typer.Option(
            "--search",
            help="agenda, with learned priorities; ida-star or ha-star, which learn nothing (constituency).",
        ),
    ] = "agenda",
    lose: Annotated[float, typer.Option("--lose", help="The largest loss of F1, in points.", min=0.0)] = 0.5,
    test: Annotated[
        Path | None,
        typer.Option("--test", help="Measure on this treebank, and learn from all of DEV.", metavar="FILE"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as one JSON object.")] = False,
) -> None:
    """Make a parser faster with learned pruning or a learned agenda, and report the loss of accuracy.

    For a latent-variable grammar, a policy inspects the words around the two ends of a
    span and decides which constituents to build (learned pruning). A model of `treewright
    train constituency --rewards rules` gets an agenda with learned priorities: it builds
    the most promising constituents first and stops with the first complete tree.

    With --search ida-star or ha-star nothing is learned: each Δ is tried.

    The policy is learned from DEV for each price λ, and measured on every fifth sentence
    of DEV, which is held out, or on --test. The fastest model that loses no more than
    --lose points of F1 is written to --out. It may be the original model, because exact
    search is fast for small grammars.

    Examples:
      treewright tune-speed model.tw dev.ptb --out fast.tw
      treewright tune-speed model.tw train.ptb --test dev.ptb --lose 1 --out fast.tw
      treewright tune-speed model.tw dev.ptb --lambda 0.01 --lambda 0.02
      treewright tune-speed model.tw dev.ptb --learner I+ --time pushes --delta 8
      treewright tune-speed model.tw dev.ptb --search ida-star
    """
    for tradeoff in tradeoffs or ():
        if not 0.0 < tradeoff <= 1.0:
            raise ConfigError(f"--lambda must be above 0 and at most 1, not {tradeoff:g}")
    check_out(out)
    before: Any = _parser(model)
    learn, measure = _sentences(dev, test, before.max_length)
    trials = _trials(before.task, tradeoffs, deltas, search, learner, measure_of_time)
    for _, price, options in trials:
        before.check_tuning(price, **options)
    with Bar(shown=not as_json) as bar:
        bar.begin("measuring the model as it is", 1 + len(trials))
        outcomes = [_measured("as it was", None, before, measure)]
        if before.task == "constituency":
            untuned: Any = _parser(model)
            outcomes.append(_measured("A*₀", None, untuned.tune_speed(learn, None, dev=measure), measure))
        for k, (name, price, options) in enumerate(trials, 1):
            bar.update(name if search != "agenda" else f"λ = {name}", k, 1 + len(trials))
            tuned: Any = _parser(model)
            outcomes.append(_measured(name, price, tuned.tune_speed(learn, price, dev=measure, **options), measure))
    within = [each for each in outcomes if 100.0 * (outcomes[0].f1 - each.f1) <= lose]
    chosen = min(within, key=lambda each: each.seconds)
    if out is not None:
        chosen.parser.save(out)
    _show(outcomes, chosen, len(measure), out, as_json)
    _warn_of_chance(outcomes[0].seconds, len(measure))


def _trials(
    task: str,
    tradeoffs: Sequence[float] | None,
    deltas: Sequence[float] | None,
    search: str,
    learner: str,
    time: str,
) -> list[tuple[str, float | None, dict[str, Any]]]:
    """A trial: a name, λ, and the options of ``tune_speed``."""
    if search not in _SEARCHES:
        raise ConfigError(f"--search {one_of(search, _SEARCHES)}")
    if task != "constituency":
        if deltas or search != "agenda" or time != "pops":
            raise ConfigError("--delta, --search and --time are for models of `treewright train constituency`")
        return [(f"{λ:g}", λ, {"learner": learner}) for λ in tradeoffs or _LAMBDAS[task]]
    if search != "agenda":
        if tradeoffs or learner != "on-policy" or time != "pops":
            raise ConfigError(f"--search {search} learns nothing: leave out --lambda, --learner and --time")
        return [(f"{search}, Δ = {Δ:g}", None, {"search": search, "max_gap": Δ}) for Δ in deltas or _DELTAS]
    options = {"learner": learner, "time": time}
    gaps: Sequence[float | None] = deltas or [None]
    return [
        (f"{λ:g}" if Δ is None else f"{λ:g}, Δ = {Δ:g}", λ, {**options, "max_gap": Δ})
        for λ in tradeoffs or _LAMBDAS[task]
        for Δ in gaps
    ]


def _warn_of_chance(seconds: float, sentences: int) -> None:
    """Print a warning if the measurement is small."""
    if sentences < _ENOUGH:
        few = f"{several(sentences, 'sentence')} to measure with"
    elif seconds < _LONG_ENOUGH:
        few = f"{seconds:.2f} seconds of parsing"
    else:
        return
    note(f"warning: {few}: the result may be chance; give --test with {_ENOUGH} sentences or more")


def _sentences(dev: Path, test: Path | None, most: int | None) -> tuple[list[Sentence], list[Sentence]]:
    """Return the sentences to learn from, and those to measure on, without longer ones than the model was made for."""
    sentences = _short(dev, most)
    if test is not None:
        return sentences, _short(test, most)
    if len(sentences) < _FEWEST:
        raise CorpusError(
            f"there are too few sentences to learn from and to measure with ({len(sentences)}); give {_FEWEST} or "
            "more, or --test",
            path=str(dev),
        )
    held_out = sentences[_HELD_OUT - 1 :: _HELD_OUT]
    return [sentence for k, sentence in enumerate(sentences, 1) if k % _HELD_OUT], held_out


def _short(path: Path, most: int | None) -> list[Sentence]:
    """The sentences of a treebank that have words, but no more than ``most``; a note says how many are left out."""
    sentences = [sentence for sentence in load(str(path)) if len(sentence)]
    TASKS["constituency"].check_gold(sentences, "")
    short = [sentence for sentence in sentences if most is None or len(sentence) <= most]
    if sentences and not short:
        raise CorpusError(
            f"no sentence has {most} words or fewer, the model's --max-length: the shortest has "
            f"{min(map(len, sentences))}; give shorter sentences, or train without that limit",
            path=str(path),
        )
    if len(short) < len(sentences):
        left_out = several(len(sentences) - len(short), "sentence")
        note(f"note: {path}: left out, with more than {most} words (the model's --max-length): {left_out}")
    return short


def _parser(path: Path) -> ConstituencyParser | LatentParser:
    from treewright.constituency import ConstituencyParser, LatentParser

    task, estimator = load_model(path)
    if not isinstance(estimator, (ConstituencyParser, LatentParser)):
        raise ConfigError(
            f"{path}: this is a model for {task.name}; only the speed of constituency parsers can be tuned: "
            "treewright train latent, treewright train constituency"
        )
    return estimator


def _measured(
    name: str, tradeoff: float | None, parser: ConstituencyParser | LatentParser, sentences: Sequence[Sentence]
) -> Outcome:
    """Measure F1 and the CPU time of parsing in seconds, as the median of several runs."""
    from treewright.constituency import score_constituents

    analyses = parser.analyse(sentences)
    seconds = []
    for _ in range(_REPEATS):
        started = time.process_time()
        parser.parse(sentences)
        seconds.append(time.process_time() - started)
    f1 = score_constituents(sentences, [each.sentence for each in analyses]).f1
    return Outcome(name, tradeoff, f1, statistics.median(seconds), sum(each.pops for each in analyses), parser)


def _show(outcomes: list[Outcome], chosen: Outcome, sentences: int, out: Path | None, as_json: bool) -> None:
    before = outcomes[0]
    rows: list[dict[str, Any]] = [
        {
            "name": each.name,
            "lambda": each.tradeoff,
            "f1": each.f1,
            "pops": each.pops / sentences if each.pops else None,
            "sentences_per_second": sentences / each.seconds,
            "times_faster": before.seconds / each.seconds,
            "chosen": each is chosen,
        }
        for each in outcomes
    ]
    if as_json:
        print_json({"sentences": sentences, "rows": rows, "model": None if out is None else str(out)}, pretty=True)
        return
    columns = {
        "λ": [row["name"] for row in rows],
        "F1": [f"{100 * row['f1']:.2f}" for row in rows],
        "pops/sentence": ["" if row["pops"] is None else f"{row['pops']:,.0f}" for row in rows],
        "sentences/s": [f"{row['sentences_per_second']:,.0f}" for row in rows],
        "times faster": [f"{row['times_faster']:.2f}" for row in rows],
        "": ["★" if row["chosen"] else "" for row in rows],
    }
    if not any(columns["pops/sentence"]):
        del columns["pops/sentence"]
    console = stdout()
    console.print(make_table(None, tuple(columns), list(zip(*columns.values(), strict=True))))
    same = " with it, unchanged" if chosen is outcomes[0] else ""
    where = f"; {out} is written{same}" if out is not None else f"; with --out it would be written{same}"
    console.print(f"\n{_what_it_buys(outcomes, chosen)} on {several(sentences, 'sentence')}{where}", markup=False)


def _what_it_buys(outcomes: list[Outcome], chosen: Outcome) -> str:
    """Describe the gain over the original model; pops are compared with A*₀, an agenda without learning."""
    before = outcomes[0]
    if chosen is before:
        return "no model within this loss is faster than the original one"
    parts = [f"{before.seconds / chosen.seconds:.1f} times faster, {100 * (chosen.f1 - before.f1):+.1f} F1"]
    if len(outcomes) > 1 and outcomes[1].name == "A*₀" and chosen.pops:
        parts.insert(0, f"{outcomes[1].pops / chosen.pops:.1f} times fewer pops than A*₀")
    return ", ".join(parts)
