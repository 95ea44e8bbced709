"""Python builders that emit linalg MLIR: each gives the text of a module, with a header that says what it is.

They import IREE's bindings when they are called, not when this package is imported.
"""

from .filling import fill
from .multiplication import matmul

__all__ = ["fill", "matmul"]
