"""Registers within registers, as AIE2GenRegisterInfo.td lists their sub-registers."""

from __future__ import annotations

import pytest

from aiepipe.isa.registers import units
from aiepipe.isa.table import table


@pytest.mark.parametrize(
    ("register", "parts"),
    [
        ("r7", "r7"),
        ("lr", "lr"),
        ("SP", "SP"),
        ("srMS0", "srMS0"),
        ("s3", "s3"),
        ("wl3", "wl3"),
        ("l0", "r16 r17"),
        ("l7", "r30 r31"),
        ("x4", "wl4 wh4"),
        ("y2", "wl4 wh4 wl5 wh5"),
        ("y5", "wl10 wh10 wl11 wh11"),
        ("q2", "ql2 qh2"),
        ("qx1", "wl1 wh1 ql1 qh1"),
        ("qwl3", "wl3 ql3"),
        ("qwh0", "wh0 qh0"),
        ("bml8", "amll8 amlh8"),
        ("bmh1", "amhl1 amhh1"),
        ("cm5", "amll5 amlh5 amhl5 amhh5"),
        ("d1", "m1 dn1 dj1 dc1"),
        ("d3_3d", "m3 dn3 dj3 dc3 m7 dn7 dj7 dc7"),
    ],
)
def test_a_register_and_its_parts(register: str, parts: str) -> None:
    assert units(register) == tuple(parts.split())


def test_the_parts_of_every_register_are_parts_of_themselves() -> None:
    for members in table().registers.values():
        for register in members:
            for unit in units(register) if register is not None else ():
                assert units(unit) == (unit,)
