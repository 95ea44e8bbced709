"""The HAL host program, walked with buffers as names: what is filled, copied, updated and dispatched.

Each block of a function is visited once, in order, with what is known of its arguments; branches whose
condition is known are followed, others are taken both ways. A command buffer keeps what is recorded into it
until it is submitted, where its slots get their buffers; what is never seen submitted is reported at last
with its slots open, so that nothing is missed. Source: iree/compiler/Dialect/HAL/IR/HALOps.td of 3.13, and
IREE's output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..frontend import mlir
from ..frontend.arithmetic import Number, evaluate
from ..frontend.constants import scalar
from ..frontend.location import locations, place
from ..frontend.mlir import Block, Context, Operation
from .happenings import DispatchRun, Happening, Place, Recorded, Returned, Touch, resolved, settled
from .values import (
    UNKNOWN,
    ArgumentView,
    BufferRange,
    CommandBuffer,
    EntryPoint,
    HalBuffer,
    HalValue,
    View,
    alternatives,
    sum_known,
)

CALL_DEPTH = 32
START_UP = "start-up"
EACH_CALL = "each call"

# op -> (kind, positions of target, its offset, the length, the pattern); -1 where there is none
_TOUCHING = {
    "hal.command_buffer.fill_buffer": ("fill", 1, 2, 3, 4),
    "hal.command_buffer.copy_buffer": ("copy", 3, 4, 5, -1),
    "hal.command_buffer.update_buffer": ("update", 4, 5, 6, -1),
    "hal.device.queue.fill": ("fill", 4, 5, 6, 7),
    "hal.device.queue.copy": ("copy", 6, 7, 8, -1),
    "hal.device.queue.update": ("update", 6, 7, 8, -1),
    "hal.device.queue.read": ("update", 6, 7, 8, -1),
}
# the same for the source of a copy: its buffer and offset
_COPY_SOURCE = {"hal.command_buffer.copy_buffer": (1, 2), "hal.device.queue.copy": (4, 5)}
_DISPATCH = "hal.command_buffer.dispatch"


class HalReader:
    """Reads one module; `happenings`, `returned` and `dispatches` hold what was found."""

    def __init__(self, module: Operation, file: str, context: Context) -> None:
        self.happenings: list[Happening] = []
        self.returned: list[Returned] = []
        self._module = module
        self._file = file
        self._context = context
        self._operations = mlir.children(module)
        self._functions = {
            mlir.string(op, "sym_name"): op for op in self._operations if op.name == "util.func"
        }
        self._globals: dict[str, HalValue] = {}
        self._arguments: dict[tuple[str, int], HalBuffer] = {}
        self._values: dict[mlir.Value, HalValue] = {}
        self._buffers: list[CommandBuffer] = []
        self._function = ""
        self._when = START_UP
        self._depth = 0
        self._handlers: dict[str, Callable[[Operation], None]] = {
            "arith.constant": self._constant,
            "arith.select": self._select,
            "util.global.load": self._global_load,
            "util.global.store": self._global_store,
            "util.call": self._call,
            "hal.buffer_view.buffer": self._view_buffer,
            "hal.buffer_view.create": self._view_create,
            "hal.buffer.subspan": self._subspan,
            "hal.device.queue.alloca": self._allocate,
            "hal.allocator.allocate": self._allocate,
            "hal.allocator.import": self._import,
            "hal.command_buffer.create": self._command_buffer,
            "hal.executable.lookup.function": self._lookup,
            "hal.executable.export.ordinal": self._lookup,
            "hal.device.queue.execute": self._execute,
            "hal.device.queue.execute.indirect": self._execute,
            _DISPATCH: self._dispatch,
        }

    @property
    def dispatches(self) -> list[DispatchRun]:
        """The dispatches that happen, builtins included."""
        return [h.what for h in self.happenings if isinstance(h.what, DispatchRun)]

    def read(self) -> None:
        """Walks initializers, then public functions, then what neither of them submits."""
        for op in self._operations:
            if op.name == "util.initializer":
                self._function, self._when = "initializer", START_UP
                self._run(op, ())
        for name, op in self._functions.items():
            visibility = mlir.attribute(op, "sym_visibility")
            if visibility is None or str(visibility) == '"public"':
                self._read_function(name, op)
        for buffer in self._buffers:
            if not buffer.executed:
                self.happenings += [Happening(what, buffer.function, EACH_CALL) for what in buffer.recorded]
        # loops and branches are known as a whole only now
        self.happenings = [replace(found, what=settled(found.what)) for found in self.happenings]
        self.returned = [found for each in self.returned for found in _settled(each)]

    # ----------------------------------------------------------------- control flow

    def _read_function(self, name: str, op: Operation) -> None:
        if not op.regions[0].blocks:
            return
        self._function, self._when = name, EACH_CALL
        arguments: list[HalValue] = []
        for index, argument in enumerate(op.regions[0].blocks[0].arguments):
            is_view = str(argument.type) == "!hal.buffer_view"
            arguments.append(ArgumentView(index) if is_view else UNKNOWN)
        for index, value in enumerate(self._run(op, arguments)):
            if isinstance(value, View):
                self.returned.append(Returned(name, index, value.range))
            elif isinstance(value, ArgumentView):
                buffer = self._argument_buffer(value.index)
                self.returned.append(Returned(name, index, BufferRange(buffer)))

    def _run(self, op: Operation, arguments: Sequence[HalValue]) -> tuple[HalValue, ...]:
        blocks = mlir.blocks(op)
        entry = next(iter(blocks), None)
        if entry is None:
            return ()
        known: dict[Block, list[HalValue]] = {entry: list(arguments)}
        joined, loops = _joints(blocks)
        returned: tuple[HalValue, ...] | None = None
        for block, ops in blocks.items():
            if block not in known:
                continue
            for parameter, value in zip(block.arguments, known[block], strict=False):
                self._values[parameter] = value
            for inner in ops[:-1]:
                self._step(inner)
            last = ops[-1]
            if last.name == "util.return" and returned is None:
                returned = tuple(self._value(value) for value in last.operands)
            for target, values in self._branches(last):
                if target in known:
                    self._merge(known[target], values)
                else:
                    opened = [self._opened(v, loop=target in loops) for v in values]
                    known[target] = opened if target in joined else values
        return returned or ()

    def _opened(self, value: HalValue, *, loop: bool) -> HalValue:
        """What one edge says about an argument of a block that others lead to, too."""
        if isinstance(value, ArgumentView):
            value = View(BufferRange(self._argument_buffer(value.index)))
        if isinstance(value, View):
            return View(_choice(value.range))
        if isinstance(value, BufferRange):
            return _choice(value)
        # a number changes from round to round
        return UNKNOWN if loop and isinstance(value, Number) else value

    def _merge(self, before: list[HalValue], values: Sequence[HalValue]) -> None:
        """Adds what another edge says about a block's arguments."""
        for position, (old, new) in enumerate(zip(before, values, strict=False)):
            if isinstance(new, ArgumentView):
                new = View(BufferRange(self._argument_buffer(new.index)))  # noqa: PLW2901
            if isinstance(old, View) and isinstance(new, View):
                old.range.buffer.one_of.append(new.range)
            elif isinstance(old, BufferRange) and isinstance(new, BufferRange):
                old.buffer.one_of.append(new)
            elif isinstance(old, Number) and old != new:
                before[position] = UNKNOWN
            elif old is UNKNOWN and not isinstance(new, Number):
                before[position] = self._opened(new, loop=False)

    def _branches(self, op: Operation) -> list[tuple[Block, list[HalValue]]]:
        targets = list(op.successors)
        operands = [self._value(value) for value in op.operands]
        if op.name == "cf.br":
            return [(targets[0], operands)]
        if op.name != "cf.cond_br":
            return [(target, []) for target in targets]
        count = mlir.integers(op, "operandSegmentSizes")[1]
        both = [(targets[0], operands[1 : 1 + count]), (targets[1], operands[1 + count :])]
        condition = operands[0]
        if isinstance(condition, Number):
            return both[:1] if condition.bits else both[1:]
        return both

    def _step(self, op: Operation) -> None:
        name = op.name
        handler = self._handlers.get(name)
        if handler is not None:
            handler(op)
        elif name in _TOUCHING:
            self._touch(op)
        else:
            value = self._computed(op)
            for result in op.results:
                self._values[result] = value

    def _computed(self, op: Operation) -> HalValue:
        numbers = [self._value(value) for value in op.operands]
        known = [n for n in numbers if isinstance(n, Number)]
        if len(op.results) != 1 or len(known) != len(numbers) or not known:
            return UNKNOWN
        predicate = mlir.integer(op, "predicate") if op.name == "arith.cmpi" else None
        return evaluate(op.name, known, str(op.results[0].type), predicate) or UNKNOWN

    def _call(self, op: Operation) -> None:
        callee = self._functions.get(mlir.symbol_path(str(op.attributes["callee"]))[0])
        results: tuple[HalValue, ...] = ()
        if callee is not None and self._depth < CALL_DEPTH:
            self._depth += 1
            results = self._run(callee, [self._value(value) for value in op.operands])
            self._depth -= 1
        for position, result in enumerate(op.results):
            self._values[result] = results[position] if position < len(results) else UNKNOWN

    # ----------------------------------------------------------------- values

    def _value(self, value: mlir.Value) -> HalValue:
        return self._values.get(value, UNKNOWN)

    def _size(self, value: mlir.Value) -> int | None:
        found = self._value(value)
        return found.signed if isinstance(found, Number) else None

    def _range(self, value: mlir.Value) -> BufferRange | None:
        found = self._value(value)
        return found if isinstance(found, BufferRange) else None

    def _constant(self, op: Operation) -> None:
        found = scalar(op.attributes["value"], str(op.results[0].type), self._context)
        self._values[op.results[0]] = UNKNOWN if found is None else found

    def _select(self, op: Operation) -> None:
        condition, first, second = (self._value(value) for value in op.operands)
        if isinstance(condition, Number):
            chosen = first if condition.bits else second
        else:
            # either is possible; of a handle and null, the handle is what gets used
            chosen = second if first is UNKNOWN else first
            chosen = UNKNOWN if isinstance(chosen, Number) else chosen
            if isinstance(first, BufferRange) and isinstance(second, BufferRange):
                chosen = BufferRange(HalBuffer(one_of=[first, second]))
        self._values[op.results[0]] = chosen

    def _global_load(self, op: Operation) -> None:
        name = mlir.symbol_path(str(op.attributes["global"]))[0]
        self._values[op.results[0]] = self._globals.get(name, UNKNOWN)

    def _global_store(self, op: Operation) -> None:
        name = mlir.symbol_path(str(op.attributes["global"]))[0]
        value = self._value(op.operands[0])
        if isinstance(value, BufferRange) and value.buffer.global_name is None and not value.buffer.one_of:
            value.buffer.global_name = name
        self._globals[name] = value

    def _argument_buffer(self, index: int) -> HalBuffer:
        return self._arguments.setdefault((self._function, index), HalBuffer(argument=index))

    def _view_buffer(self, op: Operation) -> None:
        view = self._value(op.operands[0])
        found: HalValue = UNKNOWN
        if isinstance(view, ArgumentView):
            found = BufferRange(self._argument_buffer(view.index))
        elif isinstance(view, View):
            found = view.range
        self._values[op.results[0]] = found

    def _view_create(self, op: Operation) -> None:
        source = self._range(op.operands[0])
        if source is None:
            self._values[op.results[0]] = UNKNOWN
        else:
            offset = sum_known(source.offset_bytes, self._size(op.operands[1]))
            self._values[op.results[0]] = View(BufferRange(source.buffer, offset, self._size(op.operands[2])))

    def _subspan(self, op: Operation) -> None:
        source = self._range(op.operands[0])
        if source is not None:
            offset = sum_known(source.offset_bytes, self._size(op.operands[1]))
            self._values[op.results[0]] = BufferRange(source.buffer, offset, self._size(op.operands[2]))

    def _allocate(self, op: Operation) -> None:
        size = self._size(op.operands[len(op.operands) - 1])
        self._values[op.results[0]] = BufferRange(HalBuffer(size_bytes=size))

    def _import(self, op: Operation) -> None:
        """Memory of the module as a buffer: the import succeeds, so the branch that copies is not taken."""
        self._values[op.results[0]] = Number(1, "i1")
        self._values[op.results[1]] = BufferRange(HalBuffer())

    def _lookup(self, op: Operation) -> None:
        name = mlir.symbol_path(str(op.attributes["entry_point"]))[-1]
        self._values[op.results[0]] = EntryPoint(name)

    def _command_buffer(self, op: Operation) -> None:
        made = CommandBuffer(self._function)
        self._buffers.append(made)
        self._values[op.results[0]] = made

    # ----------------------------------------------------------------- what happens

    def _place(self, buffer: mlir.Value, offset: mlir.Value, length: mlir.Value | None) -> Place:
        size = None if length is None else self._size(length)
        start = self._size(offset)
        found = self._value(buffer)
        if isinstance(found, BufferRange):
            return Place(found.buffer, sum_known(found.offset_bytes, start), size)
        # an index names a slot of the command buffer's binding table
        slot = found.bits if isinstance(found, Number) and str(buffer.type) == "index" else None
        return Place(None, start, size, slot)

    def _touch(self, op: Operation) -> None:
        kind, target, offset, length, pattern = _TOUCHING[op.name]
        operands = op.operands
        source = _COPY_SOURCE.get(op.name)
        value = self._value(operands[pattern]) if pattern >= 0 else UNKNOWN
        touch = Touch(
            form=op.name,
            kind=kind,
            target=self._place(operands[target], operands[offset], operands[length]),
            source=source and self._place(operands[source[0]], operands[source[1]], operands[length]),
            pattern=value if isinstance(value, Number) else None,
            pattern_type=str(operands[pattern].type) if pattern >= 0 else None,
            location=place(op, self._file),
            places=frozenset(locations(op.location, self._file)),
        )
        self._note(touch, op)

    def _dispatch(self, op: Operation) -> None:
        segments = mlir.integers(op, "operandSegmentSizes")
        groups: list[list[mlir.Value]] = []
        position = 0
        for count in segments:
            groups.append([*op.operands][position : position + count])
            position += count
        entry = self._value(groups[2][0])
        constants = [self._value(value) for value in groups[6]]
        run = DispatchRun(
            name=entry.name if isinstance(entry, EntryPoint) else "a dispatch whose entry is not known",
            constants=tuple(c if isinstance(c, Number) else None for c in constants),
            bindings=tuple(self._place(*part) for part in zip(*groups[7:10], strict=True)),
            location=place(op, self._file),
            places=frozenset(locations(op.location, self._file)),
        )
        self._note(run, op)

    def _note(self, what: Recorded, op: Operation) -> None:
        first = self._value(op.operands[0])
        if isinstance(first, CommandBuffer):
            first.recorded.append(what)
        else:
            self.happenings.append(Happening(what, self._function, self._when))

    def _execute(self, op: Operation) -> None:
        commands = self._value(op.operands[4])
        if not isinstance(commands, CommandBuffer):
            return
        rest = [*op.operands][5:]
        count = len(rest) // 3
        slots = [self._place(rest[i], rest[count + i], rest[2 * count + i]) for i in range(count)]
        commands.executed = True
        for what in commands.recorded:
            self.happenings.append(Happening(resolved(what, slots), self._function, self._when))


def _joints(blocks: Mapping[Block, Sequence[Operation]]) -> tuple[set[Block], set[Block]]:
    """The blocks that several edges lead to, and those of them that begin a loop."""
    order = {block: number for number, block in enumerate(blocks)}
    edges = [(order[block], target) for block, ops in blocks.items() for target in ops[-1].successors]
    counts = Counter(target for _, target in edges)
    return (
        {target for target, count in counts.items() if count > 1},
        {target for source, target in edges if order[target] <= source},
    )


def _choice(first: BufferRange) -> BufferRange:
    return BufferRange(HalBuffer(one_of=[first]), 0, first.length_bytes)


def _settled(returned: Returned) -> list[Returned]:
    """A result for each range that it may lie in."""
    return [replace(returned, range=found) for found in alternatives(returned.range)]
