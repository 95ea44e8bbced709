"""Tests that live in MLIR files: the grammar of their header comments, and what became of each case."""
