"""Python builders that emit linalg MLIR."""
