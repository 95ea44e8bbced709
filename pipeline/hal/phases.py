"""Compiles to the HAL phase and inspects the result; runs in the worker process.

The HAL IR of the host program does not depend on what is inside its executables, so their bodies are emptied
after dispatch formation: IREE then reaches the phase in a tenth of a second instead of generating CPU code.
Before that they are read, for a builtin's operands can only be understood with its body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import CompileError
from ..frontend import mlir
from ..frontend.dispatches import DispatchTable, entry_point
from ..frontend.extraction import in_the_users_words, refused_error
from ..frontend.flags import option_name, with_defaults
from ..frontend.location import locations
from ..frontend.mlir import Operation
from ..frontend.passes import drop_empty_loops, keep_functions
from ..frontend.session import DEFAULT_FLAGS, Session
from ..frontend.source import Scalars, read_source, specialise
from ..program import SourceLocation, SourceModule
from ..verdict import Inspection
from .builtins import BuiltinReader, is_builtin_fill
from .fates import DispatchBody, fates
from .history import PHASES, History, HistoryRecorder
from .interpretation import HalReader
from .operations import buffer_operations
from .outputs import OutputReader

# IREE evaluates what is constant with a compiler of its own, which takes half a second even where there are
# only fills, which it then leaves alone. So that is tried only where start-up computes something.
_EVALUATION = "--iree-opt-const-eval"
_SOURCES = "executable-sources"
_HAL = "hal"


def inspect_module(
    file: str,
    text: str,
    flags: Sequence[str],
    scalars: Scalars,
    functions: Sequence[str] | None,
) -> Inspection:
    """The inspection of one file. Raises CompileError, UsageError."""
    chosen_by_user = _EVALUATION in [option_name(flag) for flag in flags]
    first = flags if chosen_by_user else [f"{_EVALUATION}=false", *flags]
    session, source, history = _to_sources(file, text, first, scalars, functions)
    if not chosen_by_user and _computes_at_start_up(session.module):
        session, source, history = _to_sources(file, text, flags, scalars, functions)
    copy = mlir.clone(session.module)
    empty_executables(session.module, session)
    session.run(_HAL, since=_SOURCES)
    table = DispatchTable(copy, file, session.context)
    reader = HalReader(session.module, file, session.context)
    reader.read()
    operations = buffer_operations(reader, source, BuiltinReader(table))
    found_fates = fates(source, operations, _bodies(table, file), reader.happenings, history)
    outputs = OutputReader(reader, operations, table, found_fates)
    return Inspection(
        operations=tuple(found.operation for found in operations),
        fates=found_fates,
        dispatches=tuple(dict.fromkeys(dispatch.name for dispatch in reader.dispatches)),
        outputs=outputs.histories(),
        sharing=outputs.sharing(),
    )


def _to_sources(
    file: str, text: str, flags: Sequence[str], scalars: Scalars, functions: Sequence[str] | None
) -> tuple[Session, SourceModule, History]:
    """Dispatches are formed, and their bodies are still linalg; how each fill got here."""
    session = Session(file, text, with_defaults(DEFAULT_FLAGS, flags))
    source = _chosen(session, read_source(session, scalars), functions)
    specialise(session, source, scalars)
    drop_empty_loops(session.module)
    recorder = HistoryRecorder(source, file)
    since = None
    try:
        for phase in (*PHASES, _SOURCES):
            session.run(phase, since=since)
            since = phase
            if phase in PHASES:
                recorder.record(phase, session.module)
    except CompileError as error:
        raise in_the_users_words(error, source) from None
    return session, source, recorder.history


def _computes_at_start_up(module: Operation) -> bool:
    """Whether an initializer dispatches more than a builtin fill."""
    return any(
        op.name == "stream.cmd.dispatch" and not is_builtin_fill(entry_point(op)[-1])
        for initializer in mlir.children(module)
        if initializer.name == "util.initializer"
        for op in mlir.descendants(initializer)
    )


def _chosen(session: Session, source: SourceModule, functions: Sequence[str] | None) -> SourceModule:
    """Leaves the functions to inspect in the module; the ones that cannot be read are left out."""
    refused = {found.name: found for found in source.refused}
    readable = [f.name for f in source.functions]
    for name in functions or ():
        if name in refused:
            raise refused_error(refused[name])
        if name not in readable:
            raise CompileError(
                f"there is no public function @{name}",
                location=session.file,
                remedy=f"the file has {', '.join('@' + f for f in readable)}",
            )
    kept = readable if functions is None else list(functions)
    if not kept:
        raise refused_error(next(iter(refused.values())))
    keep_functions(session.module, kept)
    chosen = tuple(f for f in source.functions if f.name in kept)
    return SourceModule(source.file, source.text, chosen, source.refused)


def empty_executables(module: Operation, session: Session) -> None:
    """Takes the code out of all executables, and makes each export one workgroup."""
    # an export's region holds ops too: nothing that is about to go may be looked at again, or crashes
    inside = [op for e in mlir.children(module) if e.name == "hal.executable" for op in mlir.descendants(e)]
    functions = [op for op in inside if op.name == "func.func"]
    exports = [op for op in inside if op.name == "hal.executable.export"]
    del inside
    for function in functions:
        for op in reversed(mlir.children(function)[:-1]):
            op.erase()
    for export in exports:
        mlir.replace_by_one_workgroup(export, session.context)


def _bodies(table: DispatchTable, file: str) -> Mapping[str, DispatchBody]:
    """What is in each dispatch: the places it comes from and its main op."""
    found: dict[str, DispatchBody] = {}
    for path, body in table.bodies.items():
        places: set[SourceLocation] = set()
        kind = ""
        for op in mlir.children(body):
            # bindings and loads carry the location of what they feed, or of the whole function
            if not op.name.startswith(("hal.", "iree_tensor_ext.", "func.")):
                places.update(locations(op.location, file))
            if op.name.startswith("linalg.") and (not kind or kind == "linalg.fill"):
                kind = op.name
        found[path[-1]] = DispatchBody(path[-1], kind, frozenset(places))
    return found
