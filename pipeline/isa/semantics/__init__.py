"""What each AIE2 instruction does, once, over an abstract value type.

`meaning_of(instruction)` gives a `Meaning`: stages of reads, computation and writes, with the bundle in
which each happens. The emulator's engines evaluate it; nothing else says what an instruction does.
"""

from __future__ import annotations

from . import address, control, memory, scalar
from .meaning import Meaning, has_meaning, meaning_of

__all__ = ["Meaning", "address", "control", "has_meaning", "meaning_of", "memory", "scalar"]
