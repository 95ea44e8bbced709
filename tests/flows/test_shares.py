"""Which bytes leave through which column: of a built matmul on several columns, and of one on a single."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from aiepipe.flows.build import BuildOptions, build
from aiepipe.flows.program_directory import BuiltProgram, read_program
from aiepipe.flows.shares import shares_of

SAMPLES = Path(__file__).resolve().parents[2] / "mlir"


def stored(name: str, folder: Path, *options: str) -> BuiltProgram:
    build(BuildOptions(str(SAMPLES / name), str(folder), backend_options=options))
    return read_program(folder)


def test_every_byte_of_an_array_matmul_has_one_way_out(tmp_path: Path) -> None:
    built = stored("matmul_i8.mlir", tmp_path, "cores=1x4")
    (function,) = built.program.functions
    (result,) = function.results
    ways = np.zeros(result.type.size_bytes, np.int32)
    found = shares_of(built, function, result)
    for share in found:
        for offset, length in share.ranges:
            ways[offset : offset + length] += 1
    assert (ways == 1).all()
    assert len(found) == len({share.name for share in found}) == 4


def test_a_chains_last_dispatch_writes_the_result(tmp_path: Path) -> None:
    built = stored("matmul_chain.mlir", tmp_path)
    (function,) = built.program.functions
    found = shares_of(built, function, function.results[0])
    assert sum(length for share in found for _, length in share.ranges) == function.results[0].type.size_bytes


def test_a_result_that_no_dispatch_writes_has_none(tmp_path: Path) -> None:
    built = stored("matmul_nothing.mlir", tmp_path)
    function = built.program.functions[0]
    assert all(shares_of(built, function, result) == () for result in function.results)
