"""Other programs for the same tasks, one per module: `train` (file to model), `load`, `label` (file to file).

`benchmarks.peers.measuring` runs each in its own process, with its own packages
(`benchmarks.peers.install`), on the same files.
"""
