"""The lecture's story in figures: what a dependency parser gains by seeing its own errors while it learns.

Every learner has the same sentences, features, update, number of iterations and seed; only the roll-in, the costs and what is
trained on differ. The pass is chosen on dev, and test is scored once for each model. One seed: the intervals say what another
test set might change, not what another seed might.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.common import ROOT, corpus_folder, keep, say, timed
from treewright.corpora import Sentence, load_corpus
from treewright.dependency import DependencyParser, compare_dependencies, score_dependencies
from treewright.search import trajectory

ITERATIONS = 5
SENTENCES = {"ud-english-ewt": 400, "ud-afrikaans-afribooms": 400}  # of train: roll-outs cost time
SYSTEMS = ("arc-standard", "arc-hybrid", "arc-eager")
SETTINGS: dict[str, Any] = {"mode": "fast", "features": "rich", "bits": 18}
SAMPLE = 200  # sentences in which decisions off the gold path are counted
FOCUS = 10  # steps after which roll-outs are cut; what the least loss is from there is known exactly

STATIC, DYNAMIC = "static oracle", "dynamic oracle, no exploration"
LEARNERS: dict[str, dict[str, Any]] = {
    STATIC: {"name": "supervised"},
    DYNAMIC: {"name": "exploration", "k": 1, "p": 1.0},
    "exploration": {"name": "exploration", "k": 1, "p": 0.1},
    "DAgger": {"name": "dagger"},
    "AggraVaTe": {"name": "aggravate", "focus": 1},  # exact: the expert is optimal, and the least loss is known
    "V-DAgger": {"name": "v-dagger", "focus": FOCUS},
}


def off_path(parser: DependencyParser, sentences: list[Sentence]) -> dict[str, float]:
    """Decisions off the gold path when the learned policy parses: their share, and how often they err, as those on it do.

    A state is off the gold path if the least loss that can still be reached from it is above zero; a decision errs if it raises
    that loss. Episodes are run as in decoding.
    """
    task_of = DependencyParser(**{**parser.get_params(), "oracle": "dynamic"})  # the static one knows no such loss
    task_of._restore(*parser._learned())
    packed = task_of._pack_gold(sentences, learn_labels=False)
    task, policy = packed.task, parser.policy_
    decisions, errors = [0, 0], [0, 0]
    for i in range(len(packed)):
        x = packed.instance(i)
        states = trajectory(packed, i, policy.weights, mixture=policy.mixture).states
        losses = [float(task.partial_loss(x, state)) for state in states]
        for before, after in pairwise(losses):
            decisions[before > 0.0] += 1
            errors[before > 0.0] += after > before
    return {
        "share off the path": decisions[1] / sum(decisions),
        "errors on the path": errors[0] / max(decisions[0], 1),
        "errors off the path": errors[1] / max(decisions[1], 1),
    }


def measure(corpus: str) -> list[dict[str, Any]]:
    folder = corpus_folder(corpus)
    train, dev, test = (load_corpus(folder / f"{part}.conllu") for part in ("train", "dev", "test"))
    train = train[: SENTENCES[corpus]]
    rows: list[dict[str, Any]] = []
    for system in SYSTEMS:
        parsed: dict[str, list[Sentence]] = {}
        for name, learner in LEARNERS.items():
            oracle = "static" if name == STATIC else "dynamic"

            def make(iterations: int, learner=learner, oracle=oracle, system=system) -> DependencyParser:
                settings = {**learner, "iterations": iterations}
                return DependencyParser(system, learner=settings, oracle=oracle, **SETTINGS)

            make(1).fit(train[:20], dev=dev[:20])  # compile first
            parser, clock = timed(lambda make=make: make(ITERATIONS).fit(train, dev=dev))
            parsed[name] = parser.parse(test)
            scores = score_dependencies(test, parsed[name])
            against = {
                other: compare_dependencies(test, parsed[other], parsed[name], samples=1_000)
                for other in (STATIC, DYNAMIC)
                if other in parsed and other != name
            }
            rows.append(
                {
                    "system": system,
                    "learner": name,
                    "LAS": scores.las,
                    "interval": scores.las_interval,
                    "UAS": scores.uas,
                    "dev": [p.score for p in parser.history_],
                    "train seconds": clock.cpu,
                    "against": {
                        other: {"difference": c.difference, "interval": c.interval, "p": c.p_randomization}
                        for other, c in against.items()
                    },
                    "train": off_path(parser, train[:SAMPLE]),
                    "unseen": off_path(parser, dev[:SAMPLE]),
                }
            )
            say(corpus, system, name, f"LAS {scores.las:.4f}, {clock.cpu:.1f} s", rows[-1]["unseen"])
    return rows


def plot(found: dict[str, list[dict[str, Any]]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, all_axes = pyplot.subplots(1, len(found), figsize=(11, 4.5), sharey=True)
    names = list(LEARNERS)
    for axes, (corpus, rows) in zip(all_axes, found.items(), strict=True):
        for number, system in enumerate(SYSTEMS):
            chosen = {row["learner"]: row for row in rows if row["system"] == system}
            las = [100 * chosen[name]["LAS"] for name in names]
            edges = [[100 * abs(chosen[n]["LAS"] - chosen[n]["interval"][k]) for n in names] for k in (0, 1)]
            places = [len(names) - k - 0.2 * (number - 1) for k in range(len(names))]
            axes.errorbar(las, places, xerr=edges, fmt="osD"[number], markersize=4, linewidth=1, label=system)
        axes.set_yticks([len(names) - k for k in range(len(names))], names)
        axes.set_xlabel("LAS, test")
        axes.set_title(f"{corpus}, {SENTENCES[corpus]:,} sentences", fontsize=10)
        axes.grid(True, axis="x", alpha=0.3)
    all_axes[0].legend(loc="upper left", fontsize=8)
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "images" / "dependency-learners.svg", metadata={"Date": None})


def main() -> None:
    found = {corpus: measure(corpus) for corpus in SENTENCES}
    plot(found)
    keep(
        "dependency_learners",
        {
            "iterations": ITERATIONS,
            "sentences": SENTENCES,
            "settings": SETTINGS,
            "learners": LEARNERS,
            "sample": SAMPLE,
            "rows": found,
        },
    )
