"""Pages that step through the lectures' own examples, made when the documentation is built (a hook of MkDocs).

Each is one file with the viewer of ``treewright trace --html``; the pages of the tasks embed them. No model is needed:
oracles and grammars by hand make the traces.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from treewright import Sentence, load_corpus
from treewright.amr import AMRParser
from treewright.constituency import WrittenGrammar, trace_written
from treewright.dependency.trace import trace_gold
from treewright.reports import trace_html
from treewright.tracing import Candidate, Step, Trace

ROOT = Path(__file__).resolve().parents[1]
GRAMMAR = """
S -> NP VP
NP -> Det N [3] | NP PP [1]
VP -> V NP [2] | VP PP [1]
PP -> P NP
Det -> the
N -> man | dog | telescope
V -> saw
P -> with
"""
TELESCOPE = ["the", "man", "saw", "the", "dog", "with", "the", "telescope"]


def on_post_build(config: Any, **_: Any) -> None:
    """Write the pages into the site."""
    write(Path(config["site_dir"]) / "steps")


def write(folder: Path) -> None:
    """Write all pages to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, title, traces in pages():
        (folder / f"{name}.html").write_text(trace_html(traces, title=title), encoding="utf-8")


def pages() -> Iterator[tuple[str, str, list[Trace]]]:
    """The name, the title and the traces of each page."""
    lectures = {_name(sentence): sentence for sentence in load_corpus(ROOT / "docs" / "lectures.conllu")}
    yield "flight", "Book the flight through Houston: arc-standard", [trace_gold(lectures["flight"])]
    letter = trace_gold(lectures["letter"], "arc-eager", oracle="dynamic", moves=["SH", "LA", "RA", "SH"])
    yield "letter", "The letter: arc-eager, with a mistake and a dynamic oracle", [letter]
    grammar = WrittenGrammar.from_text(GRAMMAR)
    yield "telescope", "The telescope: a chart", [trace_written(grammar, TELESCOPE)]
    yield "telescope-agenda", "The telescope: an agenda", [trace_written(grammar, TELESCOPE, "agenda")]
    yield "thesis", "A meaning graph, by the expert", [AMRParser().trace_expert(_thesis())]
    yield "fish", "She can fish: tags", [_tags()]


def _name(sentence: Sentence) -> str:
    found = [comment.partition("=")[2].strip() for comment in sentence.comments if comment.startswith("# sent_id")]
    return found[0] if found else ""


def _thesis() -> Sentence:
    """Goodman's example 4.9, with its dependency tree."""
    from treewright.cli.tasks import TASKS

    sentences = TASKS["amr"].read(str(ROOT / "docs" / "thesis.amr"), trees=str(ROOT / "docs" / "thesis.conllu"))
    return sentences[min(8, len(sentences) - 1)]


def _tags() -> Trace:
    """The decisions of the tutorial's tagger, with a mistake."""
    words, gold = ("She", "can", "fish"), ("PRON", "AUX", "VERB")
    scores = [{"PRON": 4.0, "NOUN": 0.5}, {"AUX": 2.5, "VERB": 2.0, "NOUN": 1.0}, {"NOUN": 2.2, "VERB": 2.0}]
    steps, labels = [], list[str]()
    for k, options in enumerate(scores):
        total = sum(2.718281828**score for score in options.values())
        candidates = tuple(
            Candidate(tag, score, float(tag != gold[k]), 2.718281828**score / total) for tag, score in options.items()
        )
        steps.append(Step(k, {"position": k, "labels": labels[:]}, candidates, 0, (gold[k],)))
        labels.append(candidates[0].action)
    steps.append(Step(3, {"position": 3, "labels": labels}))
    return Trace("tagging", "tags", words, tuple(steps), {"labels": labels}, True)


if __name__ == "__main__":
    write(ROOT / "site" / "steps")
