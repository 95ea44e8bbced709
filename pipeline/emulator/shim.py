"""The shim's DMA and its stream switch: joined only where mux and demux say so (npu.topology)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..npu.registers import register
from ..npu.topology import SHIM_MUX_DMA, Port, TileAddress, TileKind
from .fabric import Fabric, Outlet
from .streams import DeadEnd, Route, Sink


class ShimOutlet(Outlet):
    """An MM2S channel of a shim, which enters the switch only where the mux selects the DMA."""

    def __init__(self, fabric: Fabric, tile: TileAddress, slave: Port, registers: Mapping[int, int]) -> None:
        super().__init__(fabric, tile, slave)
        self._registers = registers

    def _follow(self) -> Route:
        if _selects_dma(self._registers, "MUX_CONFIG", self.slave):
            return super()._follow()
        return Route((DeadEnd(f"the mux of {self.tile}, which does not select the DMA for {self.slave}"),))


def shim_end(
    tile: TileAddress, master: Port, registers: Mapping[int, int], channel: Callable[[], Sink]
) -> Callable[[], Sink]:
    """What stands behind `master` of the shim's switch at any time: the S2MM channel, or nothing."""

    def end() -> Sink:
        if _selects_dma(registers, "DEMUX_CONFIG", master):
            return channel()
        return DeadEnd(f"the demux of {tile}, which does not select the DMA for {master}")

    return end


def _selects_dma(registers: Mapping[int, int], name: str, port: Port) -> bool:
    config = register(TileKind.SHIM, name)
    word = registers.get(config.offset, 0)
    return config.field(f"{port.bundle.value.upper()}{port.channel}").get(word) == SHIM_MUX_DMA
