"""Counts of requests, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from typing import Any

__all__ = ["Counts"]

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Counts:
    """The number of requests by route and status, and their times."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.buckets = [0] * (len(_BUCKETS) + 1)  # requests whose time is at most each bound, but above the last one
        self.seconds = 0.0
        self.under_way = 0

    def add(self, route: Any, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        path = getattr(route, "path", "other")  # never the request's path: paths are unbounded
        self.requests[path, status] += 1
        self.seconds += seconds
        self.buckets[bisect_left(_BUCKETS, seconds)] += 1

    def text(self, bench: Any) -> str:
        """Return all counts in the text format of Prometheus."""
        total = sum(self.requests.values())
        lines = [
            "# HELP treewright_requests_total Requests by route and status.",
            "# TYPE treewright_requests_total counter",
        ]
        lines += [
            f'treewright_requests_total{{route="{route}",status="{status}"}} {count}'
            for (route, status), count in sorted(self.requests.items())
        ]
        lines += ["# HELP treewright_request_seconds Times of requests.", "# TYPE treewright_request_seconds histogram"]
        bounds = [*(f"{bound:g}" for bound in _BUCKETS), "+Inf"]
        within = zip(bounds, accumulate(self.buckets), strict=True)
        lines += [f'treewright_request_seconds_bucket{{le="{bound}"}} {count}' for bound, count in within]
        lines += [f"treewright_request_seconds_sum {self.seconds:.6f}", f"treewright_request_seconds_count {total}"]
        lines += ["# TYPE treewright_requests_under_way gauge", f"treewright_requests_under_way {self.under_way}"]
        lines += ["# TYPE treewright_requests_waiting gauge"]
        lines += [f'treewright_requests_waiting{{model="{name}"}} {len(b)}' for name, b in bench.batchers.items()]
        lines += ["# HELP treewright_batches_total Batches of requests.", "# TYPE treewright_batches_total counter"]
        lines += [f'treewright_batches_total{{model="{name}"}} {b.batches}' for name, b in bench.batchers.items()]
        lines += ["# TYPE treewright_batched_requests_total counter"]
        lines += [f'treewright_batched_requests_total{{model="{name}"}} {b.jobs}' for name, b in bench.batchers.items()]
        return "\n".join([*lines, ""])
