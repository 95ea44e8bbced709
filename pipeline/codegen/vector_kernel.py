"""The inner kernel: a tile of the result += tile of A times tile of B, software-pipelined.

Both operands stand in the core's memory in the multiplier's blocks. The result is computed in groups of
blocks whose accumulators are in registers; a group runs over the whole inner length of the tile, one
matrix product per bundle. Two sets of accumulators take turns, so that while one group multiplies, the
one before is stored and the one after is loaded, and while one inner step multiplies, the operands of the
next are loaded. The code of a group is the same for all (pointers move in two dimensions by themselves),
so that it is written out for a few and the middle becomes a zero-overhead loop.

Times are in bundles; an operand register is loaded while it is still read (facts/aie2-isa.md 2.2: a read
before the latency is over sees the old value, which is what compilers' pipelined loops do, too).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from .matrix_modes import BLOCK_ROWS, VECTOR_BYTES, Accumulator, MatrixMode

LOAD_LATENCY = 7
SHUFFLE_LATENCY = 2
"""Bundles until a multiplication may read what vshuffle made."""

# bundles from a load of an accumulator until a multiplication may add to it (the load's latency, less the
# two bundles that the unit reads accumulators later), and from the multiplication until a store may read it
_LOADED_AFTER = {Accumulator.LANES32: 5, Accumulator.LANES64: 7, Accumulator.FLOAT: 5}
_STORED_AFTER = {Accumulator.LANES32: 5, Accumulator.LANES64: 5, Accumulator.FLOAT: 6}

VECTOR_REGISTERS = 12
LEFT_POINTER, RIGHT_POINTER, LOAD_POINTER, STORE_POINTER = "p0", "p1", "p2", "p3"
_LEFT_WALK, _RIGHT_WALK, _LOAD_WALK, _STORE_WALK = 0, 1, 2, 3
_FREE_MODIFIERS = ("m4", "m5", "m6", "m7")
MODE_WORD, LEFT_SHUFFLE, RIGHT_SHUFFLE = "r16", "r17", "r18"
ZERO_SHIFT = "s0"

_IMMEDIATES = {"lda": range(-2048, 2048, 32), "ldb": range(-256, 256, 32), "st": range(-2048, 2048, 32)}
_NARROW_IMMEDIATES = range(-256, 256, 32)
"""Of accesses that convert."""

_GROUPS_WRITTEN_OUT = 6
"""Groups that are scheduled one by one before the middle is made a loop."""


@dataclass(frozen=True, slots=True)
class KernelShape:
    """A tile of `rows` x `inner` by `inner` x `columns`, each a multiple of the mode's group or block.

    `left_transposed`: A stands as blocks of `inner` rows of four of its columns; otherwise, for each
    block of inner values, all its rows. `right_transposed`: for each block of inner values, all columns;
    otherwise blocks of columns, each with all inner values.
    """

    mode: MatrixMode
    rows: int
    columns: int
    inner: int
    left_transposed: bool = False
    right_transposed: bool = False

    @property
    def row_groups(self) -> int:
        return self.rows // self.mode.group_rows

    @property
    def column_groups(self) -> int:
        return self.columns // self.mode.group_columns

    @property
    def groups(self) -> int:
        return self.row_groups * self.column_groups

    @property
    def steps(self) -> int:
        """Inner blocks, each a step of as many products as a group has blocks."""
        return self.inner // self.mode.inner

    @property
    def step_bundles(self) -> int:
        return self.mode.row_blocks * self.mode.column_blocks


@dataclass(frozen=True, slots=True)
class Walk:
    """2D addressing of a pointer: `count` + 1 positions `inside` apart, then `outside` to the next."""

    count: int
    inside: int
    outside: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """The scheduled code: `head`, `loop` repeated `turns` times, `tail`; each bundle a tuple of texts.

    Before it, pointers p0 to p3 (A, B, result to load, result to store), the registers `modifiers` and
    the walks d0 to d3 must be set; counters dc0 to dc3 are 0 before and after.
    """

    head: tuple[tuple[str, ...], ...]
    loop: tuple[tuple[str, ...], ...]
    turns: int
    tail: tuple[tuple[str, ...], ...]
    modifiers: tuple[tuple[str, int], ...]
    walks: tuple[tuple[int, Walk], ...]
    group_bundles: int

    @property
    def bundles(self) -> int:
        """Bundles that it takes to run."""
        return len(self.head) + self.turns * len(self.loop) + len(self.tail)

    @property
    def written_bundles(self) -> int:
        """Bundles of program memory."""
        return len(self.head) + len(self.loop) + len(self.tail)


class KernelDoesNotFit(Exception):
    """The shape needs more registers or slots than there are; another one is to be chosen."""


def schedule_kernel(shape: KernelShape, *, begins: bool) -> Kernel:
    """`begins`: the accumulators start with what cm8 (float: bml8) holds instead of the result so far.

    Raises KernelDoesNotFit.
    """
    modifiers = _Modifiers()
    plan = _OperandPlan.of(shape)
    plan.left.moves = _left_moves(shape)
    plan.right.moves = _right_moves(shape)
    result_moves = _result_moves(shape)
    accumulators = _Accumulators(shape, begins=begins)
    least = max(shape.steps * shape.step_bundles, accumulators.pieces)
    for period in range(least, least + 4 * accumulators.pieces + 16):
        if accumulators.place(period, plan):
            break
    else:
        raise KernelDoesNotFit("accumulators cannot be loaded in time")
    groups = shape.groups
    written = groups if groups <= _GROUPS_WRITTEN_OUT + 1 else _GROUPS_WRITTEN_OUT + groups % 2
    bundles = _Bundles(first=-(plan.earliest + LOAD_LATENCY + accumulators.lead))
    for group in range(written):
        start = group * period
        _operand_code(bundles, shape, plan, start, group, modifiers)
        _product_code(bundles, shape, plan, start, group, begins=begins)
        accumulators.code(bundles, start, group, result_moves, modifiers)
    code = bundles.listed()
    walks = [(_LEFT_WALK, plan.left.moves.walk), (_RIGHT_WALK, plan.right.moves.walk)]
    walks += [(_LOAD_WALK, result_moves.walk)] * (not begins) + [(_STORE_WALK, result_moves.walk)]
    parts = _rolled(code, period, groups - written) if groups > written else (code, (), 0, ())
    return Kernel(*parts, tuple(modifiers.values()), tuple(walks), period)


def _rolled(
    code: tuple[tuple[str, ...], ...], period: int, left_out: int
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...], int, tuple[tuple[str, ...], ...]]:
    """Finds two equal pairs of groups in a row and makes them a loop of the pair."""
    pair = 2 * period
    for start in range(len(code) - 2 * pair + 1):
        if code[start : start + pair] == code[start + pair : start + 2 * pair]:
            return code[:start], code[start : start + pair], 2 + left_out // 2, code[start + 2 * pair :]
    raise KernelDoesNotFit("the schedule does not repeat")


# --------------------------------------------------------------------------- pointers


@dataclass(frozen=True, slots=True)
class _Moves:
    """How a pointer moves: after each piece but the last of a group, by bytes; then by `walk`.

    `within` are the moves inside a step (or accumulator list), `between` that from one step to the next.
    """

    within: tuple[int, ...]
    between: int
    walk: Walk


def _blocked(count: int, block: int, block_stride: int, step: int, steps: int) -> tuple[list[int], int, int]:
    """Moves within a step over `count` blocks of `block` bytes that are `block_stride` apart, the move to
    the next step, and the offset of the group's last piece."""
    offsets = [
        index * block_stride + part for index in range(count) for part in range(0, block, VECTOR_BYTES)
    ]
    within = [after - before for before, after in itertools.pairwise(offsets)]
    return within, step - offsets[-1], (steps - 1) * step + offsets[-1]


