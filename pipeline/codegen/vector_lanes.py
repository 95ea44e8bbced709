"""A body's graph of words in vector instructions: sixteen elements at a time, an x register a node.

Truths are masks in scalar registers, a bit a lane, as vlt and its relatives leave them and vsel wants them.
There is no shift of lanes: it goes by way of 64-bit lanes of an accumulator, which vups shifts to the left
and vsrs to the right (with crRnd 0: floor; crSat 0: what is above is cut), but for signs, which are
comparisons. There are no products of 32 bits either, but of halves: two of them 16 bits higher, and one.
Shifts that differ from element to element, and leading zeros, are left to scalar code. So are sums of f32,
whose nodes need both, but where the unit's own sums will do: they are not IEEE's (how they round says
isa/semantics/vector_float.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..isa.assembler import Statement
from .expressions import softfloat
from .expressions.bodies import BodyGraph
from .expressions.words import MASK, Graph, Word, signed
from .stage_registers import Pool

LANES = 16
ALL_LANES = (1 << LANES) - 1

_TRUTHS = {"lt": "vlt.s32", "ge": "vge.s32", "ltu": "vlt.d32", "geu": "vge.d32"}
"""With crVaddSign 0 the `d` forms compare without sign."""

_WORDS = {"add": "vadd.32", "sub": "vsub.32", "and": "vband", "or": "vbor"}
_LOGIC = ("and", "or", "xor")
_FLOAT_SUM = "vadd.f"
_NARROW = {
    "extend.u8": (0, 0xFF),
    "extend.u16": (0, 0xFFFF),
    "extend.s8": (1 << 7, 0xFF),
    "extend.s16": (1 << 15, 0xFFFF),
}
"""(bias, mask): ((x + bias) & mask) - bias."""

SHIFT_REGISTERS = ("s1", "s2", "s3")
_BF16_SHIFT = 16

LOW_HALVES, HIGH_HALVES = 2, 3
"""vshuffle's modes for all low or high halves of two registers' words (llvm-aie: T16_32x2_lo, _hi)."""

FLOAT_SUMS = 28
"""The mode word of vadd.f: that of bf16 products, as AMD's compilers set it (add-bf16 of the corpus)."""

CROSS_PRODUCTS, LOW_PRODUCTS = 0x5A, 0x45A
"""Mode words: unsigned halves lane by lane, two for each of 16 sums (facts/aie2-isa.md 3.1); the second
shifts the first's sums to the left by 16 bits and adds to them."""

_SIGN = -31
"""A shift that leaves the sign only."""

_SIGNS = {"lshl": 1, "ashl": MASK}
"""What that leaves of a negative number."""


class NoLanes(Exception):
    """The words say what there is no vector code for."""


@dataclass(frozen=True, slots=True)
class LanesBody:
    """What a body with one result needs of vectors. `order` are the nodes to compute, `result` the last one;
    `rounds`: it is stored as bf16 by the unit that rounds. `uses` counts how often a node is read."""

    graph: Graph
    inputs: Mapping[int, int]
    order: tuple[int, ...]
    result: int
    rounds: bool
    masks: frozenset[int]
    uses: Mapping[int, int]
    constants: tuple[int, ...]
    shifts: tuple[int, ...]

    @property
    def adds_floats(self) -> bool:
        """Whether it has sums of f32."""
        return any(self.graph.nodes[number].op == _FLOAT_SUM for number in self.order)

    @property
    def multiplies(self) -> bool:
        """Whether it has products."""
        return any(self.graph.nodes[number].op == "mul" for number in self.order)

    @property
    def instructions(self) -> int:
        """Of one sixteen, without loads and stores."""
        return sum(self._cost(self.graph.nodes[number]) for number in self.order)

    def _cost(self, node: Word) -> int:
        if node.op in ("mul", _FLOAT_SUM):
            return 6
        if node.op in ("lshl", "ashl", "xor") or node.op in _NARROW:
            return 3
        return 2 if node.op in ("eq", "ne") else 1


def lanes_body(body: BodyGraph, element: str, *, own_sums: bool = False) -> LanesBody | None:
    """For results of type `element`; None where there is no such code. `own_sums`: sums of f32 may be rounded
    as the vector unit does, for what is within the rounding of a matmul anyway."""
    try:
        return _lanes_body(body, element, own_sums=own_sums)
    except NoLanes:
        return None


