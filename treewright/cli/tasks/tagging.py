"""Sequence labelling on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from treewright.cli.console import make_table, several
from treewright.cli.tasks.base import Task, percent, sentence_json
from treewright.errors import CorpusError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from treewright.corpora import Sentence

__all__ = ["Tagging", "Viterbi"]


class Tagging(Task):
    """Label every word of a sentence."""

    name = annotates = "tagging"
    has_shards = True
    help = """Train a tagger, which labels every word of a sentence.

    Examples:
      treewright train tagging train.conllu --dev dev.conllu --out model.tw
      treewright train tagging train.tsv -l dagger --beta decay:0.1 -o model.tw
      treewright train tagging train.tsv --update arow --r 10 --out model.tw
      treewright train tagging train.tsv -l imitation --roll-in learned -o model.tw
      treewright train tagging --config tagger.toml --seed 2 --out second.tw
      treewright train tagging train.tsv -l lols --print-config > lols.toml

    After Ctrl-C, the same command with --resume continues."""
    score_name = "accuracy"
    formats = ("conllu", "tabular", "text", "json")
    scoring = ("column",)
    measures = ("accuracy",)

    def writer(self, estimator: Any, format: str, *, width: int | None = None) -> Callable[[Sentence], str]:
        """CoNLL-U, two columns, ``word/LABEL`` on a line, or a JSON object on a line."""
        from treewright.corpora.conllu import format_conllu
        from treewright.corpora.tabular import format_tabular

        match format:
            case "conllu":
                return format_conllu
            case "tabular":
                return partial(format_tabular, column=estimator.column)
            case "text":
                return partial(_slashes, column=estimator.column)
        return partial(sentence_json, columns=(estimator.column,))

    def check_gold(self, gold: Sequence[Sentence], column: str) -> None:
        """Raise an error if there are no labels."""
        if all(label == "_" for sentence in gold for label in sentence.column(column)):
            raise CorpusError(
                f"the column {column} is empty (_) everywhere: there is nothing to compare with",
                path=gold[0].path,
            )

    def compare(
        self, gold: Sequence[Sentence], a: Sequence[Sentence], b: Sequence[Sentence], measure: str, **options: Any
    ) -> dict[str, Any]:
        """The accuracy of two annotations."""
        from treewright.tagging import compare_taggings

        for parsed in (a, b):
            _check_same_words(gold, parsed)
        found = compare_taggings(gold, a, b, **options).as_dict()
        return {**found, "tokens": sum(map(len, gold))}

    def score(
        self, estimator: Any | None, gold: Sequence[Sentence], parsed: Sequence[Sentence], **options: Any
    ) -> tuple[dict[str, Any], list[RenderableType]]:
        """Accuracy with its interval, unknown words, whole sentences; each label; frequent confusions."""
        from treewright.tagging import score_tagging

        if estimator is None:
            _check_same_words(gold, parsed)
            plain = score_tagging(gold, parsed, options["column"]).as_dict()
            return plain, _show(plain, options["column"])
        column, known = estimator.column, set(estimator.labels_)
        scores = score_tagging(gold, parsed, column, known=estimator.knows, seed=estimator.seed)
        unseen = [label for sentence in gold for label in sentence.column(column) if label not in known]
        plain = {**scores.as_dict(), "unseen_labels": sorted(set(unseen)), "unseen_label_tokens": len(unseen)}
        return plain, _show(plain, column)


class Viterbi(Tagging):
    """Label every word of a sentence, all at once."""

    name = "viterbi"
    has_shards = False
    help = """Train a tagger that compares all labellings of a sentence (Viterbi).

    Its scores are learned by inverse reinforcement learning.

    Examples:
      treewright train viterbi train.conllu --dev dev.conllu --out model.tw
      treewright train viterbi train.tsv -l maxent --n-best 0 --passes 10 -o model.tw
      treewright train viterbi train.conllu --column xpos -l irl-perceptron -o model.tw

    After Ctrl-C, the same command with --resume continues."""


def _check_same_words(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> None:
    """Raise an error if two annotations are not of the same sentences."""
    for number, (right, guess) in enumerate(zip(gold, predicted, strict=False), 1):
        if right.forms != guess.forms:
            word = next((k for k, (a, b) in enumerate(zip(right.forms, guess.forms, strict=False)) if a != b), None)
            what = "more or fewer words" if word is None else f"{guess.forms[word]!r} instead of {right.forms[word]!r}"
            place = f" ({right.path}:{right.line})" if right.path else ""
            raise CorpusError(
                f"sentence {number} has {what} in the predicted annotation, compared with the gold one{place}; "
                "give two annotations of the same words",
                path=guess.path,
                line=guess.line,
            )
    if len(gold) != len(predicted):
        longer = gold if len(gold) > len(predicted) else predicted
        first = longer[min(len(gold), len(predicted))]
        raise CorpusError(
            f"{len(predicted)} predicted sentence(s) and {len(gold)} gold ones: from here on they have no counterpart; "
            "give two annotations of the same sentences",
            path=first.path,
            line=first.line,
        )


def _show(scores: dict[str, Any], column: str) -> list[RenderableType]:
    low, high = scores["interval"]
    rows = [
        ("accuracy", percent(scores["accuracy"]), f"95% interval {percent(low)} to {percent(high)}"),
        (
            "unknown words",
            percent(scores["unknown_accuracy"]),
            f"{scores['unknown']:,} of {several(scores['tokens'], 'word')}",
        ),
        ("exact match", percent(scores["exact"]), f"of {several(scores['sentences'], 'sentence')}"),
    ]
    if "unseen_labels" not in scores:  # the training data are not known
        del rows[1]
    parts: list[RenderableType] = [make_table(None, ("score", "%", ""), rows)]
    if scores.get("unseen_label_tokens"):
        labels = ", ".join(scores["unseen_labels"][:10]) + (", …" if len(scores["unseen_labels"]) > 10 else "")
        parts.append(
            f"gold labels that training never saw, of {several(scores['unseen_label_tokens'], 'word')}, count as "
            f"errors: {labels}"
        )
    by_label = [
        (s["label"], percent(s["precision"]), percent(s["recall"]), percent(s["f1"]), f"{s['gold']:,}")
        for s in scores["labels"]
    ]
    parts += ["", make_table(None, (column, "precision", "recall", "F1", "gold"), by_label)]
    if scores["confusions"]:
        confusions = [(gold, guess, f"{count:,}") for gold, guess, count in scores["confusions"]]
        parts += ["", make_table(None, ("gold", "taken for", "times"), confusions, left=2)]
    return parts


def _slashes(sentence: Sentence, column: str) -> str:
    for form in sentence.forms:
        if " " in form:
            raise CorpusError(
                f"the word {form!r} has a space in it and cannot be written as text; choose --format conllu",
                path=sentence.path,
                line=sentence.line,
            )
    return (
        " ".join(f"{form}/{label}" for form, label in zip(sentence.forms, sentence.column(column), strict=True)) + "\n"
    )
