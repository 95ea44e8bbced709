"""The dataclasses that the stages hand on, from the MLIR source to the artifacts.

    SourceModule   what the user wrote: functions of tensor ops, read from the input MLIR (the reference
                   evaluates this one)
    Program        what IREE made of it: dispatches and the host's commands (backends and runner use this)
    Artifact       what a backend made of one dispatch (CpuKernel: what the host's CPU does instead)

All are frozen; nothing here computes. Ops keep MLIR's own names ("linalg.matmul", "arith.addi").
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from . import dtypes

Attribute = int | float | str | bool | bytes | None | tuple["Attribute", ...]


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A place in the user's file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class TensorType:
    """A static ranked tensor; a scalar is rank 0. `element` is MLIR's name ("i32", "bf16")."""

    shape: tuple[int, ...]
    element: str

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes in a buffer, sub-byte types packed."""
        return -(-self.count * dtypes.storage_bits(self.element) // 8)

    def __str__(self) -> str:
        return "x".join([*map(str, self.shape), self.element])


# --------------------------------------------------------------------------- tensor ops


@dataclass(frozen=True, slots=True)
class Value:
    """An SSA value; `id` is unique within its function or dispatch."""

    id: str
    type: TensorType


@dataclass(frozen=True, slots=True)
class AffineResult:
    """One result of an affine map: sum(coefficients[i] * d_i) + constant."""

    coefficients: tuple[int, ...]
    constant: int = 0

    @property
    def dim(self) -> int | None:
        """The loop dimension, where the result is just that dimension."""
        used = [i for i, c in enumerate(self.coefficients) if c]
        if self.constant == 0 and len(used) == 1 and self.coefficients[used[0]] == 1:
            return used[0]
        return None


@dataclass(frozen=True, slots=True)
class ScalarOp:
    """One op of a linalg body. `operands` index the body's values: its arguments, then earlier ops."""

    name: str
    operands: tuple[int, ...]
    element: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])


@dataclass(frozen=True, slots=True)
class ScalarBody:
    """The region of a linalg op: element types of its arguments (inputs, then inits), ops, yields."""

    arguments: tuple[str, ...]
    ops: tuple[ScalarOp, ...]
    yields: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Structured:
    """The generic form of a linalg op (named ops included).

    `maps` has one entry per input and init, each a tuple of results, one per tensor dimension (empty for
    a scalar operand). `iterators` has one of "parallel", "reduction", "window" per loop; `loops` their
    static trip counts.
    """

    input_count: int
    maps: tuple[tuple[AffineResult, ...], ...]
    iterators: tuple[str, ...]
    loops: tuple[int, ...]
    body: ScalarBody


