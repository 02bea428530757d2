"""A fuzzer of everything that the library reads: model files, monitors, checkpoints and tables."""
