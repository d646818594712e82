"""Fuzzers: mutated inputs and forged models; every case must end in a result or in one sentence."""