@dataclass(frozen=True, slots=True)
class TensorOp:
    """An op on tensors. `operands` name values; `structured` is there for every linalg op.

    Attributes in use: arith.constant "value" (bytes as stored by `dtypes.pack`, of one element when
    "splat" is True); iree_tensor_ext.dispatch.tensor.load/store "binding", "offsets", "sizes", "strides"
    (ints); tensor.extract_slice/insert_slice the last three; tensor.pad "low", "high" (operands: source,
    padding); tensor.concat "dim"; expand/collapse_shape need only the result type. An op that we do not
    read has the attribute "unread": True (and, of a linalg op, what in its body is why as "unread_op");
    `inner` are the ops in its regions (scf.if, scf.for), as far as they can be read.
    """

    name: str
    operands: tuple[str, ...]
    results: tuple[Value, ...]
    location: SourceLocation
    attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    structured: Structured | None = None
    inner: tuple[TensorOp, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A public function of the input: its arguments as values, its ops in order, the ids it returns.

    `scalars` are the indices of arguments that are no tensors. A size that depends on one of them is -1
    here until its value is given (`Compiler.parse(scalars=...)`).
    """

    name: str
    arguments: tuple[Value, ...]
    ops: tuple[TensorOp, ...]
    returns: tuple[Value, ...]
    location: SourceLocation
    scalars: tuple[int, ...] = ()

    @property
    def every_op(self) -> tuple[TensorOp, ...]:
        """The ops and what is inside them, outer before inner."""
        return tuple(_with_inner(self.ops))


def _with_inner(ops: Sequence[TensorOp]) -> Iterator[TensorOp]:
    for op in ops:
        yield op
        yield from _with_inner(op.inner)


@dataclass(frozen=True, slots=True)
class RefusedFunction:
    """A public function that cannot be compiled (memrefs, a dynamic shape, ...), and why."""

    name: str
    message: str
    location: SourceLocation
    op: str | None = None
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class SourceModule:
    """The user's file: its name as given, its text, its public functions."""

    file: str
    text: str
    functions: tuple[SourceFunction, ...]
    refused: tuple[RefusedFunction, ...] = ()


# --------------------------------------------------------------------------- IREE's program


class Access(enum.Enum):
    """What a dispatch does with a binding."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "readwrite"

    @property
    def reads(self) -> bool:
        return self is not Access.WRITE

    @property
    def writes(self) -> bool:
        return self is not Access.READ


@dataclass(frozen=True, slots=True)
class Binding:
    """One buffer argument of a dispatch, in the kernel's order. `type` is the whole tensor behind it."""

    index: int
    type: TensorType
    access: Access


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A kernel to be compiled: its bindings and the tensor ops inside.

    `name` is unique in the program; `text` is its MLIR for people and external compilers.
    """

    name: str
    bindings: tuple[Binding, ...]
    ops: tuple[TensorOp, ...]
    text: str
    location: SourceLocation


class BufferKind(enum.Enum):
    """Where the bytes of a host-program buffer come from."""

    ARGUMENT = "argument"  # the caller's array
    RESULT = "result"  # allocated per call and returned
    TRANSIENT = "transient"  # allocated per call, not returned
    CONSTANT = "constant"  # initial bytes from the module
    GLOBAL = "global"  # filled at start-up, lives as long as the program


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer of the host program. `initial` is there for constants; `argument` is the index of the
    function argument behind an ARGUMENT buffer. `name` is for people and unique."""

    name: str
    kind: BufferKind
    size_bytes: int
    argument: int | None = None
    initial: bytes | None = None


@dataclass(frozen=True, slots=True)
class BufferSlice:
    """A byte range of a buffer, named by the buffer's name."""

    buffer: str
    offset_bytes: int
    length_bytes: int


@dataclass(frozen=True, slots=True)
class FillCommand:
    """The host writes `pattern` (1, 2 or 4 bytes) repeatedly over the target."""

    target: BufferSlice
    pattern: bytes
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class CopyCommand:
    """The host copies `source` to `target`; both are of one length."""

    source: BufferSlice
    target: BufferSlice
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class DispatchCommand:
    """Runs `dispatch` with one slice per binding."""

    dispatch: str
    bindings: tuple[BufferSlice, ...]
    location: SourceLocation


Command = FillCommand | CopyCommand | DispatchCommand


@dataclass(frozen=True, slots=True)
class Result:
    """What a function returns: `slice` of a buffer, or, for a scalar known at compile time, `value`."""

    type: TensorType
    slice: BufferSlice | None
    value: bytes | None = None


@dataclass(frozen=True, slots=True)
class HostFunction:
    """One public function: argument types in order, its own buffers, commands and results.

    `scalars` holds, for arguments that are no tensors, the values they were specialised to.
    """

    name: str
    arguments: tuple[TensorType, ...]
    buffers: tuple[Buffer, ...]
    commands: tuple[Command, ...]
    results: tuple[Result, ...]
    location: SourceLocation
    scalars: Mapping[int, bytes] = field(default_factory=dict[int, bytes])


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled module up to executable-sources.

    `globals` and `startup` are the module's initializers: they run once, before the first call.
    """

    source: SourceModule
    dispatches: tuple[Dispatch, ...]
    globals: tuple[Buffer, ...]
    startup: tuple[Command, ...]
    functions: tuple[HostFunction, ...]
    compiler: str
    flags: tuple[str, ...] = ()
    refused: tuple[RefusedFunction, ...] = ()


# --------------------------------------------------------------------------- artifacts


class CallingConvention(enum.Enum):
    """How the host calls a kernel (`kernels.json` of the two eras; docs/formats.md)."""

    LX6 = "lx6"  # (instr, ninstr, bo...)
    TXN = "txn"  # (opcode 3, instr, ninstr, bo...)


@dataclass(frozen=True, slots=True)
class Artifact:
    """What a backend made of one dispatch.

    `instructions` is the binary stream; `files` maps every file name that the backend leaves (the xclbin
    and stream included) to its bytes; `notes` are lines for `--explain`.
    """

    dispatch: str
    entry: str
    kernel: str
    xclbin: bytes
    instructions: bytes
    bindings: tuple[Binding, ...]
    convention: CallingConvention
    backend: str
    files: Mapping[str, bytes]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CpuKernel:
    """A dispatch that no backend has a kernel for and that the host's CPU does instead.

    `module` is an IREE module (.vmfb) for llvm-cpu. Its `function` takes the tensor of every binding and
    gives those of the bindings that are written, both in the bindings' order. `reason` says why it is here.
    """

    dispatch: str
    function: str
    module: bytes
    bindings: tuple[Binding, ...]
    reason: str
