"""Side by side with peers, in one run: ``python -m benchmarks``. The results are kept in ``benchmarks/results``."""
