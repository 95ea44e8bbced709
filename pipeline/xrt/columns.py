"""H001 before it happens: an xclbin that wants more columns than the device has.

The driver refuses such a one with err=-22, as it does much else; the numbers say which it was.
"""

from __future__ import annotations

from ..errors import ArtifactError, DeviceError
from ..formats import xclbin
from .failures import BY_CODE

_NPU1_COLUMNS, _NPU4_COLUMNS = 5, 8
_COLUMNS = {
    "npu1": _NPU1_COLUMNS,
    "Phoenix": _NPU1_COLUMNS,
    "Hawk Point": _NPU1_COLUMNS,
    "npu4": _NPU4_COLUMNS,
    "npu5": _NPU4_COLUMNS,
    "npu6": _NPU4_COLUMNS,
    "Strix": _NPU4_COLUMNS,
    "Krackan": _NPU4_COLUMNS,
}
"""Columns by a part of the name that `device.get_info(name)` gives ("RyzenAI-npu1", "NPU Strix Halo");
xdna-driver: src/driver/amdxdna/npu*_regs.c."""


def refuse_too_wide(design: bytes, device_name: str) -> None:
    """Raises DeviceError H001. What is not known (a device, a file that is no xclbin) the device judges."""
    available = next((count for part, count in _COLUMNS.items() if part in device_name), None)
    wanted = _wanted(design)
    if available is None or wanted is None or wanted <= available:
        return
    known = BY_CODE["H001"]
    made = DeviceError(
        f"the xclbin wants {wanted} columns, {device_name} has {available} ({known.code}: {known.cause})",
        remedy="compile it for this device, or for fewer columns",
    )
    made.code = known.code
    raise made


def _wanted(design: bytes) -> int | None:
    try:
        return xclbin.parse(design).partition().column_width
    except ArtifactError:
        return None
