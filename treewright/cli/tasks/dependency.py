"""Dependency parsing on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from treewright.cli.console import make_table, several
from treewright.cli.tasks.base import PAGE_WIDTH, Task, page, percent, sentence_json
from treewright.errors import CorpusError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from treewright.corpora import Sentence

__all__ = ["Dependency", "Eisner"]

_NARROWEST = 40  # columns that a drawing needs at least


class Dependency(Task):
    """Find the head of every word and its relation to it."""

    name = annotates = "dependency"
    has_shards = True
    help = """Train a dependency parser, which finds the head of every word and its relation.

    Examples:
      treewright train dependency train.conllu --dev dev.conllu --out model.tw
      treewright train dependency train.conllu --system arc-eager --beam 8 -o model.tw
      treewright train dependency train.conllu --mode fast --out fast.tw
      treewright train dependency train.conllu --features "s0.w; s0.t b0.t" -o model.tw
      treewright train dependency train.conllu -l supervised --oracle static -o model.tw

    Trees with crossing arcs are learned too: --system swap builds them, the other
    systems learn a tree without crossings and how to undo that.

    After Ctrl-C, the same command with --resume continues."""
    variants: ClassVar[Sequence[Mapping[str, str]]] = ({"mode": "fast"},)
    score_name = "LAS"
    formats = ("conllu", "text", "svg", "html", "json")
    one_a_file = ("svg",)
    made_from = ("tagger",)
    scoring = ("subtypes", "punctuation")
    measures = ("las", "uas")

    def value(self, name: str, value: Any) -> Any:
        """Templates on the command line are separated by semicolons."""
        if name == "features" and isinstance(value, str) and (";" in value or "." in value):
            return [template.strip() for template in value.split(";") if template.strip()]
        return value

    def writer(self, estimator: Any, format: str, *, width: int | None = None) -> Callable[[Sentence], str]:
        """CoNLL-U, a drawing in letters, an SVG document or one on a page, or a JSON object on a line."""
        from treewright.corpora.conllu import conllu_lines
        from treewright.reports import dependency_svg

        match format:
            case "conllu":
                # values that were read can be written, so they are not checked again
                return lambda sentence: "\n".join(conllu_lines(sentence)) + "\n\n"
            case "text":
                return partial(_drawing, width=None if width is None else max(width, _NARROWEST))
            case "svg":
                return partial(dependency_svg, width=PAGE_WIDTH)
            case "html":
                return lambda sentence: f"<figure>\n{dependency_svg(sentence, width=PAGE_WIDTH)}</figure>\n"
        return partial(sentence_json, columns=("head", "deprel"))

    def frame(self, format: str) -> tuple[str, str]:
        """A page has a beginning and an end."""
        return page("Dependency trees") if format == "html" else ("", "")

    def check_corpus(self, corpus: Sequence[Sentence]) -> None:
        """Raise an error for constituency trees, which have no heads."""
        if corpus[0].tree is not None and all(token.head is None for sentence in corpus for token in sentence):
            raise CorpusError(
                "these are constituency trees, which have no heads: give CoNLL-U, or train a parser of such trees with "
                "treewright train constituency",
                path=corpus[0].path,
            )

    def check_gold(self, gold: Sequence[Sentence], column: str) -> None:
        """Raise an error if a sentence has no tree."""
        from treewright.dependency import check_trees

        if all(token.head is None for sentence in gold for token in sentence):
            raise CorpusError("there are no heads in it: there is nothing to compare with", path=gold[0].path)
        check_trees(gold)

    def compare(
        self, gold: Sequence[Sentence], a: Sequence[Sentence], b: Sequence[Sentence], measure: str, **options: Any
    ) -> dict[str, Any]:
        """Attachment scores of two annotations."""
        from treewright.dependency import compare_dependencies

        return compare_dependencies(gold, a, b, measure="las" if measure == "las" else "uas", **options).as_dict()

    def score(
        self, estimator: Any | None, gold: Sequence[Sentence], parsed: Sequence[Sentence], **options: Any
    ) -> tuple[dict[str, Any], list[RenderableType]]:
        """Attachment scores with their intervals; relations; lengths of arcs and of sentences; frequent confusions."""
        from treewright.dependency import score_dependencies

        seed = 0 if estimator is None else estimator.seed
        plain = {**score_dependencies(gold, parsed, **options, seed=seed).as_dict(), **options}
        if estimator is not None:
            known = set(estimator.labels_)
            unseen = [token.deprel for sentence in gold for token in sentence if token.deprel not in known]
            plain |= {"unseen_labels": sorted(set(unseen)), "unseen_label_tokens": len(unseen)}
        return plain, _show(plain)


class Eisner(Dependency):
    """Find the head of every word and its relation to it, all at once."""

    name = "eisner"
    has_shards = False
    help = """Train a dependency parser that compares all trees of a sentence (Eisner).

    Its scores are learned by inverse reinforcement learning.

    Examples:
      treewright train eisner train.conllu --dev dev.conllu --out model.tw
      treewright train eisner train.conllu -l maxent --n-best 50 -o model.tw
      treewright train eisner train.conllu -l irl-perceptron --passes 10 -o model.tw

    After Ctrl-C, the same command with --resume continues."""
    variants = ()


def _drawing(sentence: Sentence, width: int | None) -> str:
    from treewright.reports import dependency_text

    return dependency_text(sentence, width=width) + "\n\n"


def _show(scores: dict[str, Any]) -> list[RenderableType]:
    parts: list[RenderableType] = [make_table(None, ("score", "%", ""), _main_rows(scores))]
    if scores.get("unseen_label_tokens"):
        labels = ", ".join(scores["unseen_labels"][:10]) + (", …" if len(scores["unseen_labels"]) > 10 else "")
        parts.append(
            f"gold relations that training never saw, of {several(scores['unseen_label_tokens'], 'word')}, count as "
            f"errors: {labels}"
        )
    relations = [
        (s["relation"], *(percent(s[name]) for name in ("precision", "recall", "f1", "uas")), f"{s['gold']:,}")
        for s in scores["relations"]
    ]
    arcs = [
        (s["length"], percent(s["precision"]), percent(s["recall"]), f"{s['predicted']:,}", f"{s['gold']:,}")
        for s in scores["arc_lengths"]
    ]
    lengths = [
        (s["length"], percent(s["las"]), percent(s["uas"]), f"{s['tokens']:,}", f"{s['sentences']:,}")
        for s in scores["sentence_lengths"]
    ]
    parts += ["", make_table(None, ("relation", "precision", "recall", "F1", "UAS", "gold"), relations)]
    parts += ["", make_table(None, ("words to the head", "precision", "recall", "predicted", "gold"), arcs)]
    parts += ["", make_table(None, ("words in the sentence", "LAS", "UAS", "words", "sentences"), lengths)]
    if scores["confusions"]:
        confusions = [(gold, guess, f"{count:,}") for gold, guess, count in scores["confusions"]]
        parts += ["", make_table(None, ("gold, at the right head", "taken for", "times"), confusions, left=2)]
    return parts


def _main_rows(scores: dict[str, Any]) -> list[tuple[str, str, str]]:
    rows = []
    for name in ("las", "uas"):
        low, high = scores[f"{name}_interval"]
        rows.append((name.upper(), percent(scores[name]), f"95% interval {percent(low)} to {percent(high)}"))
    rows += [
        ("label accuracy", percent(scores["label_accuracy"]), "for any head"),
        ("CLAS", percent(scores["content"]), "F1 of content words"),
        ("exact match", percent(scores["exact"]), f"of {several(scores['sentences'], 'sentence')}"),
        ("exact match, heads only", percent(scores["exact_unlabelled"]), ""),
    ]
    if scores["punctuation"]:
        rest = scores["without_punctuation"]
        words = f"{rest['tokens']:,} of {several(scores['tokens'], 'word')}"
        rows.append(("LAS without punctuation", percent(rest["las"]), words))
        rows.append(("UAS without punctuation", percent(rest["uas"]), ""))
    return rows
