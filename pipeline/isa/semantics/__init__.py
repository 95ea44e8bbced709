"""What each AIE2 instruction does, once, over an abstract value type.

`meaning_of(instruction)` gives a `Meaning`: stages of reads, computation and writes, with the bundle in
which each happens. The emulator's engines evaluate it; nothing else says what an instruction does.
"""

from __future__ import annotations

# Importing a module registers its meanings.
from . import (
    address,
    control,
    memory,
    scalar,
    vector_arithmetic,
    vector_convert,
    vector_float,
    vector_mac,
    vector_memory,
    vector_permute,
    vector_sparse,
)
from .meaning import Meaning, UndefinedMode, has_meaning, meaning_of

__all__ = [
    "Meaning",
    "UndefinedMode",
    "address",
    "control",
    "has_meaning",
    "meaning_of",
    "memory",
    "scalar",
    "vector_arithmetic",
    "vector_convert",
    "vector_float",
    "vector_mac",
    "vector_memory",
    "vector_permute",
    "vector_sparse",
]
