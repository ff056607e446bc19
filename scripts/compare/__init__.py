"""One run's measurements, and the reference figures: `docs/benchmarks/` and its plots."""
