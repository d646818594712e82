"""Other programs for the same tasks, a module each: `train` (file to model), `load`, `label` (file to file).

All are run by `benchmarks.peers.measuring`, in processes of their own, with packages of their own
(`benchmarks.peers.install`), on the same files.
"""
