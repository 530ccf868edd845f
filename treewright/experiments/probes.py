"""Probes: further measurements of trained models that papers report, by name.

A probe is a function of an estimator and the parts of the corpus, and returns numbers by name. Experiments name the
probes that they need: ``probes = ["agenda"]``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.experiments.corpora import Parts

if TYPE_CHECKING:
    from treewright.amr import AMRParser
    from treewright.constituency import ConstituencyParser
    from treewright.dependency import DependencyParser

__all__ = ["PROBES", "Probe"]

Probe = Callable[[Any, Parts], dict[str, float]]

_SAMPLE = 200  # sentences in which decisions off the gold path are counted


def off_path(parser: DependencyParser, parts: Parts) -> dict[str, float]:
    """Return the share of decisions off the gold path when a dependency parser parses dev, and their error rate.

    A state is off the gold path if the least loss that can still be reached from it is above zero; a decision errs if
    it raises that loss. The error rate of decisions on the gold path is returned, too.
    """
    from treewright.dependency import DependencyParser
    from treewright.search import trajectory

    if not isinstance(parser, DependencyParser):
        raise ConfigError("the probe off-path is for the task dependency")
    asked = DependencyParser(**{**parser.get_params(), "oracle": "dynamic"})  # a static oracle has no such loss
    asked._restore(*parser._learned())
    packed = asked._pack_gold(parts.get("dev", parts["train"])[:_SAMPLE], learn_labels=False)
    task, policy = packed.task, parser.policy_
    decisions, errors = [0, 0], [0, 0]
    for i in range(len(packed)):
        states = trajectory(packed, i, policy.weights, mixture=policy.mixture).states
        losses = [float(task.partial_loss(packed.instance(i), state)) for state in states]
        for before, after in pairwise(losses):
            decisions[before > 0.0] += 1
            errors[before > 0.0] += after > before
    return {
        "share off the path": decisions[1] / max(sum(decisions), 1),
        "errors on the path": errors[0] / max(decisions[0], 1),
        "errors off the path": errors[1] / max(decisions[1], 1),
    }


def agenda(parser: ConstituencyParser, parts: Parts) -> dict[str, float]:
    """Return the pops and pushes of a sentence of test, and the milliseconds of CPU time that it takes."""
    from treewright.constituency import ConstituencyParser

    if not isinstance(parser, ConstituencyParser):
        raise ConfigError("the probe agenda is for the task constituency")
    sentences = parts.get("test", parts["train"])
    parser.analyse(sentences[:1])  # compiles
    started = time.process_time()
    found = parser.analyse(sentences)
    seconds = time.process_time() - started
    n = len(sentences)
    return {
        "pops": sum(each.pops for each in found) / n,
        "pushes": sum(each.pushes for each in found) / n,
        "ms a sentence": 1e3 * seconds / n,
    }


def expert(parser: AMRParser, parts: Parts) -> dict[str, float]:
    """Return the Smatch of the expert on train, as Table 4.3 of Goodman (2015) has it, and the 95 % interval of F1."""
    from treewright.amr import AMRParser, score_smatch

    if not isinstance(parser, AMRParser):
        raise ConfigError("the probe expert is for the task amr")
    scores = score_smatch(parts["train"], parser.by_expert(parts["train"]))
    low, high = scores.interval
    return {
        "expert precision": scores.precision,
        "expert recall": scores.recall,
        "expert F1": scores.f1,
        "expert F1 from": low,
        "expert F1 to": high,
    }


def naive_smatch(parser: AMRParser, parts: Parts) -> dict[str, float]:
    """Return the agreement of naive Smatch and Smatch on dev, and their times (Goodman 2015, Table 5.2, Figure 5.3).

    The interval of the correlation (95 %) is a bootstrap over sentences.
    """
    from treewright.amr import AMRParser, score_smatch
    from treewright.amr import naive_smatch as naive

    if not isinstance(parser, AMRParser):
        raise ConfigError("the probe naive-smatch is for the task amr")
    gold = parts["dev"]
    found = parser.predict(gold)
    naive(gold[:1], found[:1])  # compiles
    started = time.process_time()
    quick = naive(gold, found)
    middle = time.process_time()
    whole = score_smatch(gold, found)
    end = time.process_time()
    exact = np.array([f for _, _, f in whole.by_sentence()])
    rough = 2 * quick.matched / np.maximum(quick.gold + quick.predicted, 1)
    drawn = np.random.default_rng(0).integers(len(exact), size=(1000, len(exact)))
    low, high = np.nanquantile([_correlation(rough[each], exact[each]) for each in drawn], [0.025, 0.975])
    return {
        "correlation": _correlation(rough, exact),
        "correlation from": float(low),
        "correlation to": float(high),
        "mean naive": float(rough.mean()),
        "mean Smatch": float(exact.mean()),
        "seconds naive": middle - started,
        "seconds Smatch": end - middle,
    }


HILL_CLIMBING: dict[str, dict[str, Any]] = {
    "vanilla": {},
    "+ satisficing": {"satisficing": True},
    "+ improved initialisation": {"start": "improved"},
    "+ N = 1000": {"moves": 1000},
    "+ all three": {"satisficing": True, "start": "improved", "moves": 1000},
}
"""The variants of hill climbing in Table 5.2 of Goodman (2015), as changes of Algorithm 7."""


def hill_climbing(parser: AMRParser, parts: Parts) -> dict[str, float]:
    """Return F and seconds of Smatch by variants of hill climbing, and of naive Smatch (Goodman 2015, Table 5.2).

    The graphs are those of train and what the expert makes of them, as in the thesis. Seconds are CPU seconds without
    the encoding of the graphs, the median of five runs. The mapping of ``exact`` is proved to be the best.
    """
    from treewright.amr import AMRParser, HillClimbing
    from treewright.amr.naive_counts import naive_packed
    from treewright.amr.packed import Packer
    from treewright.amr.smatch import graphs_of, match_packed

    if not isinstance(parser, AMRParser):
        raise ConfigError("the probe hill-climbing is for the task amr")
    train = parts["train"]
    graphs = [graphs_of(train, "gold"), graphs_of(parser.by_expert(train), "expert")]
    whole, plain = Packer(), Packer()
    gold, made = (whole.pack(each) for each in graphs)
    naive = [plain.pack(each, tops=False) for each in graphs]
    ways: dict[str, Callable[[], Any]] = {}
    for starts in (4, 1):
        for name, changes in HILL_CLIMBING.items():
            search = HillClimbing(**{"starts": starts, "start": "greedy", **changes})
            ways[f"{name}, {starts}"] = partial(match_packed, gold, made, search=search)
    ways["exact"] = partial(match_packed, gold, made, exact=True)
    ways["naive"] = partial(naive_packed, *naive)
    found: dict[str, float] = {}
    for name, way in ways.items():
        counts = way()  # compiles
        f1 = 2 * np.sum(counts.matched) / max(np.sum(counts.gold) + np.sum(counts.predicted), 1)
        seconds = []
        for _ in range(5):
            started = time.process_time()
            way()
            seconds.append(time.process_time() - started)
        found |= {f"{name}: F": float(f1), f"{name}: seconds": float(np.median(seconds))}
    return found


def _correlation(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    """Pearson's correlation; not a number if one of them is constant."""
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return min(1.0, max(-1.0, float((a * b).sum()) / spread)) if spread else float("nan")


def training_loss(estimator: Any, parts: Parts) -> dict[str, float]:
    """Return the mean cost of a decision in the last pass: how well the policy fits what it has learned from."""
    return {"loss in training": float(estimator.history_[-1].loss)}


PROBES: dict[str, Probe] = {
    "off-path": off_path,
    "agenda": agenda,
    "expert": expert,
    "naive-smatch": naive_smatch,
    "hill-climbing": hill_climbing,
    "training-loss": training_loss,
}
"""The probes by the names that experiments have for them."""
