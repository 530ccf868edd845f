"""Settings that several estimators share."""

from __future__ import annotations

from treewright.settings import Setting, Whole

__all__ = ["BEAM", "BITS", "MIN_COUNT", "SEED"]

BEAM = Setting("beam", Whole(1, 1000), "The number of hypotheses in the beam; 1 is greedy", annotates=True)
BITS = Setting("bits", Whole(1, 30), "The size of the table of hashed features: 2^bits rows", flags="--bits -b")
MIN_COUNT = Setting("min_count", Whole(1), "Words that are rarer than this in training count as unknown")
SEED = Setting("seed", Whole(0), "The seed of all random numbers: the same seed gives the same model")
