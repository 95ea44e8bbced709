"""Words of stream switch registers, as real designs have them."""

from __future__ import annotations

from aiepipe.npu.switching import master_setting, packet_rule, slave_setting


def test_a_circuit_switched_master_names_its_slave() -> None:
    # shim (0,0) of the seed's design: South0 takes TileCtrl0 (facts/npu1-topology.md)
    setting = master_setting(0x80000000)
    assert (setting.enabled, setting.packet, setting.slave) == (True, False, 0)
    assert master_setting(0x8000000E).slave == 14


def test_a_packet_switched_master_listens_to_an_arbiter_and_msels() -> None:
    # the token route of a shim of the TXN era: arbiter 5, msel 3
    setting = master_setting(0xC0000045)
    assert setting.packet
    assert (setting.arbiter, setting.msels) == (5, 0b1000)
    assert setting.listens(5, 3)
    assert not setting.listens(5, 2)
    assert not setting.listens(4, 3)
    assert master_setting(0xC00000C5).drop_header


def test_a_master_that_is_off_listens_to_nothing() -> None:
    assert not master_setting(0x40000045).listens(5, 3)


def test_slaves_are_off_on_or_for_packets() -> None:
    words = (0, 0x80000000, 0xC0000000)
    assert [(s.enabled, s.packet) for s in map(slave_setting, words)] == [
        (False, False),
        (True, False),
        (True, True),
    ]


def test_a_rule_matches_the_ids_that_its_mask_leaves() -> None:
    rule = packet_rule(0x0F1F0135)  # id 15 exactly, to arbiter 5 with msel 3
    assert (rule.stream_id, rule.mask, rule.arbiter, rule.msel) == (15, 31, 5, 3)
    assert rule.ids() == {15}
    assert packet_rule(0x041C0100).ids() == {4, 5, 6, 7}  # the mask leaves the two low bits free
    assert packet_rule(0x041C0000).ids() == frozenset()
