"""The pyxrt device API: the emulated device, discovery of the real one, sync policies, the runner."""

from .hosting import Host, emulated_pyxrt

__all__ = ["Host", "emulated_pyxrt"]