def _left_moves(shape: KernelShape) -> _Moves:
    """Groups of rows follow each other; when all are done, again from the first."""
    mode = shape.mode
    if shape.left_transposed:
        stride = shape.inner * BLOCK_ROWS * mode.left_bytes
        step = mode.left_block_bytes
        group = mode.row_blocks * stride
    else:
        stride = mode.left_block_bytes
        step = shape.rows * mode.inner * mode.left_bytes
        group = mode.row_blocks * stride
    within, between, last = _blocked(mode.row_blocks, mode.left_block_bytes, stride, step, shape.steps)
    walk = Walk(shape.row_groups - 1, group - last, -(shape.row_groups - 1) * group - last)
    return _Moves(tuple(within), between, walk)


def _right_moves(shape: KernelShape) -> _Moves:
    """The same group of columns for all groups of rows, then the next."""
    mode = shape.mode
    if shape.right_transposed:
        stride = mode.right_block_bytes
        step = shape.columns * mode.inner * mode.right_bytes
    else:
        stride = shape.inner * mode.columns * mode.right_bytes
        step = mode.right_block_bytes
    group = mode.column_blocks * stride
    within, between, last = _blocked(mode.column_blocks, mode.right_block_bytes, stride, step, shape.steps)
    return _Moves(tuple(within), between, Walk(shape.row_groups - 1, -last, group - last))


