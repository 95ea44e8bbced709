"""What a value means in a register whose number or bits do not say it: ports and rules of stream switches."""

from __future__ import annotations

from ..npu.registers import Location
from ..npu.switching import master_setting, packet_rule, slave_setting
from ..npu.topology import MASTERS, SLAVES, SLOTS_PER_SLAVE, TileKind

_FULL_ID_MASK = 0x1F


def meaning(kind: TileKind, found: Location, value: int) -> str:
    """In words; empty where name and fields say all."""
    match found.register.name:
        case "STREAM_SWITCH_MASTER":
            return _master(kind, found.index, value)
        case "STREAM_SWITCH_SLAVE":
            setting = slave_setting(value)
            how = "off" if not setting.enabled else "on for packets" if setting.packet else "on"
            return f"slave {_slave_name(kind, found.index)} {how}"
        case "STREAM_SWITCH_SLOT":
            return _rule(kind, found.index, value)
        case _:
            return ""


def _slave_name(kind: TileKind, number: int) -> str:
    slaves = SLAVES[kind]
    return str(slaves[number]) if number < len(slaves) else f"{number} (there is none)"


def _master(kind: TileKind, number: int, value: int) -> str:
    setting = master_setting(value)
    port = f"master {MASTERS[kind][number]}"
    if not setting.enabled:
        return f"{port} off"
    if not setting.packet:
        return f"{port} takes slave {_slave_name(kind, setting.slave)}"
    msels = ", ".join(str(msel) for msel in range(setting.msels.bit_length()) if setting.msels >> msel & 1)
    dropped = ", drops the header" if setting.drop_header else ""
    return f"{port} takes arbiter {setting.arbiter} msel {msels or 'none'}{dropped}"


def _rule(kind: TileKind, number: int, value: int) -> str:
    rule = packet_rule(value)
    port = f"rule {number % SLOTS_PER_SLAVE} of slave {_slave_name(kind, number // SLOTS_PER_SLAVE)}"
    if not rule.enabled:
        return f"{port} off"
    ids = f"id {rule.stream_id}" + ("" if rule.mask == _FULL_ID_MASK else f" under mask {rule.mask:#x}")
    return f"{port}: packets of {ids} to arbiter {rule.arbiter} msel {rule.msel}"
