"""Which storage a register name stands for.

Many names overlap: x4 is wl4 and wh4, y2 is x4 and x5, l0 is r16 and r17, d1 is m1, dn1, dj1 and dc1.
`units` resolves a name to the parts that can be written alone; two registers interfere when they
share one. Source: AIE2GenRegisterInfo.td of Xilinx/llvm-aie (sub-registers).
"""

from __future__ import annotations

import re
from functools import cache

_PARTS = re.compile(r"([a-z]+)(\d+)(_3d)?")


@cache
def units(register: str) -> tuple[str, ...]:
    """The registers without sub-registers that make up `register`, lowest bits first."""
    match = _PARTS.fullmatch(register)
    if match is None:
        return (register,)
    kind, number, three_dimensional = match[1], int(match[2]), match[3] is not None
    if kind not in _SUBREGISTERS:
        return (register,)
    names = _SUBREGISTERS["d_3d" if three_dimensional else kind]
    return tuple(unit for name in names for unit in units(name.format(n=number, **_derived(number))))


def _derived(number: int) -> dict[str, int]:
    return {
        "high": number + 4,
        "even": 16 + 2 * number,
        "odd": 17 + 2 * number,
        "low_x": 2 * number,
        "high_x": 2 * number + 1,
    }


# {n} is the register's own number; 3D modifiers pair d_n with d_(n+4), y_n is x_2n and x_(2n+1),
# the even-odd pairs l0..l7 begin at r16.
_SUBREGISTERS = {
    "l": ("r{even}", "r{odd}"),
    "x": ("wl{n}", "wh{n}"),
    "y": ("x{low_x}", "x{high_x}"),
    "q": ("ql{n}", "qh{n}"),
    "qx": ("x{n}", "q{n}"),
    "qwl": ("wl{n}", "ql{n}"),
    "qwh": ("wh{n}", "qh{n}"),
    "bml": ("amll{n}", "amlh{n}"),
    "bmh": ("amhl{n}", "amhh{n}"),
    "cm": ("bml{n}", "bmh{n}"),
    "d": ("m{n}", "dn{n}", "dj{n}", "dc{n}"),
    "d_3d": ("d{n}", "d{high}"),
}
