"""The experiments of the papers, one module for those made of the same runs; see `benchmarks.experiment`."""
