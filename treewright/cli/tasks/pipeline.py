"""Pipelines on the command line: every layer of annotation, from raw text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from treewright.cli.console import make_table
from treewright.cli.tasks.base import Candidate, Task, page, percent
from treewright.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from treewright.corpora import Sentence
    from treewright.models import ModelFile

__all__ = ["PipelineTask", "score_table"]

#: the layers that a format of output does not show and that nothing in it depends on
_LEFT_OUT = {"conllu": ("constituency", "amr"), "penman": ("constituency",), "ptb": ("dependency", "amr")}


class PipelineTask(Task):
    """Tokens, sentences, tags, lemmas, trees and graphs."""

    name = annotates = "pipeline"
    help = "Train every component that a treebank has the annotation for: see treewright train pipeline --help."
    score_name = "LAS"
    formats = ("conllu", "json", "text", "html", "ptb", "penman")
    keeps_format = False
    k_best_formats = ("ptb", "text", "html", "json")

    def estimator(self) -> type[Any]:
        """The class of pipelines."""
        from treewright.pipeline import Pipeline

        return Pipeline

    @property
    def options(self) -> list[Any]:
        """None: a pipeline has the settings of its components."""
        return []

    def parse(self, estimator: Any, sentences: Sequence[Sentence], jobs: int) -> list[Sentence]:
        """Annotate sentences that are divided into words."""
        annotated: list[Sentence] = estimator.annotate(sentences, jobs=jobs)
        return annotated

    def restore(self, model: ModelFile, format: str | None = None) -> Any:
        """The pipeline, for some formats without the components whose annotation they cannot hold."""
        return self.estimator().from_model(model, _LEFT_OUT.get(format or "", ()))

    def k_best(self, estimator: Any, sentences: Sequence[Sentence], k: int, jobs: int) -> list[list[Candidate]]:
        """The best constituency trees of each sentence."""
        from treewright.cli.tasks import TASKS

        for component in estimator.components:
            if "constituency" in component.gives():
                before = [each for each in estimator.components if set(each.gives()) & set(component.needs())]
                ready = type(estimator)(before).annotate(sentences, jobs=jobs) if before else sentences
                return TASKS[component.task].k_best(component, ready, k, jobs)
        raise ConfigError("this pipeline gives no constituency layer, so it has no k best trees")

    def k_best_writer(
        self, estimator: Any, format: str, *, width: int | None = None
    ) -> Callable[[list[Candidate]], str]:
        """The same as for constituency parsers."""
        from treewright.cli.tasks import TASKS

        return TASKS["constituency"].k_best_writer(estimator, format, width=width)

    def exercise(self, estimator: Any, sentence: Sentence) -> None:
        """Annotate a sentence as text, so that all components run, and find its two best trees."""
        words = list(sentence.forms)
        estimator(" ".join(words) if estimator.tokenizer is not None else [words])
        if "constituency" in estimator.gives:
            self.k_best(estimator, [sentence.bare()], 2, 1)

    def analyse(self, estimator: Any, sentences: Sequence[Sentence], jobs: int) -> tuple[list[Sentence], Counter[str]]:
        """Annotate the words of sentences without their annotation, because a pipeline would keep it."""
        return self.parse(estimator, [sentence.bare() for sentence in sentences], jobs), Counter()

    def check_gold(self, gold: Sequence[Sentence], column: str) -> None:
        """At least one word must have a head or a tag; the measures say what else is missing."""
        if all(token.head is None and token.upos in ("", "_") for sentence in gold for token in sentence):
            raise CorpusError(
                "there are neither heads nor tags in it: there is nothing to compare with; give a file in CoNLL-U",
                path=gold[0].path,
            )

    def writer(self, estimator: Any, format: str, *, width: int | None = None) -> Callable[[Sentence], str]:
        """CoNLL-U, JSON, drawings, or one of the layers that CoNLL-U does not hold."""
        from treewright.corpora import format_amr, format_conllu
        from treewright.corpora.brackets import escaped_brackets, format_ptb
        from treewright.pipeline import Analysis

        needed = {"ptb": "constituency", "penman": "amr"}.get(format)
        if needed is not None and needed not in estimator.gives:
            raise ConfigError(
                f"this model gives no {needed} layer and cannot write {format}; treewright info shows what it gives"
            )
        match format:
            case "conllu":
                return format_conllu
            case "json":
                return lambda sentence: json.dumps(Analysis(sentence).to_json(), ensure_ascii=False) + "\n"
            case "ptb":
                return lambda sentence: format_ptb(replace(sentence, tree=escaped_brackets(sentence.tree)))
            case "penman":
                return format_amr
            case "html":
                return lambda sentence: Analysis(sentence).to_html()
        return lambda sentence: _as_text(Analysis(sentence), width)

    def frame(self, format: str) -> tuple[str, str]:
        """An HTML page around the drawings."""
        return page("Analysis") if format == "html" else ("", "")

    def score(
        self, estimator: Any | None, gold: Sequence[Sentence], parsed: Sequence[Sentence], **options: Any
    ) -> tuple[dict[str, Any], list[RenderableType]]:
        """The measures of CoNLL 2018, here of words that are given."""
        from treewright.metrics.conll18 import score_raw_text

        scores = score_raw_text(gold, parsed)
        return {name: score.as_dict() for name, score in scores.items()}, [score_table(scores)]


def score_table(scores: dict[str, Any]) -> RenderableType:
    """The measures of CoNLL 2018 as a table, with dashes for layers that one side lacks."""
    kinds = ("f1", "precision", "recall", "accuracy")
    rows = [(name, *(percent(s.as_dict()[kind]) for kind in kinds), f"{s.gold:,}") for name, s in scores.items()]
    return make_table(None, ("measure", "F1", "precision", "recall", "aligned words", "gold"), rows)


def _as_text(analysis: Any, width: int | None) -> str:
    """A readable sentence: its text, a line for each word, and its other layers."""
    from treewright.reports import dependency_text

    parts = [analysis.text]
    if analysis.dependencies is not None:
        parts.append(dependency_text(analysis.sentence, width=width) if width else dependency_text(analysis.sentence))
    else:
        parts += [f"  {t.form}\t{t.lemma}\t{t.upos}\t{t.xpos}\t{t.feats}" for t in analysis.sentence]
    if analysis.constituents is not None:
        parts.append(str(analysis.constituents))
    if analysis.amr is not None:
        parts.append(analysis.amr.to_penman())
    return "\n".join(part.rstrip("\n") for part in parts) + "\n\n"
