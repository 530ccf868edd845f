"""What a cluster costs and gives: parameter mixing on 1 to 4 shards, and parsing by 1 and 2 workers.

``tagging``, ``dependency``: taggers and dependency parsers of EWT on 1, 2, 3 and 4 shards, the same number of passes; the tables have
means over seeds. ``tagging-afrikaans``, ``dependency-afrikaans``: the same on AfriBooms, which is a tenth of the size. Shards run one after the other in one process, so that their times do not disturb each other: the time of a pass on a
cluster is that of its slowest shard, and the time that weights travel. ``shards``: sentences a second of ``treewright parse`` over files on local workers, one and two in
turns. ``python -m benchmarks cluster --parts shards`` names some parts; rows of mixing that are there are not measured again. The tables of ``docs/cluster.md`` are written from the results.
"""

from __future__ import annotations

import re
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, ROOT, corpus_folder, keep, say

#: by part: the task, the corpus, and numbers of shards, of mixtures in a pass, and of seeds
MIXING = {
    "tagging": ("tagging", "ud-english-ewt", ((1, 1, 1), (2, 5, 1), (3, 5, 1), (4, 5, 1))),
    "dependency": ("dependency", "ud-english-ewt", ((1, 1, 3), (4, 5, 3), (2, 5, 3), (3, 5, 1))),
    "tagging-afrikaans": ("tagging", "ud-afrikaans-afribooms", ((1, 1, 3), (2, 5, 3), (4, 5, 3))),
    "dependency-afrikaans": ("dependency", "ud-afrikaans-afribooms", ((1, 1, 3), (2, 5, 3), (4, 5, 3))),
}
LEARNERS: dict[str, dict[str, Any]] = {
    "tagging": {"name": "exploration", "passes": 10},
    "dependency": {"name": "exploration", "passes": 12},
}
COPIES = 32  # of test, for the files to parse
TURNS = 3


