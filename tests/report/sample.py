"""Reports as flows fill them, for tests: a right run and the seed's wrong one."""

from __future__ import annotations

import dataclasses

import numpy as np

from aiepipe.program import SourceLocation, TensorType
from aiepipe.verdict import (
    Accumulation,
    Agreement,
    BufferOperation,
    BufferReport,
    BuildRunReport,
    DeviceReport,
    Diagnosis,
    DispatchReport,
    EventKind,
    FileRecord,
    FillFate,
    HostEvent,
    InputReport,
    Inspection,
    Likelihood,
    StageReport,
)
from aiepipe.verify.comparison import compare
from aiepipe.verify.statistics import outcome, summarise

HERE = SourceLocation("mlir/matmul.mlir", 7, 8)
TYPE = TensorType((64, 64), "i32")
SHA = "0123456789abcdef" * 4
POISON = b"\xa5" * 16


def inspection() -> Inspection:
    return Inspection(
        (),
        (FillFate("linalg.fill", "matmul", HERE, "i32", "7", "fused into the dispatch matmul_dispatch_0"),),
        ("matmul_dispatch_0",),
    )


def busy_inspection() -> Inspection:
    fill = BufferOperation(
        "hal.command_buffer.fill_buffer", "fill", "main", "result 2", "each call", 128, 64, HERE,
        b"\xc0\x3f", "i16", "bf16", "1.5",
    )  # fmt: skip
    copy = BufferOperation(
        "hal.command_buffer.copy_buffer", "copy", "main", "result 0", "each call", None, None, HERE
    )
    return Inspection((fill, copy), (), ("a", "b"))


def right() -> BuildRunReport:
    want = np.full((64, 64), 39, np.int32)
    file = FileRecord("out/matmul_dispatch_0.xclbin", 12345, SHA)
    events = (
        HostEvent(0, 1, EventKind.WRITE, "result 0", 0, 16384, "poison"),
        HostEvent(1, 1, EventKind.SYNC_TO, "result 0", 0, 16384),
        HostEvent(2, 1, EventKind.START, "matmul_dispatch_0", 0, 0),
        HostEvent(3, 1, EventKind.WAIT, "matmul_dispatch_0", 0, 0, "state COMPLETED"),
        HostEvent(4, 1, EventKind.SYNC_FROM, "result 0", 0, 16384),
    )
    return BuildRunReport(
        command="build-run",
        file="mlir/matmul.mlir",
        function="matmul",
        stages=(
            StageReport(
                "front end", 0.61, (), "iree-base-compiler 3.13.0", ("iree-compile mlir/matmul.mlir",)
            ),
            StageReport("backend", 0.0123, (file,), "1 dispatch"),
            StageReport("run", 0.0501),
        ),
        inspection=inspection(),
        dispatches=(DispatchReport("matmul_dispatch_0", "matmul", "builtin", SHA, SHA),),
        device=DeviceReport("emulated", "npu1 (Phoenix)"),
        policy="default",
        inputs=(InputReport("argument 0", TensorType((64, 16), "i32"), "64x16xi32=1"),),
        buffers=(BufferReport("result 0", "result 0", 16384, TYPE),),
        events=events,
        cycles=12345,
        accumulations=(Accumulation("linalg.matmul", HERE, "i32", 16, "exact modulo 2^32"),),
        comparisons=(compare("result 0", want, want, TYPE),),
        agreement=Agreement.PASS,
        repeat_with="aiepipe build-run mlir/matmul.mlir --seed 3",
        seeds={"inputs": 3, "coherency": 0},
        versions={"aiepipe": "0.1.0", "numpy": "2.4"},
    )


def wrong() -> BuildRunReport:
    """Two whole lines hold poison."""
    want = np.full((64, 64), 39, np.int32)
    got = want.copy()
    got.reshape(-1)[70 * 16 : 72 * 16] = np.frombuffer(POISON, np.int32)[0]
    comparison = compare("result 0", got, want, TYPE, poison=POISON)
    diagnosis = Diagnosis(
        "dirty-host-lines",
        "result 0",
        "wrong elements fill whole 64-byte lines of the buffer and hold the poison the host wrote before the "
        "run: dirty host cache lines written back over the device's result",
        ("2 of 2 lines are wrong as a whole",),
        Likelihood.LIKELY,
    )
    runs = [outcome([comparison] if i % 2 else []) for i in range(200)]
    return dataclasses.replace(
        right(),
        policy="no-output-presync",
        comparisons=(comparison,),
        diagnoses=(diagnosis,),
        statistics=summarise(runs),
        agreement=Agreement.FAIL,
        warnings=("IREE rewrote something",),
    )