def _lanes_body(body: BodyGraph, element: str, *, own_sums: bool) -> LanesBody:
    if len(body.results) != 1 or len(body.results[0]) != 1 or body.indices:
        raise NoLanes("a result of more than one word")
    (word,) = body.results[0]
    graph = body.graph.copy()
    if own_sums:
        for number, operands in graph.float_sums.items():
            if graph.value(number) is None:
                graph.nodes[number] = Word(_FLOAT_SUM, operands)
    rounded = _rounded(body, word) if element == "bf16" else None
    result = word if rounded is None else rounded
    order = _order(graph, result)
    masks: set[int] = set()
    for number in order:
        if _is_truth(graph, number, masks):
            masks.add(number)
    if graph.nodes[result].op == "const":
        raise NoLanes("a result that does not depend on anything")
    constants, shifts, uses = _operands(graph, order, masks)
    uses[result] += 1
    constants += [value for value in (0, 1) if result in masks and value not in constants]
    if rounded is not None and shifts:
        raise NoLanes("shifts and rounding, which crRnd is in the way of")
    if len(shifts) > len(SHIFT_REGISTERS):
        raise NoLanes("more than three different shifts")
    inputs = {graph.nodes[n].value: n for n in order if graph.nodes[n].op == "input"}
    computed = tuple(n for n in order if graph.nodes[n].op not in ("const", "input"))
    return LanesBody(
        graph,
        inputs,
        computed,
        result,
        rounded is not None,
        frozenset(masks),
        uses,
        tuple(constants),
        tuple(shifts),
    )


def _rounded(body: BodyGraph, word: int) -> int | None:
    """The f32 that `word` is the bf16 of, in the upper half rounded to ties to even, if it is such a one."""
    graph = body.graph.copy()
    for number in range(word):
        if graph.right(softfloat.to_bfloat(graph, number), _BF16_SHIFT) == word:
            return number
    return None


def _order(graph: Graph, result: int) -> list[int]:
    """What the result needs, operands first: of two the one that takes longer to compute, so that few values
    wait in registers."""
    heights: dict[int, int] = {}
    for number, node in enumerate(graph.nodes[: result + 1]):
        heights[number] = 1 + max((heights[operand] for operand in node.operands), default=0)
    done: dict[int, None] = {}
    waiting = [result]
    while waiting:
        number = waiting[-1]
        missing = [operand for operand in graph.nodes[number].operands if operand not in done]
        if missing:
            waiting.append(max(missing, key=heights.__getitem__))
        else:
            done[waiting.pop()] = None
    return list(done)


def _is_truth(graph: Graph, number: int, masks: set[int]) -> bool:
    """Whether it is 0 or 1 and computed as a mask. Raises NoLanes for what cannot be computed."""
    node = graph.nodes[number]
    if node.op in _TRUTHS or node.op in ("eq", "ne"):
        return True
    if node.op in _LOGIC:
        return all(operand in masks or graph.value(operand) == 1 for operand in node.operands) and any(
            operand in masks for operand in node.operands
        )
    if node.op in ("lshl", "ashl"):
        amount = graph.value(node.operands[1])
        if amount is None or abs(amount) > -_SIGN:
            raise NoLanes("a shift that differs from element to element, or by a word")
    if node.op not in ("const", "input", "sel", "lshl", "ashl", *_WORDS, *_NARROW, "xor", "mul", _FLOAT_SUM):
        raise NoLanes(f"{node.op} of sixteen words")
    return False


def _operands(
    graph: Graph, order: Sequence[int], masks: set[int]
) -> tuple[list[int], list[int], Counter[int]]:
    """Values that must stand in vectors, amounts of shifts, and how often each node is read."""
    constants: dict[int, None] = {}
    shifts: dict[int, None] = {}
    uses: Counter[int] = Counter()
    for number in order:
        node = graph.nodes[number]
        uses.update(node.operands)
        if node.op in ("lshl", "ashl"):
            amount = graph.value(node.operands[1])
            assert amount is not None
            if amount == _SIGN:
                constants |= {0: None, _SIGNS[node.op]: None}
            else:
                shifts[abs(amount)] = None
                constants |= {MASK >> -amount: None} if node.op == "lshl" and amount < 0 else {}
            wanted: Sequence[int] = node.operands[:1]
        elif node.op == "mul":
            constants |= {0: None}
            wanted = node.operands
        elif node.op in _NARROW:
            bias, mask = _NARROW[node.op]
            constants |= {mask: None} | ({bias: None} if bias else {})
            wanted = node.operands
        else:
            wanted = () if number in masks and node.op in _LOGIC else node.operands
        constants |= {graph.nodes[n].value & MASK: None for n in wanted if graph.nodes[n].op == "const"}
        if any(operand in masks for operand in wanted[1 if node.op == "sel" else 0 :]):
            constants |= {0: None, 1: None}
    return list(constants), list(shifts), uses


