"""Every learner of the table on a part of EWT, UPOS: accuracy on dev (a comparison, not a final figure) and its price."""

from __future__ import annotations

from typing import Any

from benchmarks.common import corpus_folder, keep, say, timed
from treewright.corpora import load_corpus
from treewright.learners import LEARNERS, table
from treewright.tagging import Tagger

ITERATIONS = 5
SENTENCES = 3_000  # of train: roll-outs cost time in the square of the length, for every action


def main() -> None:
    folder = corpus_folder("ud-english-ewt")
    train, dev = (load_corpus(folder / f"{part}.conllu") for part in ("train", "dev"))
    train = train[:SENTENCES]
    rows: dict[str, Any] = {}
    Tagger(learner={"name": "dagger", "iterations": 1}, bits=10).fit(train[:50], dev=dev[:50])  # compile first
    for choices in table():
        name = choices["learner"]
        learner = {"name": name, "iterations": ITERATIONS, "update": {"name": "arow", "C": 30.0}}
        tagger, clock = timed(lambda learner=learner: Tagger(learner=learner, bits=18).fit(train, dev=dev))
        rows[name] = {
            "dev": [p.score for p in tagger.history_],
            "best": max(p.score for p in tagger.history_),
            "train seconds": clock.cpu,
            **choices,
        }
        say(name, f"{rows[name]['best']:.4f}", f"{clock.cpu:.1f} s")
    assert set(rows) == set(LEARNERS) - {"imitation"}
    keep("learners", {"iterations": ITERATIONS, "sentences": SENTENCES, "rows": rows})
