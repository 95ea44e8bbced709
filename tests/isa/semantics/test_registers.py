"""The flat register file: what compiled code assumes of it."""

from __future__ import annotations

from aiepipe.isa.registers import units
from aiepipe.isa.semantics.registers import registers


def test_registers_begin_at_multiples_of_their_size() -> None:
    """Compiled code reads a whole register with one aligned access, of 64 bytes at most."""
    assert {r.name for r in registers().values() if r.offset % min(r.size, 64)} == set()


def test_registers_share_bytes_as_their_names_say() -> None:
    for name in ("q2", "x3", "y4", "cm7", "bmh1", "l5"):
        parts = [registers()[unit] for unit in units(name)]
        whole = registers()[name]
        assert [part.offset for part in parts] == list(
            range(whole.offset, whole.offset + whole.size, parts[0].size)
        ), name
