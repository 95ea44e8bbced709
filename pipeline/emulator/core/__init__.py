"""The core engine: one AIE2 core executing program memory, as an interpreter or through LLVM."""

from __future__ import annotations

from .core import Core
from .port import CorePort, CoreStop

__all__ = ["Core", "CorePort", "CoreStop"]