def mixing(part: str, rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Add a row for each number of shards and seed that has none; yield the rows after each."""
    from treewright.cluster.training import packed_state
    from treewright.estimators import estimator_class
    from treewright.estimators.mixing import LocalShards, advance_shard, cut_file, fit_mixed

    class Timed(LocalShards):
        """Measures the seconds of each shard and the bytes that travel."""

        def __init__(self, shards: Any) -> None:
            super().__init__(shards)
            self.seconds = Counter[int]()  # of the slowest shard of each round, by pass
            self.bytes: list[int] = []

        def advance(self, task: str, params: Any, survey: Any, when: Any, state: Any) -> list[Any]:
            found, taken = [], []
            for shard in self.shards:
                started = time.process_time()
                found.append(advance_shard(shard, task, params, survey, when, state, self._learners))
                taken.append(time.process_time() - started)
            self.seconds[when.iteration] += max(taken)
            if when.part == when.parts - 1:
                arrays = packed_state(found[0][0])
                self.bytes.append(sum(array.nbytes for parts in arrays.values() for array in parts))
            return found

    task, corpus, sizes = MIXING[part]
    folder = corpus_folder(corpus)
    wanted = [(n, rounds, seed) for n, rounds, seeds in sizes for seed in range(seeds)]
    for n, rounds, seed in sorted(wanted, key=lambda row: row[2]):
        if any((row["shards"], row["rounds"], row["seed"]) == (n, rounds, seed) for row in rows):
            continue
        checkpoint = ROOT / "build" / f"cluster-{part}-{n}-{rounds}-{seed}"  # a run that was cut goes on
        made = estimator_class(task)(learner=LEARNERS[task], seed=seed)
        runner = Timed(cut_file(folder / "train.conllu", n))
        resume = checkpoint.is_dir()
        fit_mixed(made, runner, folder / "dev.conllu", rounds=rounds, checkpoint=checkpoint, resume=resume)
        shutil.rmtree(checkpoint)
        rows.append(
            {
                "shards": n,
                "rounds": rounds,
                "seed": seed,
                "dev": [row.score for row in made.history_],
                "seconds of the slowest shard": list(runner.seconds.values()),
                "bytes of a state": max(runner.bytes),
            }
        )
        rows.sort(key=lambda row: (row["shards"], row["rounds"], row["seed"]))
        say(part, n, seed, [row["dev"] for row in rows if row["shards"] == n])
        yield rows


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
        seconds, cpu, client_cpu = (dict[int, list[float]]({1: [], 2: []}) for _ in range(3))
        for turn in range(TURNS):
            for workers, taken in seconds.items():
                with connect(f"local:{workers}") as client:

                    def parse(some: list[Path], name: str, client: Any = client) -> None:
                        list(run_shards(shards_of(some, Path(temporary, name), "a"), parse_shard, value, client))

                    parse(files[:1] * workers, f"warm-{workers}-{turn}")
                    before = sum(client.run(time.process_time).values())
                    started, own = time.perf_counter(), time.process_time()
                    parse(files, f"out-{workers}-{turn}")
                    taken.append(time.perf_counter() - started)
                    cpu[workers].append(sum(client.run(time.process_time).values()) - before)
                    client_cpu[workers].append(time.process_time() - own)
                say(workers, taken, cpu[workers], client_cpu[workers])
        for workers, taken in seconds.items():
            speeds = [COPIES * len(sentences) / each for each in taken]
            rows.append(
                {
                    "workers": workers,
                    "sentences a second": statistics.median(speeds),
                    "turns": speeds,
                    "CPU seconds of the workers": statistics.median(cpu[workers]),
                    "CPU seconds of the client": statistics.median(client_cpu[workers]),
                }
            )
    return rows


# ---- the page


def mixing_table(rows: list[dict[str, Any]]) -> list[str]:
    passes, by_shards = len(rows[0]["dev"]), dict[tuple[int, int], list[dict[str, Any]]]()
    for row in rows:
        by_shards.setdefault((row["shards"], row["rounds"]), []).append(row)
    body = []
    for (n, rounds), own in by_shards.items():
        seconds = statistics.median(second for row in own for second in row["seconds of the slowest shard"])
        size = statistics.mean(row["bytes of a state"] for row in own)
        cells = [_over_seeds(own, k) for k in (passes // 2 - 1, passes - 1)]
        body.append([str(n), str(rounds), *cells, f"{seconds:.2f}", f"{size / 1e6:.0f} MB"])
    head = [
        "shards",
        "mixtures a pass",
        f"dev after {passes // 2} passes",
        f"after {passes}",
        "seconds a pass",
        "state",
    ]
    return _table(head, body)


def _over_seeds(rows: list[dict[str, Any]], k: int) -> str:
    """The mean after a pass, and what it is the mean of."""
    scores = [100 * row["dev"][k] for row in rows]
    each = f" ({', '.join(f'{score:.2f}' for score in scores)})" if len(scores) > 1 else ""
    return f"{statistics.mean(scores):.2f}{each}"


def shards_table(rows: list[dict[str, Any]]) -> list[str]:
    one = rows[0]["sentences a second"]
    body = [
        [str(row["workers"]), f"{row['sentences a second']:,.0f}", f"{row['sentences a second'] / one:.2f}"]
        for row in rows
    ]
    return _table(["workers", "sentences a second", "× one worker"], body)


def _table(head: list[str], body: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(line) + " |" for line in (head, ["---:"] * len(head), *body)]


def write_page(results: dict[str, Any]) -> None:
    """Put the tables between the marks of the page."""
    path = ROOT / "docs" / "cluster.md"
    page = path.read_text(encoding="utf-8")
    for part, rows in results.items():
        made = shards_table(rows) if part == "shards" else mixing_table(rows)
        text = "\n".join([f"<!-- {part} -->", "", *made, "", "<!-- end -->"])
        page = re.sub(rf"<!-- {part} -->.*?<!-- end -->", lambda _, text=text: text, page, flags=re.DOTALL)
    path.write_text(page, encoding="utf-8")


def main() -> None:
    import json

    named = sys.argv[sys.argv.index("--parts") + 1].split(",") if "--parts" in sys.argv else ["tagging", "shards"]
    kept = RESULTS / "cluster.json"
    results: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    results = {part: results[part] for part in (*MIXING, "shards") if part in results}
    for part in named:
        for rows in [parsing()] if part == "shards" else mixing(part, results.get(part, [])):
            results[part] = rows
            keep("cluster", {"learners": LEARNERS, **results})
    write_page(results)
