"""The papers' tables and the peers, side by side: `python -m benchmarks NAME`."""
