"""Peano's matmul kernels (corpus golden/elf) on a single core, against numpy.

Their start-up code was not linked (facts 4), so the core function is entered directly, with its three
input locks granted once. Operands are packed as iree-amd-aie's pack pipeline does: tiles row-major, the
tiles column by column; with B transposed, each of its tiles too. Found by trying; the products that come
out are exact for no other order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aiepipe.formats import elf

from .bench import ENGINES, OWN, PROGRAM_BYTES, Bench, Engine
from .bench import FakePort as GrantingPort

BF16: Any = ml_dtypes.bfloat16
STACK = OWN

# name -> M, N, K, tile M, N, K, operand type, result type, B's tiles transposed
PROGRAMS: dict[str, tuple[int, int, int, int, int, int, Any, Any, bool]] = {
    "matmul_i32_16x16x8": (16, 16, 8, 4, 4, 8, np.int32, np.int32, False),
    "matmul_i32_8x32x16": (8, 32, 16, 4, 4, 8, np.int32, np.int32, False),
    "matmul_i8_64x64x64": (64, 64, 64, 4, 8, 8, np.int8, np.int32, False),
    "matmul_bf16_64x64x64": (64, 64, 64, 4, 4, 8, BF16, np.float32, False),
    "matmul_transpose_b_i8_16x32x64": (16, 32, 64, 4, 8, 8, np.int8, np.int32, True),
}


class OneRound(GrantingPort):
    """Grants each of the three input locks once."""

    def acquire(self, lock: int, value: int) -> bool:
        return len(self.log) < 3 and super().acquire(lock, value)


def packed(matrix: Any, rows: int, columns: int) -> Any:
    """Tiles of `rows` x `columns`, row-major inside, one column of tiles after the other."""
    m, n = matrix.shape
    return np.ascontiguousarray(matrix.reshape(m // rows, rows, n // columns, columns).transpose(2, 0, 1, 3))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_matmul(corpus: Path, name: str, engine: Engine) -> None:
    if engine == "plain" and "64x64x64" in name:
        pytest.skip("minutes in Python")
    m, n, k, tile_m, tile_n, tile_k, dtype, result, transposed = PROGRAMS[name]
    program = elf.parse((corpus / "golden" / "elf" / f"{name}_core_0_2.elf").read_bytes())
    symbols = program.symbol_addresses()
    bench = Bench(program.image(0, PROGRAM_BYTES), engine).set({"pc": symbols["core_0_2"], "SP": STACK})
    bench.port.__class__ = OneRound
    generator = np.random.default_rng(1)
    a = generator.integers(-8, 8, (m, k)).astype(dtype)
    b = generator.integers(-8, 8, (k, n)).astype(dtype)
    b_packed = packed(b.T, tile_n, tile_k) if transposed else packed(b, tile_k, tile_n)
    for buffer, values in (("buf2", packed(a, tile_m, tile_k)), ("buf1", b_packed)):
        data = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
        bench.own[symbols[buffer] - OWN : symbols[buffer] - OWN + data.size] = data
    stop = bench.core.run(200_000)
    assert (stop.kind, bench.port.log[-1]) == ("acquire", ("release", 53, 1))
    wanted = packed((a.astype(np.int64) @ b.astype(np.int64)).astype(result), tile_m, tile_n).reshape(-1)
    place = symbols["buf0"] - OWN
    assert np.array_equal(bench.own[place : place + wanted.nbytes].view(result), wanted)
