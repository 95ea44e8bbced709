"""Status registers: what a tile tells about its DMA channels and its core when it is read."""

from __future__ import annotations

from ..npu.registers import register
from ..npu.topology import TileKind
from .channel import Channel
from .core_unit import CoreUnit

_IDLE, _RUNNING = 0, 2
"""Values of STATUS in a channel's status register (aie-rt)."""


def channel_status(kind: TileKind, channel: Channel) -> int:
    """The word of DMA_S2MM_STATUS or DMA_MM2S_STATUS."""
    return register(kind, f"DMA_{channel.direction.name}_STATUS").encode(
        CUR_BD=channel.number,
        TASK_QUEUE_SIZE=len(channel.queue),
        CHANNEL_RUNNING=int(channel.running),
        TASK_QUEUE_OVERFLOW=int(channel.overflow),
        STALLED_LOCK_ACQ=int(channel.waiting_lock() is not None),
        STATUS=_RUNNING if channel.running else _IDLE,
    )


def core_control(core: CoreUnit) -> int:
    """The word of CORE_CONTROL. A core that has executed `done` is no longer enabled: a reset alone does not
    restart it, ENABLE has to be written again (mlir-aie's test npu-xrt/local_reset/core, on npu1 and npu2).
    """
    return register(TileKind.COMPUTE, "CORE_CONTROL").encode(
        ENABLE=int(core.enabled and not core.done), RESET=int(core.in_reset)
    )


def core_status(core: CoreUnit) -> int:
    """The word of CORE_STATUS."""
    kind = "" if core.stop is None or not core.stalled() else core.stop.kind
    return register(TileKind.COMPUTE, "CORE_STATUS").encode(
        ENABLE=int(core.enabled and not core.done),
        RESET=int(core.in_reset),
        CORE_DONE=int(core.done),
        DEBUG_HALT=int(core.halted),
        STREAM_STALL_SS0=int(kind == "stream-read"),
        STREAM_STALL_MS0=int(kind == "stream-write"),
        CASCADE_STALL_SCD=int(kind == "cascade-read"),
        CASCADE_STALL_MCD=int(kind == "cascade-write"),
        LOCK_STALL_E=int(kind == "acquire"),
    )


# rows of registers that show a core's own: the engine's name, with the number where there are several
_CORE_REGISTERS = {
    "CORE_R": "r", "CORE_M": "m", "CORE_DN": "dn", "CORE_DJ": "dj", "CORE_DC": "dc", "CORE_P": "p",
    "CORE_S": "s", "CORE_PC": "pc", "CORE_SP": "SP", "CORE_LR": "lr", "CORE_LS": "LS", "CORE_LE": "LE",
    "CORE_LC": "LC", "CORE_DP": "DP",
}  # fmt: skip


def core_register(name: str, index: int) -> str | None:
    """The core's name ("r5", "LC") of the `index`-th register of row `name` of the tile; None for others."""
    found = _CORE_REGISTERS.get(name)
    if found is None or register(TileKind.COMPUTE, name).count == 1:
        return found
    return f"{found}{index}"
