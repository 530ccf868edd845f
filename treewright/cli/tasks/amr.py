"""Parsing into meaning graphs (AMR) on the command line."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from treewright.cli.console import make_table, several
from treewright.cli.streams import load
from treewright.cli.tasks.base import Say, Task, percent
from treewright.cli.tasks.graphs import GRAPH_FORMATS, different_ids, graph_writer, graphs_page, load_graphs
from treewright.errors import ConfigError, CorpusError
from treewright.settings import File, Setting

if TYPE_CHECKING:
    from rich.console import RenderableType

    from treewright.corpora import Sentence
    from treewright.pipeline import Pipeline

__all__ = ["AMR", "NO_TREES", "check_trees", "show_scores"]


class AMR(Task):
    """Find the meaning graph of a sentence."""

    name = annotates = "amr"
    help = """Train a parser of meaning graphs (AMR).

    TRAIN has graphs in PENMAN notation with their sentences; --trees has the dependency
    trees of the same sentences in CoNLL-U, from which the parser makes graphs. Sentences
    without trees get them from models, --tagger and --parser, from taggers and a
    dependency parser that learn from --treebank, or from the bundled model english. These
    models become part of the AMR parser, which then parses plain words.

    Examples:
      treewright train amr train.amr --trees train.conllu --out amr.tw
      treewright train amr train.amr --trees train.conllu --dev dev.amr --dev-trees dev.conllu -o amr.tw
      treewright train amr train.amr --dev dev.amr --treebank en_ewt-ud-train.conllu -o amr.tw
      treewright train amr train.amr --tagger upos.tw --tagger xpos.tw --parser parser.tw -o amr.tw
      treewright train amr train.amr --trees train.conllu -l v-dagger --loss penalty -o amr.tw
      treewright train amr train.amr --trees train.conllu --dictionaries amr-dictionaries -o amr.tw

    After Ctrl-C, the same command with --resume continues."""
    files: ClassVar[tuple[Setting, ...]] = (
        Setting("trees", File(), "Lemmas and dependency trees of the sentences of TRAIN, in CoNLL-U", metavar="FILE"),
        Setting("dev_trees", File(), "Those of the development corpus", metavar="FILE"),
        Setting(
            "treebank",
            File(),
            "A treebank in CoNLL-U, from which taggers and a dependency parser learn to make trees that are missing",
            metavar="FILE",
        ),
    )
    score_name = "Smatch"
    formats = GRAPH_FORMATS
    keeps_format = False
    one_a_file = ("svg",)
    made_from = ("tagger", "parser")
    measures = ("smatch",)

    def read(
        self, path: str, format: str = "auto", *, column: str = "upos", trees: str | None = None, shown: bool = True
    ) -> list[Sentence]:
        """Graphs from a file of any name, with the trees of their sentences if there are any."""
        return load_graphs(path, format="amr" if format == "auto" else format, trees=trees, shown=shown)

    def completed(
        self, parts: Sequence[list[Sentence]], files: Mapping[str, Path], models: Mapping[str, Any], jobs: int, say: Say
    ) -> tuple[list[list[Sentence]], Pipeline | None]:
        """The graphs with trees: by the given models, or by models that learn from a treebank."""
        from treewright.cli.preparing import pipeline_of
        from treewright.pipeline import Pipeline

        taggers, parser, treebank = models.get("tagger"), models.get("parser"), files.get("treebank")
        if treebank is not None and (taggers or parser):
            raise ConfigError(
                "--treebank is for taggers and a parser that are yet to learn: leave out --tagger, --parser"
            )
        bare = [one for part in parts for one in part if any(token.head is None for token in one)]
        if taggers or parser:
            row = pipeline_of(taggers, parser, {})
        elif treebank is not None:
            say(f"note: the taggers and the dependency parser learn from {treebank} first")
            row = Pipeline.learn(load(str(treebank), "conllu"), jobs=jobs)
        elif bare:
            say("note: the graphs have no trees: the bundled model `english` makes them, and becomes part of the model")
            row = pipeline_of(None, Path("english"), None)
        else:
            return list(parts), None
        return [row.annotate(part, jobs=jobs) for part in parts], row

    def check_corpus(self, corpus: Sequence[Sentence]) -> None:
        """Raise an error if there are no trees."""
        check_trees(
            corpus,
            "add --trees (and --dev-trees), files in CoNLL-U that have a HEAD for every word, or a dependency parser, "
            "--parser parser.tw",
        )
        _warn_of_roots(corpus)

    def parse(self, estimator: Any, sentences: Sequence[Sentence], jobs: int) -> list[Sentence]:
        """Parse some sentences."""
        check_trees(sentences, NO_TREES)
        return super().parse(estimator, sentences, jobs)

    def exercise(self, estimator: Any, sentence: Sentence) -> None:
        """Parse a sentence, and compare its graph with itself."""
        super().exercise(estimator, sentence)
        self.compare([sentence], [sentence], [sentence], "smatch", samples=1, seed=0)

    def writer(self, estimator: Any, format: str, *, width: int | None = None) -> Callable[[Sentence], str]:
        """PENMAN, with colours on a terminal; drawings; the language of Graphviz; or a JSON object on a line."""
        write = graph_writer(format, colours=width is not None)
        return lambda sentence: write(sentence, None)

    def frame(self, format: str) -> tuple[str, str]:
        """A page has a beginning and an end."""
        return graphs_page(format)

    def check_gold(self, gold: Sequence[Sentence], column: str) -> None:
        """Every sentence must have a graph."""
        for sentence in gold:
            if sentence.graph is None:
                raise CorpusError(
                    "this sentence has no graph to compare with; give graphs in PENMAN notation (.amr)",
                    path=sentence.path,
                    line=sentence.line,
                )

    def compare(
        self, gold: Sequence[Sentence], a: Sequence[Sentence], b: Sequence[Sentence], measure: str, **options: Any
    ) -> dict[str, Any]:
        """Smatch of two annotations."""
        from treewright.amr import compare_smatch

        words = sum(len(sentence) for sentence in gold)
        return {"measure": measure, "words": words, **asdict(compare_smatch(gold, a, b, **options))}

    def score(
        self, estimator: Any | None, gold: Sequence[Sentence], parsed: Sequence[Sentence], **options: Any
    ) -> tuple[dict[str, Any], list[RenderableType]]:
        """Smatch with its interval, and its breakdown."""
        from treewright.amr import score_smatch

        _check_same_ids(gold, parsed)
        if estimator is not None:
            plain = estimator.score(gold, parsed).as_dict()
        else:
            plain = score_smatch(gold, parsed, breakdown=True).as_dict()
        return plain, show_scores(plain)


NO_TREES = (
    "give trees in CoNLL-U (beside a file of graphs: --trees), or, where that is possible, models that make them: "
    "--parser english, or --tagger xpos.tw --parser parser.tw"
)


def check_trees(sentences: Sequence[Sentence], remedy: str) -> None:
    """Raise :class:`CorpusError` where a sentence has no words or no dependency tree."""
    for sentence in sentences:
        if not len(sentence):
            message = "this sentence has no words: leave it out, or write them in a comment, # ::snt …"
            raise CorpusError(message, path=sentence.path, line=sentence.line)
        if any(token.head is None for token in sentence):
            message = f"a graph is made from a dependency tree, and this sentence has none: {remedy}"
            raise CorpusError(message, path=sentence.path, line=sentence.line)


def _warn_of_roots(corpus: Sequence[Sentence]) -> None:
    """Warn if trees have several roots, because a graph has one top."""
    several_roots = [sentence for sentence in corpus if sum(token.head == 0 for token in sentence) > 1]
    if several_roots:
        first = several_roots[0]
        where = f"{first.path}:{first.line}: " if first.path is not None else ""
        warnings.warn(
            f"{where}the tree of this sentence has several roots: all but the first hang below it from now on "
            f"({several(len(several_roots), 'such sentence')})",
            stacklevel=2,
        )


def _check_same_ids(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> None:
    """Raise an error if two files have different sentences, as far as their ids show."""
    if (found := different_ids(gold, parsed)) is not None:
        number, message = found
        guess = parsed[number - 1]
        raise CorpusError(message, path=guess.path, line=guess.line)


def show_scores(scores: dict[str, Any]) -> list[RenderableType]:
    """The tables of Smatch's scores."""
    low, high = scores["f1_interval"]
    matched = f"{scores['total_matched']:,}"
    rows = [
        ("Smatch F1", percent(scores["f1"]), f"95% interval {percent(low)} to {percent(high)}"),
        ("precision", percent(scores["precision"]), f"{matched} of {several(scores['total_predicted'], 'triple')}"),
        ("recall", percent(scores["recall"]), f"{matched} of {several(scores['total_gold'], 'triple')}"),
        ("exact match", percent(scores["exact"]), f"of {several(scores['sentences'], 'sentence')}"),
    ]
    parts = [
        (
            part["name"],
            *(
                percent(part[name] if part["gold"] or part["predicted"] else None)
                for name in ("f1", "precision", "recall")
            ),
            f"{part['gold']:,}",
        )
        for part in scores["breakdown"]
    ]
    tables: list[RenderableType] = [
        make_table(None, ("score", "%", ""), rows),
        "",
        make_table(None, ("part", "F1", "precision", "recall", "gold"), parts),
    ]
    unseen = [
        (
            f"{part['what']}: {_share(part)}",
            *(percent(part[name]) for name in ("f1", "precision", "recall")),
            f"{part['sentences']:,}",
        )
        for part in scores.get("unseen", [])
    ]
    if unseen:
        tables += ["", make_table(None, ("unseen in training", "F1", "precision", "recall", "sentences"), unseen)]
    return tables


def _share(part: dict[str, Any]) -> str:
    """The bounds of a bin in words."""
    return f"{part['above']:.0%} to {part['most']:.0%}" if part["most"] else "none"
