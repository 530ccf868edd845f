"""Every learner of the table on EWT's UPOS: accuracy on dev (this is a comparison, not a final figure) and what it costs."""

from __future__ import annotations

from typing import Any

from benchmarks.common import corpus_folder, keep, say, timed
from treewright.corpora import load_corpus
from treewright.learners import LEARNERS, table
from treewright.tagging import Tagger

ITERATIONS = 5


def main() -> None:
    folder = corpus_folder("ud-english-ewt")
    train, dev = (load_corpus(folder / f"{part}.conllu") for part in ("train", "dev"))
    rows: dict[str, Any] = {}
    for choices in table():
        name = choices["learner"]
        learner = {"name": name, "iterations": ITERATIONS, "update": {"name": "arow", "C": 30.0}}
        tagger, clock = timed(lambda learner=learner: Tagger(learner=learner, bits=20).fit(train, dev=dev))
        rows[name] = {
            "dev": [p.score for p in tagger.history_],
            "best": max(p.score for p in tagger.history_),
            "train seconds": clock.cpu,
            **choices,
        }
        say(name, f"{rows[name]['best']:.4f}", f"{clock.cpu:.1f} s")
    assert set(rows) == set(LEARNERS) - {"imitation"}
    keep("learners", {"iterations": ITERATIONS, "rows": rows})