def _result_moves(shape: KernelShape) -> _Moves:
    """The result stands as blocks of columns, each with all its rows."""
    mode = shape.mode
    stride = shape.rows * mode.columns * 4
    size = mode.row_blocks * mode.result_block_bytes
    within, _, last = _blocked(mode.column_blocks, size, stride, 0, 1)
    next_columns = mode.column_blocks * stride - (shape.row_groups - 1) * size
    return _Moves(tuple(within), 0, Walk(shape.row_groups - 1, size - last, next_columns - last))


class _Modifiers:
    """Registers for moves that no immediate holds."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def text(self, move: int, immediates: range) -> str:
        if move in immediates:
            return f"#{move}"
        if move not in self._names:
            if len(self._names) == len(_FREE_MODIFIERS):
                raise KernelDoesNotFit("more moves of pointers than registers for them")
            self._names[move] = _FREE_MODIFIERS[len(self._names)]
        return self._names[move]

    def values(self) -> Iterator[tuple[str, int]]:
        yield from ((name, move) for move, name in self._names.items())


# --------------------------------------------------------------------------- bundles


@dataclass(slots=True)
class _Bundles:
    """Instructions by time and slot; times may be negative down to `first`."""

    first: int
    slots: dict[int, dict[str, str]] = field(default_factory=dict[int, dict[str, str]])

    def add(self, time: int, slot: str, text: str) -> None:
        bundle = self.slots.setdefault(time, {})
        if slot in bundle:
            raise KernelDoesNotFit(f"{slot} is taken at {time}: {bundle[slot]} and {text}")
        bundle[slot] = text

    def listed(self) -> tuple[tuple[str, ...], ...]:
        begin, end = min(self.slots), max(self.slots)
        return tuple(tuple(self.slots.get(time, {}).values()) for time in range(begin, end + 1))


# --------------------------------------------------------------------------- operands


@dataclass(slots=True)
class _OperandSide:
    """One operand's loads. Times are relative to the step's first product.

    `landing[n]` is when piece n is there, `shuffles[b]` when block b is turned (None: it is not).
    `registers[s][b]` holds block b in steps of set s; `raw` are what turned blocks are loaded into.
    """

    slot: str
    pointer: str
    walk: int
    block_pieces: int
    landing: list[int]
    shuffles: list[int] | None
    shuffle_mode: str
    registers: list[list[str]]
    raw: list[str]
    moves: _Moves

    def target(self, step: int, block: int) -> str:
        """The x register that is loaded for a block of a step."""
        if self.shuffles is not None:
            return self.raw[block % len(self.raw)]
        return self.registers[step % len(self.registers)][block]


@dataclass(slots=True)
class _OperandPlan:
    left: _OperandSide
    right: _OperandSide

    @property
    def earliest(self) -> int:
        """How long before the first product the first piece must be there."""
        return -min(*self.left.landing, *self.right.landing)

    @classmethod
    def of(cls, shape: KernelShape) -> _OperandPlan:
        """Register sets as many as there is room for, at most two: with one, loads must come late."""
        for left_sets, right_sets in ((2, 2), (2, 1), (1, 2), (1, 1)):
            for raw in ((2, 2), (1, 2), (2, 1), (1, 1)):
                plan = cls._try(shape, (left_sets, right_sets), raw)
                if plan is not None:
                    return plan
        raise KernelDoesNotFit("no room in the vector registers")

    @classmethod
    def _try(cls, shape: KernelShape, sets: tuple[int, int], raw: tuple[int, int]) -> _OperandPlan | None:
        mode = shape.mode
        pieces = (
            mode.row_blocks * mode.left_block_bytes // VECTOR_BYTES,
            mode.column_blocks * mode.right_block_bytes // VECTOR_BYTES,
        )
        # the operand with more loads has the load unit that nothing else uses
        slots = ("ldb", "lda") if pieces[0] >= pieces[1] else ("lda", "ldb")
        names = iter([f"x{n}" for n in range(VECTOR_REGISTERS)])
        turned = (shape.left_transposed, shape.right_transposed)
        blocks = (mode.row_blocks, mode.column_blocks)
        uses = (
            [(b * mode.column_blocks, (b + 1) * mode.column_blocks - 1) for b in range(mode.row_blocks)],
            [(b, (mode.row_blocks - 1) * mode.column_blocks + b) for b in range(mode.column_blocks)],
        )
        taken_shuffles: set[int] = set()
        sides: list[_OperandSide] = []
        for side in (0, 1):
            count, per_block = pieces[side], pieces[side] // blocks[side]
            if count > shape.step_bundles:
                return None
            found = _landing(
                uses[side], per_block, shape.step_bundles, sets[side], raw[side], turned[side], taken_shuffles
            )
            if found is None:
                return None
            landing, shuffles = found
            try:
                registers = [[next(names) for _ in range(blocks[side])] for _ in range(sets[side])]
                spare = [next(names) for _ in range(raw[side])] if turned[side] else []
            except StopIteration:
                return None
            sides.append(
                _OperandSide(
                    slot=slots[side],
                    pointer=(LEFT_POINTER, RIGHT_POINTER)[side],
                    walk=(_LEFT_WALK, _RIGHT_WALK)[side],
                    block_pieces=per_block,
                    landing=landing,
                    shuffles=shuffles,
                    shuffle_mode=(LEFT_SHUFFLE, RIGHT_SHUFFLE)[side],
                    registers=registers,
                    raw=spare,
                    moves=_Moves((), 0, Walk(0, 0, 0)),
                )
            )
        return cls(*sides)


def _landing(
    uses: Sequence[tuple[int, int]],
    per_block: int,
    period: int,
    sets: int,
    raw: int,
    turned: bool,
    taken: set[int],
) -> tuple[list[int], list[int] | None] | None:
    """When the pieces of each block are there (and are turned), as late as their first use allows.

    `uses`: first and last product of the step that reads each block. None where a register would be
    overwritten too early. One load and one vshuffle may issue per bundle.
    """
    shuffles: list[int] = []
    landing: list[int] = []
    following = 1 << 30
    for first, last in reversed(uses):
        ready = first
        if turned:
            time = first - SHUFFLE_LATENCY
            if len(taken) == period:
                return None
            while time % period in taken or time > following:
                time -= 1
            taken.add(time % period)
            # the register is written one bundle after the vshuffle at the earliest
            if time + 1 <= last - sets * period:
                return None
            shuffles.insert(0, time)
            ready = time
        times: list[int] = []
        for _ in range(per_block):
            following = min(ready, following - 1)
            times.insert(0, following)
        if not turned and times[0] <= last - sets * period:
            return None
        landing = [*times, *landing]
    if landing[-1] - landing[0] >= period:
        return None
    if turned:
        for block, time in enumerate(shuffles):  # a raw register is loaded again only after it was turned
            again = block + raw
            if again < len(uses):
                arrival = landing[again * per_block]
            else:
                arrival = landing[block % raw * per_block] + period
            if arrival <= time:
                return None
        return landing, shuffles
    return landing, None


def _half(register: str, part: int) -> str:
    return f"w{'lh'[part]}{register[1:]}"


def _operand_code(
    bundles: _Bundles, shape: KernelShape, plan: _OperandPlan, start: int, group: int, modifiers: _Modifiers
) -> None:
    for side in (plan.left, plan.right):
        moves, pieces = side.moves, len(side.landing)
        for step in range(shape.steps):
            at = start + step * shape.step_bundles
            number = group * shape.steps + step
            for piece in range(pieces):
                block, part = divmod(piece, side.block_pieces)
                time = at + side.landing[piece] - LOAD_LATENCY
                register = _half(side.target(number, block), part)
                if piece + 1 == pieces and step + 1 == shape.steps:
                    text = f"v{side.slot[0:2]}{side.slot[2]}.2d {register}, [{side.pointer}], d{side.walk}"
                else:
                    move = moves.between if piece + 1 == pieces else moves.within[piece]
                    modifier = modifiers.text(move, _IMMEDIATES[side.slot])
                    text = f"v{side.slot} {register}, [{side.pointer}], {modifier}"
                bundles.add(time, side.slot, text)
            for block, time in enumerate(side.shuffles or ()):
                raw, register = (
                    side.target(number, block),
                    side.registers[number % len(side.registers)][block],
                )
                bundles.add(at + time, "mv", f"vshuffle {register}, {raw}, {raw}, {side.shuffle_mode}")


# --------------------------------------------------------------------------- products


def _accumulator(shape: KernelShape, group: int, index: int) -> str:
    """The register of the `index`-th block of a group: cm0 to cm7, or bml0, bmh0, ... for floats."""
    blocks = shape.step_bundles
    number = (group % 2) * blocks + index
    if shape.mode.accumulator is Accumulator.FLOAT:
        return f"bm{'lh'[number % 2]}{number // 2}"
    return f"cm{number}"


def begin_register(mode: MatrixMode) -> str:
    """The accumulator that holds what sums begin with."""
    return "bml8" if mode.accumulator is Accumulator.FLOAT else "cm8"


def _product_code(
    bundles: _Bundles, shape: KernelShape, plan: _OperandPlan, start: int, group: int, *, begins: bool
) -> None:
    mode = shape.mode
    mnemonic = "vmac.f" if mode.accumulator is Accumulator.FLOAT else "vmac"
    for step in range(shape.steps):
        number = group * shape.steps + step
        left = plan.left.registers[number % len(plan.left.registers)]
        right = plan.right.registers[number % len(plan.right.registers)]
        for index in range(shape.step_bundles):
            row, column = divmod(index, mode.column_blocks)
            target = _accumulator(shape, group, index)
            source = begin_register(mode) if begins and step == 0 else target
            text = f"{mnemonic} {target}, {source}, {left[row]}, {right[column]}, {MODE_WORD}"
            bundles.add(start + step * shape.step_bundles + index, "vec", text)


# --------------------------------------------------------------------------- accumulators


class _Accumulators:
    """Loads and stores of the accumulators, in pieces of one load, ordered as they stand in memory."""

    def __init__(self, shape: KernelShape, *, begins: bool) -> None:
        self.shape = shape
        self.begins = begins
        mode = shape.mode
        per_block = mode.result_block_bytes // VECTOR_BYTES
        # memory has the blocks of one column group after the other: (accumulator, part of it)
        self.order = [
            (row * mode.column_blocks + column, part)
            for column in range(mode.column_blocks)
            for row in range(mode.row_blocks)
            for part in range(per_block)
        ]
        self.pieces = len(self.order)
        self.loads: list[int] = []
        self.stores: list[int] = []

    @property
    def lead(self) -> int:
        return -min(self.loads, default=0)

    def place(self, period: int, plan: _OperandPlan) -> bool:
        """Finds times relative to the group's first product; False where `period` is too short."""
        shape, kind = self.shape, self.shape.mode.accumulator
        last = (shape.steps - 1) * shape.step_bundles
        self.stores = []
        for index, _ in self.order:
            ready = last + index + _STORED_AFTER[kind]
            self.stores.append(max(ready, self.stores[-1] + 1) if self.stores else ready)
        if self.stores[-1] - self.stores[0] >= period:
            return False
        if self.begins:
            self.loads = []
            # the next group in these registers overwrites them
            return all(
                time < 2 * period + index + _STORED_AFTER[kind]
                for time, (index, _) in zip(self.stores, self.order, strict=True)
            )
        busy = self._busy(period, plan)
        self.loads = []
        if len(busy) + self.pieces > period:
            return False
        following = 1 << 30
        for index, _ in reversed(self.order):
            time = min(index - _LOADED_AFTER[kind], following - 1)
            while time % period in busy:
                time -= 1
            busy.add(time % period)
            self.loads.insert(0, time)
            following = time
        return all(load + 2 * period >= store for load, store in zip(self.loads, self.stores, strict=True))

    def _busy(self, period: int, plan: _OperandPlan) -> set[int]:
        """When the load unit that accumulators come through is used for operands."""
        side = plan.left if plan.left.slot == "lda" else plan.right
        return {
            (step * self.shape.step_bundles + landing - LOAD_LATENCY) % period
            for step in range(self.shape.steps)
            for landing in side.landing
        }

    def code(self, bundles: _Bundles, start: int, group: int, moves: _Moves, modifiers: _Modifiers) -> None:
        def access(
            slot: str, pointer: str, walk: int, times: list[int], text: Callable[[str, str], str]
        ) -> None:
            narrow = self.shape.mode.accumulator is Accumulator.LANES64
            immediates = _NARROW_IMMEDIATES if narrow else _IMMEDIATES[slot]
            for piece, (time, (index, part)) in enumerate(zip(times, self.order, strict=True)):
                register = self._part(_accumulator(self.shape, group, index), part)
                if piece + 1 == self.pieces:
                    bundles.add(start + time, slot, text(register, ".2d") + f"[{pointer}], d{walk}")
                else:
                    modifier = modifiers.text(moves.within[piece], immediates)
                    bundles.add(start + time, slot, text(register, "") + f"[{pointer}], {modifier}")

        if not self.begins:
            access("lda", LOAD_POINTER, _LOAD_WALK, self.loads, self._load_text)
        access("st", STORE_POINTER, _STORE_WALK, self.stores, self._store_text)

    def _load_text(self, register: str, dimensions: str) -> str:
        if self.shape.mode.accumulator is Accumulator.LANES64:
            return f"vlda{dimensions}.ups.s64.s32 {register}, {ZERO_SHIFT}, "
        return f"vlda{dimensions} {register}, "

    def _store_text(self, register: str, dimensions: str) -> str:
        if self.shape.mode.accumulator is Accumulator.LANES64:
            return f"vst{dimensions}.srs.s32.s64 {register}, {ZERO_SHIFT}, "
        return f"vst{dimensions} {register}, "

    def _part(self, accumulator: str, part: int) -> str:
        """The part that one access moves: 32 bytes of memory."""
        match self.shape.mode.accumulator:
            case Accumulator.LANES32:  # cm7 is amll7, amlh7, amhl7, amhh7
                return f"am{'lh'[part // 2]}{'lh'[part % 2]}{accumulator[2:]}"
            case Accumulator.LANES64:
                return f"bm{'lh'[part]}{accumulator[2:]}"
            case Accumulator.FLOAT:  # bml3 is amll3, amlh3
                return f"am{accumulator[2]}{'lh'[part]}{accumulator[3:]}"
