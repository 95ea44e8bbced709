"""Scalar arithmetic: values worked out by hand from the stated meaning of each instruction."""

from __future__ import annotations

import pytest

from tests.emulator.core.bench import ENGINES, Engine, execute

TOP = 0x8000_0000
ONES = 0xFFFF_FFFF

# (statement, r1, r2, result in r0)
CASES = [
    ("add r0, r1, r2", 5, 6, 11),
    ("add r0, r1, r2", ONES, 1, 0),
    ("add r0, r1, #-64", 10, 0, ONES - 53),
    ("sub r0, r1, r2", 5, 6, ONES),
    ("sub r0, r1, r2", TOP, 1, 0x7FFF_FFFF),
    ("and r0, r1, r2", 0xFF00, 0x0FF0, 0x0F00),
    ("or r0, r1, r2", 0xFF00, 0x0FF0, 0xFFF0),
    ("xor r0, r1, r2", 0xFF00, 0x0FF0, 0xF0F0),
    ("abs r0, r1", ONES, 0, 1),
    ("abs r0, r1", TOP, 0, TOP),
    ("mul r0, r1, r2", 7, ONES - 2, ONES - 20),
    ("mul r0, r1, r2", 0x12345, 0x10001, 0x23462345),
    ("clz r0, r1", 0, 0, 32),
    ("clz r0, r1", 1, 0, 31),
    ("clz r0, r1", TOP, 0, 0),
    ("clb r0, r1", ONES, 0, 32),
    ("clb r0, r1", 0xFFFF_FFFE, 0, 31),
    ("clb r0, r1", 1, 0, 31),
    ("extend.s8 r0, r1", 0x1280, 0, 0xFFFF_FF80),
    ("extend.u8 r0, r1", 0x1280, 0, 0x80),
    ("extend.s16 r0, r1", 0x18000, 0, 0xFFFF_8000),
    ("extend.u16 r0, r1", 0x18000, 0, 0x8000),
    ("eq r0, r1, r2", 3, 3, 1),
    ("ne r0, r1, r2", 3, 3, 0),
    ("lt r0, r1, r2", ONES, 0, 1),
    ("ltu r0, r1, r2", ONES, 0, 0),
    ("ge r0, r1, r2", 0, ONES, 1),
    ("geu r0, r1, r2", 0, ONES, 0),
    ("ge r0, r1, r2", 4, 4, 1),
    ("eqz r0, r1", 0, 0, 1),
    ("nez r0, r1", 0, 0, 0),
    ("lshl r0, r1, r2", 1, 31, TOP),
    ("lshl r0, r1, r2", 1, 32, 0),
    ("lshl r0, r1, r2", TOP, ONES, 0x4000_0000),  # by -1: logical, to the right
    ("lshl r0, r1, r2", TOP, ONES - 30, 1),  # by -31
    ("lshl r0, r1, r2", TOP, ONES - 31, 0),  # by -32
    ("ashl r0, r1, r2", TOP, ONES, 0xC000_0000),  # by -1: with sign
    ("ashl r0, r1, r2", TOP, ONES - 63, ONES),  # by -64
    ("ashl r0, r1, r2", 3, 4, 48),
    ("mova r0, #-1024", 0, 0, ONES - 1023),
    ("movx r0, #1023", 0, 0, 1023),
    ("mov r0, #-512", 0, 0, ONES - 511),
    ("movxm r0, #-559038737", 0, 0, 0xDEADBEEF),
    ("mov r0, r1", 7, 0, 7),
    ("add.nc r0, r1, #-32", 1, 0, ONES - 30),
]


@pytest.mark.parametrize(("statement", "r1", "r2", "result"), CASES)
def test_result(statement: str, r1: int, r2: int, result: int) -> None:
    assert execute(statement, registers={"r1": r1, "r2": r2})["r0"] == result


@pytest.mark.parametrize("engine", ENGINES)
def test_sel_eqz_takes_the_first_where_r27_is_zero(engine: Engine) -> None:
    """Polarity: emulation.md, seen in real programs."""
    registers = {"r1": 11, "r2": 22}
    for r27, eqz, nez in ((0, 11, 22), (5, 22, 11)):
        bench = execute(
            "sel.eqz r3, r1, r2, r27",
            "sel.nez r4, r1, r2, r27",
            engine=engine,
            registers={**registers, "r27": r27},
        )
        assert (bench["r3"], bench["r4"]) == (eqz, nez)


@pytest.mark.parametrize("engine", ENGINES)
def test_64_bit_sums_by_carry(engine: Engine) -> None:
    a, b = 0x1_FFFF_FFFF, 0x2_0000_0001
    registers = {"r1": a & ONES, "r2": a >> 32, "r3": b & ONES, "r4": b >> 32}
    bench = execute("add r5, r1, r3", "adc r6, r2, r4", engine=engine, registers=registers)
    assert bench["r6"] << 32 | bench["r5"] == a + b
    bench = execute("sub r5, r1, r3", "sbc r6, r2, r4", engine=engine, registers=registers)
    assert bench["r6"] << 32 | bench["r5"] == a - b & (1 << 64) - 1


def test_32_division_steps_divide() -> None:
    """As llvm-aie's compiler-rt divides: r31 begins at 0 and ends as the remainder."""
    for dividend, divisor in ((1000, 7), (0xFFFF_FFFF, 3), (5, 9), (0x8000_0000, 0xFFFF_FFFF)):
        steps = ["divs r1, r31, r1, r2"] * 32
        bench = execute(*steps, registers={"r1": dividend, "r2": divisor, "r31": 0})
        assert (bench["r1"], bench["r31"]) == divmod(dividend, divisor)


def test_pointer_registers_keep_20_bits() -> None:
    bench = execute("mov p0, r1", "mov r2, p0", "mov m1, r1", "mov r3, m1", registers={"r1": 0xFFF8_0004})
    assert (bench["p0"], bench["r2"], bench["m1"], bench["r3"]) == (0x80004, 0x80004, 0x80004, 0x80004)


def test_control_registers_are_written_by_movx() -> None:
    assert execute("movx crRnd, r1", registers={"r1": 12})["crRnd"] == 12


def test_l_registers_are_pairs_of_r() -> None:
    bench = execute("mov r16, r1", "mov r17, r2", registers={"r1": 0x11, "r2": 0x22})
    assert bench["l0"] == 0x22_0000_0011
