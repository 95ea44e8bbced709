"""Vector registers of the test bench as numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.emulator.core.bench import NOPS, Bench, Engine, assemble

Lanes = npt.NDArray[Any]


def as_number(lanes: Lanes) -> int:
    return int.from_bytes(lanes.tobytes(), "little")


def as_lanes(number: int, dtype: Any, count: int) -> Lanes:
    size = np.dtype(dtype).itemsize * count
    return np.frombuffer(number.to_bytes(size, "little"), dtype=dtype)


def run(statement: str, engine: Engine = "plain", /, **registers: Lanes | int) -> Bench:
    """One instruction with these registers, and until its results have landed."""
    bench = Bench(assemble(statement, *NOPS), engine)
    bench.set({n: v if isinstance(v, int) else as_number(v) for n, v in registers.items()})
    return bench.step(len(NOPS) + 1)


def numbers(dtype: Any, count: int, seed: int) -> Lanes:
    """Lanes over the whole range of an integer type, its ends among them."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    generator = np.random.default_rng(seed)
    lanes: Lanes = np.array(
        [int(n) for n in generator.integers(low, high, count, endpoint=True)], dtype=dtype
    )
    lanes[:4] = [low, high, 0, high]
    return lanes
