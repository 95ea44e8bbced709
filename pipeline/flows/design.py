"""Designs in the `aie` dialect as programs: a compiler of designs builds them, all else is as ever.

Such a file says nothing of what it computes. Which buffers are inputs and which are results follows from
the instruction stream: a shim DMA that sends (MM2S) reads a buffer, one that receives (S2MM) writes it.
"""

from __future__ import annotations

from ..backends.protocol import CompileOptions, Design, DesignBackend
from ..description import Stream, Transfer
from ..errors import CompileError
from ..explain.stream import explain_stream
from ..formats.instructions import parse_instructions
from ..program import (
    Access,
    Artifact,
    Binding,
    Buffer,
    BufferKind,
    BufferSlice,
    Dispatch,
    DispatchCommand,
    HostFunction,
    Program,
    Result,
    SourceLocation,
    SourceModule,
)
from .program_directory import BuiltProgram
from .source import SourceText
from .stages import StageNotes

_SENDS, _RECEIVES = "MM2S", "S2MM"


def build_design(backend: DesignBackend, source: SourceText, epoch: int, notes: StageNotes) -> BuiltProgram:
    """The design as a program of one dispatch. Raises CompileError, ArtifactError, UsageError."""
    design = backend.compile_design(source.file, source.text, options=CompileOptions(source_date_epoch=epoch))
    notes.details += design.notes
    notes.note = f"kernel {design.kernel}"
    return design_program(source, design, backend.name)


def design_program(source: SourceText, design: Design, backend: str) -> BuiltProgram:
    """The design with its buffers as arguments (what it reads) and results (what it writes).

    A buffer that it reads and writes is an argument whose new content is a result. Raises CompileError
    where the stream uses a buffer that the design does not declare.
    """
    location = SourceLocation(source.file, 1, 1)
    accesses = buffer_accesses(design)
    bindings = tuple(
        Binding(i, type_, accesses.get(i, Access.READ_WRITE)) for i, type_ in enumerate(design.buffers)
    )
    read = [b for b in bindings if b.access.reads and b.index in accesses]
    arguments = {b.index: position for position, b in enumerate(read)}
    written = [b for b in bindings if b.access.writes and b.index in accesses]
    names: dict[int, str] = {}
    buffers: list[Buffer] = []
    for binding in bindings:
        index, size = binding.index, binding.type.size_bytes
        if index in arguments:
            names[index] = f"arg{arguments[index]}"
            buffers.append(Buffer(names[index], BufferKind.ARGUMENT, size, arguments[index]))
        elif binding in written:
            names[index] = f"result{written.index(binding)}"
            buffers.append(Buffer(names[index], BufferKind.RESULT, size))
        else:
            names[index] = f"unused{index}"
            buffers.append(Buffer(names[index], BufferKind.TRANSIENT, size))
    slices = {b.index: BufferSlice(names[b.index], 0, b.type.size_bytes) for b in bindings}
    dispatch = Dispatch(design.name, bindings, (), source.text, location)
    function = HostFunction(
        name=design.name,
        arguments=tuple(b.type for b in read),
        buffers=tuple(buffers),
        commands=(DispatchCommand(design.name, tuple(slices[b.index] for b in bindings), location),),
        results=tuple(Result(b.type, slices[b.index]) for b in written),
        location=location,
    )
    program = Program(
        source=SourceModule(source.file, source.text, ()),
        dispatches=(dispatch,),
        globals=(),
        startup=(),
        functions=(function,),
        compiler=backend,
    )
    artifact = Artifact(
        dispatch=design.name,
        entry=design.name,
        kernel=design.kernel,
        xclbin=design.xclbin,
        instructions=design.instructions,
        bindings=bindings,
        convention=design.convention,
        backend=backend,
        files=design.files,
        notes=design.notes,
    )
    return BuiltProgram(program, {design.name: artifact})


def buffer_accesses(design: Design) -> dict[int, Access]:
    """What the array does with each data buffer that it touches, by the buffer's place."""
    stream: Stream = explain_stream(parse_instructions(design.instructions), design.instructions)
    found: dict[int, set[str]] = {}
    for transfer in stream.transfers:
        argument = _argument(transfer)
        if argument is not None:
            found.setdefault(argument, set()).add(str(transfer.task.channel).split()[0])
    most = max(found, default=-1)
    if most >= len(design.buffers):
        raise CompileError(
            f"the stream uses data buffer {most}, the runtime sequence has {len(design.buffers)}",
            location=design.name,
            op="aie.runtime_sequence",
        )
    kinds = {frozenset({_SENDS}): Access.READ, frozenset({_RECEIVES}): Access.WRITE}
    return {argument: kinds.get(frozenset(ways), Access.READ_WRITE) for argument, ways in found.items()}


def _argument(transfer: Transfer) -> int | None:
    return None if transfer.descriptor is None else transfer.descriptor.argument
