"""What every backend offers: one dispatch in, one artifact out; or, for compilers that read whole files
themselves, one file in, all its artifacts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from ..codegen.options import CompileOptions
from ..program import Artifact, CallingConvention, Dispatch, Program, TensorType

__all__ = ["AnyBackend", "Backend", "CompileOptions", "Design", "DesignBackend", "Linker", "ModuleBackend"]


@runtime_checkable
class Backend(Protocol):
    """A compiler of dispatches. `name` is what `--backend` takes."""

    @property
    def name(self) -> str: ...

    def compile(self, dispatch: Dispatch, *, options: CompileOptions) -> Artifact:
        """Raises CompileError (UnsupportedOp for an op without a lowering), UsageError for an option."""
        ...


@runtime_checkable
class Linker(Protocol):
    """A backend that makes one xclbin of all dispatches of a program."""

    def link(self, artifacts: Sequence[Artifact]) -> Sequence[Artifact]:
        """The same artifacts, in order, with the xclbin that they share."""
        ...


@runtime_checkable
class ModuleBackend(Protocol):
    """A compiler that reads the user's file itself and forms dispatches as our front end does."""

    @property
    def name(self) -> str: ...

    def compile_module(
        self, program: Program, dispatches: Sequence[Dispatch], *, options: CompileOptions
    ) -> Mapping[str, Artifact]:
        """An artifact for each of `dispatches`, by the dispatch's name.

        Raises CompileError where the compiler fails or its dispatches are not the program's,
        ArtifactError where what it left cannot be read, UsageError for an option.
        """
        ...


@dataclass(frozen=True, slots=True)
class Design:
    """What a compiler made of a device-level file: one kernel. `buffers` are the types of its data
    buffers, as its source declares them."""

    name: str
    kernel: str
    xclbin: bytes
    instructions: bytes
    convention: CallingConvention
    buffers: tuple[TensorType, ...]
    files: Mapping[str, bytes]
    notes: tuple[str, ...] = ()


@runtime_checkable
class DesignBackend(Protocol):
    """A compiler whose input is the array's configuration (the `aie` dialect), which IREE does not read."""

    @property
    def name(self) -> str: ...

    def compile_design(self, file: str, text: str, *, options: CompileOptions) -> Design:
        """Raises CompileError, ArtifactError, UsageError."""
        ...


@runtime_checkable
class External(Protocol):
    """A backend whose work is done by a program that the user may replace at any time."""

    def compiler_identity(self) -> str:
        """Text that changes when the program does. Raises UsageError where it is not there."""
        ...


def executable_identity(path: Path) -> str:
    """The file, its size and its time: another version is another of these, and none has to be run."""
    found = path.resolve().stat()
    return f"{path.resolve()} {found.st_size} {found.st_mtime_ns}"


AnyBackend = Backend | ModuleBackend | DesignBackend
