"""``python -m campaign [part or part.check …]``: try to break Treewright; see docs/reliability.md.

Other forms: ``python -m campaign list``, ``report`` (counts into campaign/results.json and docs/reliability.md),
``findings`` (tries the open ones again, and forgets those that no longer occur).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from campaign import report
from campaign.frame import STORE, Outcome, Store, all_checks, run_check, run_one

MOST_SHOWN = 5  # findings of one check; `python -m campaign findings` tries all again


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m campaign", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="part", help="a part, a check (readers.conllu), or a command")
    parser.add_argument(
        "--quick", action="store_true", help="a few minutes: the first cases of every check, not recorded"
    )
    parser.add_argument("--minutes", type=float, help="stop after about this time; the next call goes on")
    parser.add_argument("--seed", type=int, default=0, help="other cases (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, help="checks that run at the same time (default: 1)")
    parser.add_argument("--case", type=int, help="run this case of one check, and show it")
    arguments = parser.parse_args()
    command = arguments.names[0] if arguments.names else ""
    if command == "list":
        for name, check in all_checks([]).items():
            print(f"{name:40} {check.goal:>10,} {check.what}")
        return 0
    if command == "report":
        report.write(Store(STORE))
        return 0
    if command == "findings":
        return _try_again(Store(STORE))
    if arguments.case is not None:
        (name,) = arguments.names
        problem = run_one(name, arguments.seed, arguments.case)
        print(problem or "Nothing is wrong.")
        return int(problem is not None)
    return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    checks = all_checks(arguments.names)
    store = Store(None if arguments.quick else STORE)
    begun = time.monotonic()
    waiting = len(checks)

    def run(name: str) -> Outcome:
        nonlocal waiting
        check = checks[name]
        share = float("inf")
        if arguments.minutes is not None:  # the remaining time, divided among the remaining checks
            left = arguments.minutes * 60 - (time.monotonic() - begun)
            share = max(left, 0) * arguments.jobs / waiting
        waiting -= 1
        upto = check.quick if arguments.quick else check.goal
        outcome = run_check(name, store, seed=arguments.seed, upto=upto, seconds=share)
        note = f"not run: {outcome.unavailable}" if outcome.unavailable else f"{outcome.findings} findings"
        print(f"{name:28} {outcome.cases:>10,} cases {outcome.seconds:8.1f} s  {note}", flush=True)
        return outcome

    with ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = list(pool.map(run, checks))
    found = sum(outcome.findings for outcome in outcomes)
    told: Counter[str] = Counter()
    for name, seed, number, message, shown in store.findings():
        told[name] += name in checks
        if 0 < told[name] <= MOST_SHOWN:
            print(f"\n{name} --seed {seed} --case {number}\n{message.strip()[-800:]}\n{shown[:400]}")
    print(f"\n{sum(outcome.cases for outcome in outcomes):,} cases, {found} findings, {time.monotonic() - begun:.0f} s")
    return int(found > 0)


def _try_again(store: Store) -> int:
    still = 0
    for name, seed, number, _, _ in store.findings():
        problem = run_one(name, seed, number)
        print(f"{name} --seed {seed} --case {number}: {problem or 'no longer'}")
        if problem is None:
            store.remove_finding(name, seed, number)
        else:
            still += 1
    return int(still > 0)


if __name__ == "__main__":
    sys.exit(main())
