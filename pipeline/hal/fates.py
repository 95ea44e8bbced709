"""What became of each fill of the source: by location first, else by the ops that use it.

A fill may have several fates: fused into dispatches, and a host fill where its result is also returned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..program import SourceFunction, SourceLocation, SourceModule, TensorOp
from ..verdict import BufferOperation, FillFate, FillStage
from .builtins import is_builtin_fill
from .decoding import scalar_value
from .happenings import DispatchRun, Happening
from .operations import FILLING_OPS, Located

GONE = "gone"
_HOST_STAGE = "hal"
_FUSED_STAGE = "dispatch-creation"
_FOLDED_STAGE = "global-optimization"


@dataclass(frozen=True, slots=True)
class DispatchBody:
    """A dispatch by its export's name, its main op, and the places of the source that its ops come from."""

    name: str
    kind: str
    places: frozenset[SourceLocation]


def fates(
    source: SourceModule,
    operations: Sequence[Located],
    bodies: Mapping[str, DispatchBody],
    happenings: Sequence[Happening],
    history: Mapping[int, tuple[FillStage, ...]],
) -> tuple[FillFate, ...]:
    """One fate per linalg.fill, splat constant and tensor.pad of the source, in order."""
    total = Counter(h.what.name for h in happenings if isinstance(h.what, DispatchRun))
    fills = Counter(op.location for _, op in source_fills(source))
    found: list[FillFate] = []
    for function, op in source_fills(source):
        runs = [h.what for h in happenings if isinstance(h.what, DispatchRun) and h.function == function.name]
        own = Counter(run.name for run in runs)
        mine = operations
        if fills[op.location] > 1:  # inlined into several functions: the place of the function tells
            others = frozenset(other.location for other in source.functions) - {function.location}
            mine = [o for o in operations if function.location in o.places or not others & o.places]
        host, fused = _traces(op, function, mine, bodies)
        shared = _shared(op, function, runs, bodies, frozenset(fills))
        fused = list({body.name: body for body in (*fused, *shared)}.values())
        if not host and not fused:
            host = _of_globals(op, function, happenings, operations)
        fate = _fate(op, function, host, [(body, own[body.name] or total[body.name]) for body in fused])
        before = history.get(id(op), ())
        found.append(replace(fate, history=(*before, *_last(host, fused))))
    return tuple(found)


def source_fills(source: SourceModule) -> Iterator[tuple[SourceFunction, TensorOp]]:
    """The ops of the source that give every element of a tensor one value, with their functions."""
    for function in source.functions:
        for op in function.every_op:
            splat = op.name == "arith.constant" and bool(op.attributes.get("splat"))
            if splat or (op.name != "arith.constant" and op.name in FILLING_OPS):
                yield function, op


def users_of(op: TensorOp, function: SourceFunction) -> list[TensorOp]:
    """The ops that take a result of `op`."""
    results = {result.id for result in op.results}
    return [other for other in function.every_op if results & set(other.operands)]


def role(op: TensorOp, function: SourceFunction) -> str:
    """What the source uses a fill for."""
    results = {result.id for result in op.results}
    parts: list[str] = []
    for user in users_of(op, function):
        body = user.structured
        inits = () if body is None else user.operands[body.input_count :]
        summed = body is not None and any(iterator != "parallel" for iterator in body.iterators)
        what = "accumulator" if summed and results & set(inits) else "operand"
        parts.append(f"{what} of {user.name}")
    parts += [f"result {i}" for i, value in enumerate(function.returns) if value.id in results]
    return ", ".join(dict.fromkeys(parts)) or "unused"


def _last(host: Sequence[BufferOperation], fused: Sequence[DispatchBody]) -> list[FillStage]:
    """The entries of the last phase, from what the HAL reader found."""
    found = [
        FillStage(
            _HOST_STAGE,
            operation.form,
            "start-up" if operation.when == "start-up" else f"@{operation.function}",
        )
        for operation in host
    ]
    found += [FillStage(_HOST_STAGE, "fused", f"dispatch {body.name}") for body in fused]
    return found or [FillStage(_HOST_STAGE, GONE, "")]