@dataclass(frozen=True, slots=True)
class Settings:
    """Registers with what instructions want beside lanes: a bit for each lane, one for any number, no shift,
    modes of shuffles and of products; those for products only where the body has any."""

    all_lanes: str
    scratch: str
    zero_shift: str
    low_halves: str
    high_halves: str
    cross_products: str
    low_products: str
    float_sums: str


@dataclass(slots=True)
class LanesCode:
    """Emits the body for one sixteen. `vectors`, `truths` and `accumulators` hand out registers; `fixed` are
    nodes that do not change. `constants` are those values that stay in vectors, `scalars` those that stay in
    scalar registers; vectors of these and of all others are made where they are used."""

    body: LanesBody
    op: str
    vectors: Pool
    truths: Pool
    accumulators: Pool
    constants: Mapping[int, str]
    scalars: Mapping[int, str]
    fixed: Mapping[int, str]
    settings: Settings
    _registers: dict[int, str] = field(default_factory=dict[int, str])
    _left: Counter[int] = field(default_factory=Counter[int])
    _statements: list[Statement] = field(default_factory=list[Statement])
    _temporary: list[str] = field(default_factory=list[str])

    def emit(self, loaded: Mapping[int, str]) -> tuple[list[Statement], str]:
        """Statements and the register of the result; `loaded` are vectors of inputs, given up in it."""
        self._registers = {**self.fixed, **loaded}
        self._left = Counter(self.body.uses)
        for number in self.body.order:
            self._compute(number)
        result = self.body.result
        register = self._word(result)
        if result in self.body.masks:
            self._temporary.remove(register)
            self._give(result)
        elif result in self.fixed:  # what stays must not be given up
            register = self._vector(f"vmov {{}}, {register}")
        self._give_temporary()
        return self._statements, register

    def _put(self, text: str) -> None:
        self._statements.append(Statement(text, self.op))

    def _vector(self, text: str) -> str:
        """The register that an instruction's result goes to, in place of {}."""
        register = self.vectors.take()
        self._put(text.format(register))
        return register

    def _compute(self, number: int) -> None:
        node = self.body.graph.nodes[number]
        if number in self.body.masks:
            self._registers[number] = self._mask(node)
        elif node.op == "sel":
            self._registers[number] = self._select(node)
        elif node.op in ("lshl", "ashl"):
            self._registers[number] = self._shifted(node)
        else:
            self._registers[number] = self._arithmetic(node)
        self._give_temporary()
        self._left.subtract(node.operands)
        for operand in set(node.operands):
            if self._left[operand] == 0:
                self._give(operand)

    def _arithmetic(self, node: Word) -> str:
        names = [self._word(operand) for operand in node.operands]
        if node.op == "mul":
            return self._multiplied(*names)
        if node.op == _FLOAT_SUM:
            return self._float_sum(*names)
        if node.op in _NARROW:
            return self._narrowed(node.op, names[0])
        if node.op == "xor":  # (x | y) - (x & y)
            common = self._vector(f"vband {{}}, {names[0]}, {names[1]}")
            self._temporary.append(common)
            either = self._vector(f"vbor {{}}, {names[0]}, {names[1]}")
            self._put(f"vsub.32 {either}, {either}, {common}")
            return either
        return self._vector(f"{_WORDS[node.op]} {{}}, {names[0]}, {names[1]}")

    def _multiplied(self, x: str, y: str) -> str:
        """((low x * high y + high x * low y) << 16) + low x * low y."""
        zero, settings = self._constant(0), self.settings
        first = self._vector(f"vshuffle {{}}, {x}, {y}, {settings.low_halves}")
        high = self._vector(f"vshuffle {{}}, {y}, {x}, {settings.high_halves}")
        low = self._vector(f"vshuffle {{}}, {y}, {zero}, {settings.low_halves}")
        self._temporary += [high, low]
        number = self.accumulators.take()
        self._put(f"vmul cm{number}, {first}, {high}, {settings.cross_products}")
        self._put(f"vmac cm{number}, cm{number}, {first}, {low}, {settings.low_products}")
        self._put(f"vsrs.s32.s64 {first}, cm{number}, {settings.zero_shift}")
        self.accumulators.give(number)
        return first

    def _float_sum(self, x: str, y: str) -> str:
        number = self.accumulators.take()
        self._put(f"vmov bml{number}, {x}")
        self._put(f"vmov bmh{number}, {y}")
        self._put(f"vadd.f bml{number}, bml{number}, bmh{number}, {self.settings.float_sums}")
        self.accumulators.give(number)
        return self._vector(f"vmov {{}}, bml{number}")

    def _narrowed(self, op: str, x: str) -> str:
        bias, mask = _NARROW[op]
        if not bias:
            return self._vector(f"vband {{}}, {x}, {self._constant(mask)}")
        start = self._constant(bias)
        target = self._vector(f"vadd.32 {{}}, {x}, {start}")
        self._put(f"vband {target}, {target}, {self._constant(mask)}")
        self._put(f"vsub.32 {target}, {target}, {start}")
        return target

    def _shifted(self, node: Word) -> str:
        x, amount = self._word(node.operands[0]), self.body.graph.value(node.operands[1])
        assert amount is not None
        if amount == _SIGN:
            zero, negative = self._constant(0), self._constant(_SIGNS[node.op])
            sign = self.truths.take()
            self._put(f"vlt.s32 {sign}, {x}, {zero}")
            self.truths.give(sign)
            return self._vector(f"vsel.32 {{}}, {zero}, {negative}, {sign}")
        by = SHIFT_REGISTERS[self.body.shifts.index(abs(amount))]
        up, down = (by, self.settings.zero_shift) if amount > 0 else (self.settings.zero_shift, by)
        number = self.accumulators.take()
        self._put(f"vups.s64.s32 cm{number}, {x}, {up}")
        target = self._vector(f"vsrs.s32.s64 {{}}, cm{number}, {down}")
        self.accumulators.give(number)
        if node.op == "lshl" and amount < 0:
            self._put(f"vband {target}, {target}, {self._constant(MASK >> -amount)}")
        return target

    def _mask(self, node: Word) -> str:
        if node.op in _LOGIC:
            names = [self._registers.get(operand, self.settings.all_lanes) for operand in node.operands]
            target = self.truths.take()
            self._put(f"{node.op} {target}, {names[0]}, {names[1]}")
            return target
        x, y = (self._word(operand) for operand in node.operands)
        target = self.truths.take()
        if node.op in _TRUTHS:
            self._put(f"{_TRUTHS[node.op]} {target}, {x}, {y}")
            return target
        difference = self._vector(f"vsub.32 {{}}, {x}, {y}")
        self._temporary.append(difference)
        self._put(f"veqz.32 {target}, {difference}")
        if node.op == "ne":
            self._put(f"xor {target}, {target}, {self.settings.all_lanes}")
        return target

    def _select(self, node: Word) -> str:
        condition = node.operands[0]
        yes, no = (self._word(operand) for operand in node.operands[1:])
        if condition in self.body.masks:
            return self._vector(f"vsel.32 {{}}, {no}, {yes}, {self._registers[condition]}")
        word, zero = self._word(condition), self.truths.take()
        self._put(f"veqz.32 {zero}, {word}")
        self.truths.give(zero)
        return self._vector(f"vsel.32 {{}}, {yes}, {no}, {zero}")

    def _word(self, number: int) -> str:
        """The node as words in a vector; a mask as 0 and 1."""
        node = self.body.graph.nodes[number]
        if node.op == "const":
            return self._constant(node.value & MASK)
        register = self._registers[number]
        if number in self.body.masks:
            register = self._vector(f"vsel.32 {{}}, {self._constant(0)}, {self._constant(1)}, {register}")
            self._temporary.append(register)
        return register

    def _constant(self, value: int) -> str:
        if value in self.constants:
            return self.constants[value]
        scalar = self.scalars.get(value, self.settings.scratch)
        if value not in self.scalars:
            self._put(f"movi {scalar}, #{signed(value)}")
        register = self._vector(f"vbcst.32 {{}}, {scalar}")
        self._temporary.append(register)
        return register

    def _give_temporary(self) -> None:
        for register in self._temporary:
            self.vectors.give(register)
        self._temporary.clear()

    def _give(self, number: int) -> None:
        if number in self.fixed or number not in self._registers:
            return
        pool = self.truths if number in self.body.masks else self.vectors
        pool.give(self._registers[number])
