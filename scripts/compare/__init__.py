"""One run's measurements beside the reference figures: `docs/benchmarks.md` and its plots."""
