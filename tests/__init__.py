"""Tests, and the fuzzer as a command: python -m tests.fuzz."""
