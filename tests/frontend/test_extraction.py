"""Programs by value: what IREE makes of the sample inputs and of the public reports.

The right values are IREE's own IR at executable-sources (iree-base-compiler 3.13, read by eye) and, for what
a program computes, the `expected` column of the reports' index.
"""

from __future__ import annotations

from pathlib import Path

from aiepipe.frontend.compiler import Compiler
from aiepipe.program import (
    Access,
    AffineResult,
    Binding,
    Buffer,
    BufferKind,
    BufferSlice,
    CopyCommand,
    Dispatch,
    DispatchCommand,
    FillCommand,
    HostFunction,
    Program,
    Result,
    ScalarBody,
    ScalarOp,
    SourceLocation,
    Structured,
    TensorOp,
    TensorType,
    Value,
)

REPOSITORY = Path(__file__).resolve().parents[2]
LOAD = "iree_tensor_ext.dispatch.tensor.load"
STORE = "iree_tensor_ext.dispatch.tensor.store"


def compile_file(compiler: Compiler, path: Path, **scalars: dict[int, bytes]) -> Program:
    return compiler.compile(path.name, path.read_text(), scalars=scalars)


def function(program: Program, name: str = "main") -> HostFunction:
    return next(f for f in program.functions if f.name == name)


def commands(found: HostFunction) -> list[tuple[object, ...]]:
    """Commands without their locations: kind, then what they touch as (buffer, offset, length)."""
    return [_plain(command) for command in found.commands]


def startup(program: Program) -> list[tuple[object, ...]]:
    return [_plain(command) for command in program.startup]


def _plain(command: FillCommand | CopyCommand | DispatchCommand) -> tuple[object, ...]:
    if isinstance(command, FillCommand):
        return ("fill", _range(command.target), command.pattern)
    if isinstance(command, CopyCommand):
        return ("copy", _range(command.source), _range(command.target))
    return ("dispatch", command.dispatch, *(_range(part) for part in command.bindings))


def _range(part: BufferSlice) -> tuple[str, int, int]:
    return (part.buffer, part.offset_bytes, part.length_bytes)


def matmul_structured(m: int, n: int, k: int) -> Structured:
    d0, d1, d2 = (AffineResult(tuple(int(i == d) for i in range(3))) for d in range(3))
    body = ScalarBody(
        ("i32", "i32", "i32"),
        (ScalarOp("arith.muli", (0, 1), "i32"), ScalarOp("arith.addi", (2, 3), "i32")),
        (4,),
    )
    return Structured(
        2, ((d0, d2), (d2, d1), (d0, d1)), ("parallel", "parallel", "reduction"), (m, n, k), body
    )


def test_the_seed_program_is_one_dispatch_of_a_filled_matmul(compiler: Compiler) -> None:
    path = REPOSITORY / "mlir" / "matmul.mlir"
    program = compile_file(compiler, path)
    a, b, c = TensorType((64, 16), "i32"), TensorType((16, 64), "i32"), TensorType((64, 64), "i32")
    line = 1 + path.read_text().split("\n").index(
        next(t for t in path.read_text().split("\n") if "matmul ins" in t)
    )

    def at(line: int) -> SourceLocation:
        return SourceLocation("matmul.mlir", line, 8)

    (dispatch,) = program.dispatches
    whole = {"strides": (1, 1)}
    assert dispatch == Dispatch(
        name="matmul_dispatch_0_matmul_64x64x16_i32",
        bindings=(
            Binding(0, a, Access.READ),
            Binding(1, b, Access.READ),
            Binding(2, c, Access.WRITE),
        ),
        ops=(
            TensorOp(
                LOAD,
                (),
                (Value("%0", a),),
                at(line),
                {"binding": 0, "offsets": (0, 0), "sizes": (64, 16), **whole},
            ),
            TensorOp(
                LOAD,
                (),
                (Value("%1", b),),
                at(line),
                {"binding": 1, "offsets": (0, 0), "sizes": (16, 64), **whole},
            ),
            TensorOp("tensor.empty", (), (Value("%2", c),), at(line - 2)),
            TensorOp(
                "arith.constant",
                (),
                (Value("%3", TensorType((), "i32")),),
                SourceLocation("matmul.mlir", line - 3, 13),
                {"value": b"\x07\0\0\0", "splat": False},
            ),
            TensorOp(
                "linalg.fill",
                ("%3", "%2"),
                (Value("%4", c),),
                at(line - 1),
                {},
                Structured(
                    1,
                    ((), (AffineResult((1, 0)), AffineResult((0, 1)))),
                    ("parallel", "parallel"),
                    (64, 64),
                    ScalarBody(("i32", "i32"), (), (0,)),
                ),
            ),
            TensorOp(
                "linalg.matmul",
                ("%0", "%1", "%4"),
                (Value("%5", c),),
                at(line),
                {},
                matmul_structured(64, 64, 16),
            ),
            TensorOp(
                STORE, ("%5",), (), at(line), {"binding": 2, "offsets": (0, 0), "sizes": (64, 64), **whole}
            ),
        ),
        text=dispatch.text,
        location=at(line),
    )
    assert "linalg.matmul" in dispatch.text
    assert program.globals == ()
    assert program.startup == ()
    assert program.functions == (
        HostFunction(
            name="matmul",
            arguments=(a, b),
            buffers=(
                Buffer("arg0", BufferKind.ARGUMENT, 4096, 0),
                Buffer("arg1", BufferKind.ARGUMENT, 4096, 1),
                Buffer("result0", BufferKind.RESULT, 16384),
            ),
            commands=(
                DispatchCommand(
                    dispatch.name,
                    (
                        BufferSlice("arg0", 0, 4096),
                        BufferSlice("arg1", 0, 4096),
                        BufferSlice("result0", 0, 16384),
                    ),
                    at(line),
                ),
            ),
            results=(Result(c, BufferSlice("result0", 0, 16384)),),
            location=SourceLocation("matmul.mlir", line - 4, 1),
        ),
    )
    assert program.compiler.startswith("iree-base-compiler ")


def test_the_seed_of_the_reports_is_the_same_program(compiler: Compiler, reports: Path) -> None:
    program = compile_file(compiler, reports / "50_aie_64x64x16_i32_sync.mlir")
    assert commands(function(program)) == [
        (
            "dispatch",
            "main_dispatch_0_matmul_64x64x16_i32",
            ("arg0", 0, 4096),
            ("arg1", 0, 4096),
            ("result0", 0, 16384),
        )
    ]
