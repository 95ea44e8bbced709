"""MLIR to a Program, through IREE in a worker process."""
