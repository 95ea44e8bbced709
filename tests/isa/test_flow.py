"""Where execution can go, read off programs that are assembled here and off real ones."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe.isa.assembler import BundleStatement, Label, LoopEnd, Statement, assemble
from aiepipe.isa.flow import Flow, flow

NOPS = [BundleStatement(())] * 5


def addresses(found: Flow) -> list[int]:
    return sorted(found.bundles)


def mnemonics(found: Flow) -> list[str]:
    return [slot.opcode.mnemonic for bundle in found.bundles.values() for slot in bundle.slots]


def test_both_ways_of_a_conditional_branch_are_reached() -> None:
    image = assemble(
        [
            BundleStatement(["jnz r0, #there"]),
            *NOPS,
            Statement("mova r1, #1"),
            Statement("done"),
            Label("there"),
            Statement("mova r1, #2"),
            Statement("done"),
        ]
    )
    found = flow(image.code)
    assert found.targets == {image.labels["there"]}
    assert sorted(mnemonics(found)) == ["done", "done", "jnz", "mova", "mova"]


def test_a_jump_ends_after_its_delay_slots() -> None:
    image = assemble([Label("again"), BundleStatement(["j #again"]), *NOPS, Statement("mova r1, #1")])
    found = flow(image.code)
    assert len(found.bundles) == 6
    assert found.targets == {0}


def test_a_call_comes_back_and_a_return_does_not() -> None:
    image = assemble(
        [
            BundleStatement(["jl #function"]),
            *NOPS,
            Statement("done"),
            Statement("mova r9, #9"),  # nothing leads here
            Label("function"),
            BundleStatement(["ret lr"]),
            *NOPS,
            Statement("mova r8, #8"),
        ]
    )
    found = flow(image.code)
    assert sorted(mnemonics(found)) == ["done", "jl", "ret"]
    assert image.labels["function"] in found.bundles


def test_bounds_of_a_zero_overhead_loop() -> None:
    image = assemble(
        [
            Statement("movxm ls, #body"),
            Statement("movxm le, #last"),
            Statement("movxm lc, #10"),
            Label("body"),
            *[Statement("add r1, r1, #1")] * 9,
            LoopEnd("last", "body"),
            Statement("done"),
        ]
    )
    found = flow(image.code)
    assert (found.loop_starts, found.loop_ends) == ({image.labels["body"]}, {image.labels["last"]})


def test_zeros_that_nobody_reaches_are_told_apart_from_code() -> None:
    image = assemble([BundleStatement(["done"], size=16)])
    code = image.code + bytes(32) + image.code
    found = flow(code, (0, 48))
    assert found.zeros == ((16, 48),)
    assert addresses(found) == [0, 48]
    # sixteen zeros that a branch leads to are a bundle (they decode as a vmac, facts/aie2-isa.md 1.2)
    reached = assemble([BundleStatement(["j #there"]), *NOPS, BundleStatement([]), Label("there")]).code
    code = reached + bytes(32)
    found = flow(code)
    assert len(reached) in found.bundles


def test_starts_that_are_zeros_or_outside_lead_nowhere() -> None:
    # as in programs whose start-up code is missing: 512 zeros before the first function
    assert flow(bytes(64), (0, 16, 9999, -2)).bundles == {}
    assert flow(b"").zeros == ()


def test_real_programs_are_reached_without_gaps(programs: dict[str, tuple[int, bytes]]) -> None:
    for address, data in programs.values():
        found = flow(bytes(address) + data, (address,))
        # a target is a bundle, but for one that lies in code we do not have
        assert all(target in found.bundles for target in found.targets if target < address + len(data))


@settings(max_examples=200)
@given(st.binary(max_size=200), st.lists(st.integers(-4, 300), max_size=4))
def test_any_bytes(code: bytes, starts: list[int]) -> None:
    found = flow(code, starts)
    covered = [(bundle.address, bundle.end) for bundle in found.bundles.values()] + list(found.zeros)
    end = 0
    for start, stop in sorted(covered):
        assert end <= start < stop <= len(code)
        end = stop
