"""Constituency parsing on the command line."""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from treewright.cli.console import make_table, several
from treewright.cli.tasks.base import PAGE_WIDTH, Candidate, Task, page, percent, sentence_values
from treewright.errors import ConfigError, CorpusError, ModelError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from treewright.constituency import Grammar
    from treewright.corpora import Sentence
    from treewright.learners import Learner

__all__ = ["Constituency", "Latent", "grammar_name", "is_grammar_file", "read_grammar", "trees_side_by_side"]

_NARROWEST = 40  # columns that a drawing needs at least
_RULES = ("evalb", "parseval")
_MUCH_LEARNED = 0.3  # of the errors; where it was less, a latent-variable grammar was mostly better on test


class Constituency(Task):
    """Find the phrases of a sentence, and the phrases in them."""

    name = annotates = "constituency"
    help = """Train a constituency parser, which finds phrases and the phrases in them.

    TRAIN is a treebank in brackets (.ptb, .mrg). A grammar is read off it, and the
    learner finds better weights for its rules than their relative frequencies, and
    weights for the words and tags at the edges of phrases (unless --rewards rules).

    Examples:
      treewright train constituency train.ptb --dev dev.ptb --out model.tw
      treewright train constituency train.ptb -l maximum-likelihood -o model.tw
      treewright train constituency train.ptb -l maxent --n-best 0 -n 30 -o model.tw
      treewright train constituency train.ptb --grammar v3h2-head --prune 1e-4 -o model.tw
      treewright train constituency train.ptb --max-length 40 --batch 100 -o model.tw
      treewright train constituency train.ptb --grammar rules.txt --out model.tw
      treewright train constituency train.ptb --search agenda --tradeoff 1e-5 -o model.tw

    After Ctrl-C, the same command with --resume continues."""
    notes: ClassVar[Mapping[str, str]] = {
        "grammar": "Or a file with rules: text (.txt), or another model; see `treewright grammar`"
    }
    score_name = "F1"
    learns_from_all = False
    formats = ("ptb", "text", "svg", "html", "json")
    keeps_format = False
    one_a_file = ("svg",)
    k_best_formats: ClassVar[tuple[str, ...]] = ("ptb", "text", "html", "json")
    scoring = ("rules", "max_length")
    measures = ("f1",)

    def value(self, name: str, value: Any) -> Any:
        """Read a grammar from a file, whose rules and weights are used unchanged."""
        return read_grammar(str(value)) if name == "grammar" and is_grammar_file(value) else value

    def plain_params(self, params: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
        """The short name of the grammar, or the name of its file."""
        file = said.get("grammar_file", said.get("grammar"))
        return {**params, "grammar": file if is_grammar_file(file) else grammar_name(params.get("grammar", ""))}

    def origin(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The file that the grammar came from."""
        return {"grammar_file": params["grammar"]} if is_grammar_file(params["grammar"]) else {}

    def advice(self, estimator: Any) -> str:
        """A note if a latent-variable grammar is probably better."""
        from treewright.constituency.parser import COUNTED, WITH_SPANS
        from treewright.metrics import error_reduction

        scores = estimator.card_["scores"]
        if COUNTED not in scores or estimator.search != "cky":  # another search changes the score too
            return ""
        reduced = error_reduction(scores[COUNTED], scores["dev F1"])
        if reduced >= _MUCH_LEARNED:
            return ""
        removed = (
            f"note: learned weights remove {100 * reduced:.0f} % of the errors of counting on the development data; "
        )
        if estimator.rewards == "rules" and estimator._learner_name in WITH_SPANS:
            return f"{removed}without --rewards rules it was more on every treebank that was tried"
        return (
            f"{removed}"
            f"where this was below {100 * _MUCH_LEARNED:.0f} %, `treewright train latent` with the same files, --dev "
            "and --max-length was better on most treebanks that were tried, and takes longer"
        )

    def remarks(self, estimator: Any, learner: Learner, corpus: Sequence[Sentence]) -> Iterator[str]:
        """Also whether a search, or a grammar from a file, is why only rules have rewards."""
        yield from super().remarks(estimator, learner, corpus)
        from treewright.constituency.parser import WITH_SPANS

        if learner.name in WITH_SPANS and estimator.rewards is None and not estimator._has_spans:
            why = "--search" if estimator.search != "cky" else "a grammar from a file, unless you add --rewards spans"
            yield f"with {why} only rules have learned rewards, and not the words at the edges of phrases"

    def afterwards(self, estimator: Any, dev: Sequence[Sentence] | None) -> str:
        """How far the weights are from counting, and a description of the agenda with its pops per sentence."""
        strength = estimator.card_.get("strength", 1.0)
        shrunk = f"shrunk to {100 * strength:.0f} % of what was learned" if strength < 1.0 else ""
        if estimator.priority_ is None:
            return shrunk
        told = f"{shrunk} and " if shrunk else ""
        told += "an agenda" if estimator.tradeoff is None else "an agenda with learned priorities"
        parsed = [one for one in dev or () if estimator.max_length is None or len(one) <= estimator.max_length]
        pops = sum(each.pops for each in estimator.analyse(parsed))
        return f"{told}, {pops / len(parsed):,.0f} pops a sentence" if parsed else told

    def analyse(self, estimator: Any, sentences: Sequence[Sentence], jobs: int) -> tuple[list[Sentence], Counter[str]]:
        """Parse some sentences, and count those for which the grammar has no tree."""
        analyses = estimator.analyse(sentences, jobs=jobs)
        return [each.sentence for each in analyses], Counter(covered=sum(each.covered for each in analyses))

    def k_best(self, estimator: Any, sentences: Sequence[Sentence], k: int, jobs: int) -> list[list[Candidate]]:
        """The best trees, with their scores; a sentence that the grammar cannot derive has one without a score."""
        found = estimator.parse_k_best(sentences, k, jobs=jobs)
        return [
            [Candidate(replace(sentence, tree=tree), score if math.isfinite(score) else None) for tree, score in trees]
            for sentence, trees in zip(sentences, found, strict=True)
        ]

    def writer(self, estimator: Any, format: str, *, width: int | None = None) -> Callable[[Sentence], str]:
        """Brackets, a drawing in letters, an SVG document or one on a page, or a JSON object on a line."""
        from treewright.reports import constituency_svg

        match format:
            case "ptb":
                return _brackets
            case "text":
                return partial(_drawing, width=width)
            case "svg":
                return partial(constituency_svg, width=PAGE_WIDTH)
            case "html":
                return lambda sentence: f"<figure>\n{constituency_svg(sentence, width=PAGE_WIDTH)}</figure>\n"
        return _json

    def k_best_writer(
        self, estimator: Any, format: str, *, width: int | None = None
    ) -> Callable[[list[Candidate]], str]:
        """Trees in brackets and an empty line; drawings below rank and score; or a JSON object on a line."""
        match format:
            case "ptb":
                return lambda trees: "".join(_brackets(tree.sentence) for tree in trees) + "\n"
            case "text":
                return lambda trees: "".join(
                    f"{rank}.  {'no tree in the grammar' if tree.score is None else f'score {tree.score:.4f}'}\n\n"
                    + _drawing(tree.sentence, width)
                    for rank, tree in enumerate(trees, 1)
                )
            case "html":
                return trees_side_by_side
        return _k_best_json

    def frame(self, format: str) -> tuple[str, str]:
        """A page has a beginning and an end."""
        return page("Constituency trees") if format == "html" else ("", "")

    def check_gold(self, gold: Sequence[Sentence], column: str) -> None:
        """Raise an error if a sentence has no tree."""
        for sentence in gold:
            if sentence.tree is None:
                raise CorpusError(
                    "this sentence has no constituency tree; give a treebank in brackets (.ptb, .mrg)",
                    path=sentence.path,
                    line=sentence.line,
                )

    def chosen(self, gold: list[Sentence], options: Mapping[str, Any]) -> list[Sentence]:
        """The sentences that are not too long."""
        if options["rules"] not in _RULES:
            raise ConfigError(f"there are no rules {options['rules']!r}; choose {' or '.join(_RULES)}")
        longest = options["max_length"]
        if longest is None:
            return gold
        short = [sentence for sentence in gold if len(sentence) <= longest]
        if not short:
            least = min(map(len, gold))
            raise CorpusError(
                f"no sentence has {longest} words or fewer: the shortest has {least}; raise --max-length, or leave it "
                "out",
                path=gold[0].path,
            )
        return short

    def describe(self, layout: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
        """The size of the grammar."""
        strings, rules = "grammar.symbols.offsets", ("grammar.binary", "grammar.unary")
        if not {strings, *rules} <= layout.keys():
            return {}
        return {
            "symbols": layout[strings][0] - 1,
            "binary_rules": layout[rules[0]][0],
            "unary_rules": layout[rules[1]][0],
        }

    def compare(
        self, gold: Sequence[Sentence], a: Sequence[Sentence], b: Sequence[Sentence], measure: str, **options: Any
    ) -> dict[str, Any]:
        """F1 of two annotations."""
        from treewright.constituency import compare_constituents

        return compare_constituents(gold, a, b, **options).as_dict()

    def score(
        self, estimator: Any | None, gold: Sequence[Sentence], parsed: Sequence[Sentence], **options: Any
    ) -> tuple[dict[str, Any], list[RenderableType]]:
        """Labelled brackets with their interval, those of shorter sentences, labels, lengths, and what had no tree."""
        from treewright.constituency import score_constituents

        covered = options.pop("covered", None)
        seed = 0 if estimator is None else estimator.seed
        plain = {**score_constituents(gold, parsed, **options, seed=seed).as_dict(), **options}
        if covered is not None:
            plain["covered"] = covered
        return plain, _show(plain)


class Latent(Constituency):
    """Find the phrases of a sentence, with a grammar that has split its symbols."""

    name = "latent"
    help = """Train a constituency parser whose grammar splits its symbols (split and merge).

    TRAIN is a treebank in brackets (.ptb, .mrg). In each cycle every symbol is split in
    two, and the splits that help least are taken back. With --dev, that is done --starts
    times, from one seed after the other, and the best cycle of all is kept.
    It is more accurate than `train constituency` on many treebanks, and takes longer.

    Examples:
      treewright train latent train.ptb --dev dev.ptb --max-length 40 -j 2 --out model.tw
      treewright train latent train.ptb --dev dev.ptb --cycles 4 --tradeoff 0.01 -o fast.tw

    After Ctrl-C, the same command with --resume continues."""
    notes: ClassVar[Mapping[str, str]] = {}

    def advice(self, estimator: Any) -> str:
        """There is none."""
        return ""

    def make_learner(self, settings: Mapping[str, Any], has_dev: bool = True) -> Learner:
        """Without development data there is one start."""
        return super().make_learner(settings if has_dev else {**settings, "starts": 1})

    def value(self, name: str, value: Any) -> Any:
        """A grammar cannot be a file here."""
        return value

    def origin(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """There are no other files."""
        return {}

    def afterwards(self, estimator: Any, dev: Sequence[Sentence] | None) -> str:
        """The table is about single grammars."""
        learned = [f"a product of {1 + len(estimator.others_)} grammars"] if estimator.others_ else []
        return " and ".join([*learned, *(["learned pruning"] if estimator.policy_ is not None else [])])

    def describe(self, layout: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
        """The size of the grammar."""
        sizes = [layout[name][0] for k in range(100) if (name := f"level{k}.coarser") in layout]
        return {"cycles": len(sizes) - 1, "symbols": sizes[0], "substates": sizes[-1]} if sizes else {}


def grammar_name(grammar: Any) -> str:
    """The short name of a binarisation.

    >>> grammar_name({"vertical": 2, "horizontal": None, "direction": "head", "tag_parents": True})
    'v2hinf-head-tags'
    """
    if not isinstance(grammar, Mapping):
        return str(grammar)
    siblings = "inf" if grammar["horizontal"] is None else grammar["horizontal"]
    direction = "" if grammar["direction"] == "right" else f"-{grammar['direction']}"
    return f"v{grammar['vertical']}h{siblings}{direction}{'-tags' if grammar['tag_parents'] else ''}"


def is_grammar_file(grammar: Any) -> bool:
    """Whether a setting names a file with rules: short names have neither dots nor folders.

    >>> is_grammar_file("rules.txt"), is_grammar_file("v2h1-head")
    (True, False)
    """
    return isinstance(grammar, str) and ("." in grammar or Path(grammar).name != grammar)


def read_grammar(path: str) -> Grammar:
    """A grammar from a file: text (``.txt``), a saved grammar, or the grammar of a model or a pipeline.

    For a latent-variable parser it is the base grammar, whose symbols are not split.
    """
    from treewright.bundled import found_model
    from treewright.constituency import Grammar
    from treewright.corpora.files import text_lines
    from treewright.estimators import estimator_class
    from treewright.models import read_model

    if Path(path).suffix.lower() == ".txt":
        return Grammar.from_text(text_lines(path), path)
    model = read_model(found_model(path))
    if model.task == "grammar":
        return Grammar.from_arrays(model.arrays)
    if model.task in ("constituency", "latent"):
        return _grammar_of(estimator_class(model.task).from_model(model), path)
    if model.task == "pipeline":
        from treewright.pipeline import Pipeline

        components: tuple[Any, ...] = Pipeline.from_model(model, without=("dependency", "amr")).components
        for component in components:
            if component.annotates == "constituency":
                return _grammar_of(component, path)
    raise ModelError(f"{path}: this is a model for {model.task}, which has no grammar; name a constituency parser")


def _grammar_of(parser: Any, path: str) -> Grammar:
    if getattr(parser, "rewards", None) == "spans":
        warnings.warn(
            f"{path}: this parser also has weights for features of spans, which are no part of its grammar",
            stacklevel=3,
        )
    return cast("Grammar", parser.grammar_)


def _brackets(sentence: Sentence) -> str:
    from treewright.corpora.brackets import escaped_brackets, format_ptb

    return format_ptb(replace(sentence, tree=escaped_brackets(sentence.tree)))


def _drawing(sentence: Sentence, width: int | None) -> str:
    from treewright.reports import constituency_text

    return constituency_text(sentence, width=None if width is None else max(width, _NARROWEST)) + "\n\n"


def _json(sentence: Sentence) -> str:
    values = {**sentence_values(sentence, ("xpos",)), "tree": _brackets(sentence).rstrip("\n")}
    return json.dumps(values, ensure_ascii=False) + "\n"


def trees_side_by_side(trees: Sequence[Candidate]) -> str:
    """The best trees of a sentence on a page, each below its rank and its score."""
    from treewright.reports import constituency_svg

    figures = [
        f"<figure>\n<figcaption>{rank}. {'no tree in the grammar' if each.score is None else f'score {each.score:.4f}'}"
        f"</figcaption>\n{constituency_svg(each.sentence, width=PAGE_WIDTH)}</figure>\n"
        for rank, each in enumerate(trees, 1)
    ]
    return f'<div class="sides">\n{"".join(figures)}</div>\n'


def _k_best_json(trees: list[Candidate]) -> str:
    first = sentence_values(trees[0].sentence, ()) if trees else {"tokens": []}
    best = [{"score": tree.score, "tree": _brackets(tree.sentence).rstrip("\n")} for tree in trees]
    return json.dumps({**first, "trees": best}, ensure_ascii=False) + "\n"


def _show(scores: dict[str, Any]) -> list[RenderableType]:
    parts: list[RenderableType] = [make_table(None, ("score", "%", ""), _main_rows(scores))]
    if scores["skipped"]:
        parts.append(f"left out: {several(scores['skipped'], 'sentence')} of nothing but punctuation")
    if scores["unparsed"]:
        parts.append(f"without a tree, which counts as no constituents: {several(scores['unparsed'], 'sentence')}")
    if scores["tag_conflicts"]:
        parts.append(
            f"in {several(scores['tag_conflicts'], 'sentence')} the tags disagree on what is punctuation: the gold "
            "ones count (EVALB would leave such sentences out)"
        )
    labels = [
        (
            s["label"],
            *(percent(s[name]) for name in ("precision", "recall", "f1")),
            f"{s['predicted']:,}",
            f"{s['gold']:,}",
        )
        for s in scores["labels"]
    ]
    lengths = [
        (
            s["length"],
            *(percent(s[name]) for name in ("f1", "lp", "lr", "exact")),
            f"{s['words']:,}",
            f"{s['sentences']:,}",
        )
        for s in scores["sentence_lengths"]
    ]
    parts += ["", make_table(None, ("constituent", "precision", "recall", "F1", "predicted", "gold"), labels)]
    columns = ("words in the sentence", "F1", "precision", "recall", "exact match", "words", "sentences")
    parts += ["", make_table(None, columns, lengths)]
    return parts


def _main_rows(scores: dict[str, Any]) -> list[tuple[str, str, str]]:
    low, high = scores["f1_interval"]
    sentences = scores["sentences"]
    rows = [
        (
            "F1",
            percent(scores["f1"]),
            f"95% interval {percent(low)} to {percent(high)}, by the rules of {scores['rules']}",
        ),
        (
            "precision",
            percent(scores["lp"]),
            f"{scores['total_matched']:,} of {several(scores['total_predicted'], 'constituent')}",
        ),
        (
            "recall",
            percent(scores["lr"]),
            f"{scores['total_matched']:,} of {several(scores['total_gold'], 'constituent')}",
        ),
        ("exact match", percent(scores["exact"]), f"of {several(sentences, 'sentence')}"),
        ("tags", percent(scores["tagging"]), f"of {several(scores['words'], 'word')}"),
        ("no crossing brackets", percent(scores["no_crossing"]), f"{scores['crossing']:.2f} a sentence on average"),
        ("two or fewer", percent(scores["two_crossing"]), ""),
    ]
    if (short := scores["up_to_40"]) is not None:
        rows.append(
            ("F1 up to 40 words", percent(short["f1"]), f"{short['sentences']:,} of {several(sentences, 'sentence')}")
        )
        rows.append(("exact match up to 40 words", percent(short["exact"]), ""))
    if "covered" in scores:
        share = scores["covered"] / max(sentences + scores["skipped"], 1)
        rows.append(
            (
                "no tree in the grammar",
                percent(share),
                f"{several(scores['covered'], 'sentence')}, or too long for the memory",
            )
        )
    return rows
