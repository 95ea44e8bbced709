"""From an MLIR file to numbers on AMD's XDNA NPU, on an emulated device or the real one."""

__version__ = "0.1.0"