def _traces(
    op: TensorOp,
    function: SourceFunction,
    operations: Sequence[Located],
    bodies: Mapping[str, DispatchBody],
) -> tuple[list[BufferOperation], list[DispatchBody]]:
    """The host fills and the dispatches that a fill became: by its location, else by those of its users.

    Folding a fill into its user (a concat, a zero accumulator) leaves only the user's location.
    """
    fills = [located for located in operations if located.operation.kind == "fill"]
    fusing = [body for body in bodies.values() if not is_builtin_fill(body.name)]
    host = [located.operation for located in fills if op.location in located.places]
    fused = [body for body in fusing if op.location in body.places]
    if host or fused:
        return host, fused
    users = {other.location for other in users_of(op, function)}
    value = _value(op, function)
    host = [
        located.operation
        for located in fills
        if users & located.places and located.operation.value in (value, None)
    ]
    return host, [body for body in fusing if users & body.places]


def _shared(
    op: TensorOp,
    function: SourceFunction,
    runs: Sequence[DispatchRun],
    bodies: Mapping[str, DispatchBody],
    fills: frozenset[SourceLocation],
) -> list[DispatchBody]:
    """The dispatches that hold this fill though they are made of another function's ops.

    IREE keeps one of several equal dispatches, with the places of the first; only its run has ours.
    """
    users = {other.location for other in users_of(op, function)}
    found = [bodies[run.name] for run in runs if run.name in bodies and users & run.places]
    return [
        body
        for body in found
        if not is_builtin_fill(body.name) and not users & body.places and fills & body.places
    ]


def _of_globals(
    op: TensorOp, function: SourceFunction, happenings: Sequence[Happening], operations: Sequence[Located]
) -> list[BufferOperation]:
    """The fills of globals that the function reads for this fill: IREE keeps one of several equal ones."""
    places = {op.location, *(other.location for other in users_of(op, function))}
    read: set[str] = set()
    for what in (h.what for h in happenings if h.function == function.name and places & h.what.places):
        sources = what.bindings if isinstance(what, DispatchRun) else (what.source,)
        read.update(
            f"global @{s.buffer.global_name}" for s in sources if s and s.buffer and s.buffer.global_name
        )
    value = _value(op, function)
    found = [located.operation for located in operations]
    return [o for o in found if o.kind == "fill" and o.target in read and value and o.value == value]


def _fate(
    op: TensorOp,
    function: SourceFunction,
    fills: Sequence[BufferOperation],
    fused: Sequence[tuple[DispatchBody, int]],
) -> FillFate:
    parts: list[str] = []
    if fused:
        parts.append("fused into " + " and ".join(_dispatch_text(body, runs) for body, runs in fused))
    parts += [_operation_text(operation) for operation in fills]
    decided = _FUSED_STAGE if fused else _FOLDED_STAGE
    return FillFate(
        source_op=op.name,
        function=function.name,
        location=op.location,
        element=op.results[0].type.element,
        value=_value(op, function),
        fate="; ".join(parts) if parts else "folded away: nothing is filled for it",
        stage=_HOST_STAGE if fills else decided,
        role=role(op, function),
    )


def _dispatch_text(body: DispatchBody, runs: int) -> str:
    kind = body.kind.removeprefix("linalg.")
    times = f", run {runs} times" if runs > 1 else ""
    return f"dispatch {body.name}" + (f" ({kind}{times})" if kind or times else "")


def _operation_text(operation: BufferOperation) -> str:
    start, length = operation.offset_bytes, operation.length_bytes
    where = operation.target
    if start is not None and length is not None:
        where = f"bytes [{start}, {start + length}) of {where}"
    when = "at start-up" if operation.when == "start-up" else "at each call"
    return f"{operation.form} of {where} {when}"


def _value(op: TensorOp, function: SourceFunction) -> str | None:
    """The value that the source fills with; None where it is an argument."""
    element = op.results[0].type.element
    attribute = op.attributes.get("value")
    if op.name != "arith.constant":
        name = op.operands[1] if op.name == "tensor.pad" else op.operands[0]
        attribute = next(
            (
                other.attributes.get("value")
                for other in function.every_op
                if other.name == "arith.constant" and other.results[0].id == name
            ),
            None,
        )
    return scalar_value(attribute, element) if isinstance(attribute, bytes) else None
