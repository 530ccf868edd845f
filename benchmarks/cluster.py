"""What a cluster costs and gives: parameter mixing on 1 to 4 shards, and parsing by 1 and 2 workers.

``mixing``: taggers (and, with ``--parts parsing``, dependency parsers) of EWT on 1, 2, 3 and 4 shards, the same number of passes. Shards run
one after the other in one process, so that their times do not disturb each other: the time of a pass on a cluster is that of its slowest
shard, and the time that weights travel. ``shards``: sentences a second of ``treewright parse`` over files on local workers.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, corpus_folder, keep, say

SHARDS = (1, 2, 3, 4)
LEARNERS: dict[str, dict[str, Any]] = {
    "tagging": {"name": "exploration", "passes": 10},
    "dependency": {"name": "exploration", "passes": 5},
}
COPIES = 8  # of test, for the files to parse


def mixing(task: str) -> list[dict[str, Any]]:
    from treewright.cluster.training import packed_state
    from treewright.estimators import estimator_class
    from treewright.estimators.mixing import LocalShards, advance_shard, cut_file, fit_mixed

    class Timed(LocalShards):
        """Measures the seconds of each shard and the bytes that travel."""

        def __init__(self, shards: Any) -> None:
            super().__init__(shards)
            self.seconds: list[list[float]] = []
            self.bytes: list[int] = []

        def advance(self, task: str, params: Any, survey: Any, iteration: int, state: Any) -> list[Any]:
            found, taken = [], []
            for shard in self.shards:
                started = time.process_time()
                found.append(advance_shard(shard, task, params, survey, iteration, state))
                taken.append(time.process_time() - started)
            self.seconds.append(taken)
            arrays = packed_state(found[0][0])
            self.bytes.append(sum(array.nbytes for parts in arrays.values() for array in parts))
            return found

    folder, rows = corpus_folder("ud-english-ewt"), []
    for n in SHARDS:
        made, runner = estimator_class(task)(learner=LEARNERS[task]), Timed(cut_file(folder / "train.conllu", n))
        fit_mixed(made, runner, folder / "dev.conllu")
        rows.append(
            {
                "shards": n,
                "dev": [row.score for row in made.history_],
                "seconds of the slowest shard": [max(taken) for taken in runner.seconds],
                "bytes of a state": runner.bytes,
            }
        )
        say(task, n, rows[-1])
    return rows


def parsing() -> list[dict[str, Any]]:
    from treewright.cli.parse_shards import parse_shard
    from treewright.cluster import connect
    from treewright.cluster.parsing import run_shards, shards_of
    from treewright.corpora import load_corpus

    folder, rows = corpus_folder("ud-english-ewt"), []
    model = Path(__file__).resolve().parent.parent / "treewright" / "bundled" / "english.tw"
    how = '{"format": "conllu", "named": "conllu", "input_format": "auto", "k_best": null, "jobs": 1}'
    value = ((("model", "english.tw", model.read_bytes()),), how)
    sentences = load_corpus(folder / "test.conllu")
    text = "\n".join(str(sentence) for sentence in sentences)
    with tempfile.TemporaryDirectory() as temporary:
        files = [Path(temporary, f"{k}.txt") for k in range(COPIES)]
        for file in files:
            file.write_text(text)
        for workers in (1, 2):
            with connect(f"local:{workers}") as client:
                list(
                    run_shards(
                        shards_of(files[:1] * workers, Path(temporary, f"warm{workers}"), "a"),
                        parse_shard,
                        value,
                        client,
                    )
                )
                started = time.perf_counter()
                list(run_shards(shards_of(files, Path(temporary, f"out{workers}"), "a"), parse_shard, value, client))
                seconds = time.perf_counter() - started
            rows.append({"workers": workers, "sentences a second": COPIES * len(sentences) / seconds})
            say(rows[-1])
    return rows


def main() -> None:
    import json

    named = sys.argv[sys.argv.index("--parts") + 1].split(",") if "--parts" in sys.argv else ["tagging", "shards"]
    kept = RESULTS / "cluster.json"
    results: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    results = {part: results[part] for part in ("tagging", "dependency", "shards") if part in results}
    for part in named:
        results[part] = parsing() if part == "shards" else mixing(part)
        keep("cluster", {"learners": LEARNERS, **results})
