"""Benchmarks: one package each, run by `bin/bench NAME`; no part of the tests."""
