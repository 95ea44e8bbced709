"""Peano's matmul kernels (corpus golden/elf) on a single core, against numpy.

Their start-up code was not linked (facts 4), so the core function is entered directly. It takes its
locks from a port that grants everything; operands and results are where the ELF's symbols say.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from elftools.elf.elffile import ELFFile  # pyright: ignore[reportMissingTypeStubs]
