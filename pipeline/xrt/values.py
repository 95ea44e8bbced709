"""pyxrt's enums, and how its functions refuse arguments. Names and numbers: XRT's pyxrt.cpp.

They behave as pybind11's enums do: equal only to members of their own type, convertible to int, not
accepted from an int, and printed as `???` where the number has no name (RUNNING, 3).
"""

from __future__ import annotations

import enum
import operator
from typing import Self, SupportsIndex, cast


class BoundEnum(enum.Enum):
    """A pybind11 enum: `int(member)` and `operator.index(member)` work, `member == 4` is False."""

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return int(self.value)

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, int):
            return None
        unnamed = object.__new__(cls)
        unnamed._name_ = "???"
        unnamed._value_ = value
        return unnamed

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._value_ == self._value_

    def __hash__(self) -> int:
        return hash(self._value_)


class xclBOSyncDirection(BoundEnum):  # noqa: N801 (pyxrt's name)
    """Which way `bo.sync` moves data."""

    XCL_BO_SYNC_BO_TO_DEVICE = 0
    XCL_BO_SYNC_BO_FROM_DEVICE = 1
    XCL_BO_SYNC_BO_GMIO_TO_AIE = 2
    XCL_BO_SYNC_BO_AIE_TO_GMIO = 3


class ert_cmd_state(BoundEnum):  # noqa: N801
    """State of a command. Not monotonic, and RUNNING (3) has no name, as in pyxrt."""

    ERT_CMD_STATE_NEW = 1
    ERT_CMD_STATE_QUEUED = 2
    ERT_CMD_STATE_COMPLETED = 4
    ERT_CMD_STATE_ERROR = 5
    ERT_CMD_STATE_ABORT = 6
    ERT_CMD_STATE_SUBMITTED = 7
    ERT_CMD_STATE_TIMEOUT = 8
    ERT_CMD_STATE_NORESPONSE = 9
    ERT_CMD_STATE_SKERROR = 10
    ERT_CMD_STATE_SKCRASHED = 11


xrt_info_device = BoundEnum(
    "xrt_info_device",
    {
        "bdf": 0,
        "interface_uuid": 1,
        "kdma": 2,
        "max_clock_frequency_mhz": 3,
        "m2m": 4,
        "name": 5,
        "nodma": 6,
        "offline": 7,
        "electrical": 8,
        "thermal": 9,
        "mechanical": 10,
        "memory": 11,
        "platform": 12,
        "pcie_info": 13,
        "host": 14,
        "dynamic_regions": 17,  # 15 and 16 are the AIE keys, which pyxrt leaves out
        "vmr": 18,
    },
    module=__name__,
)
"""Keys of `device.get_info`, numbered as xrt::info::device."""


class xrt_msg_level(BoundEnum):  # noqa: N801
    """Levels of `log_message`; exported to the module too."""

    emergency = 0
    alert = 1
    critical = 2
    error = 3
    warning = 4
    notice = 5
    info = 6
    debug = 7


def incompatible(function: str, signatures: tuple[str, ...], *arguments: object) -> TypeError:
    """pybind11's refusal of arguments that fit no overload."""
    kind = "constructor" if function == "__init__" else "function"
    listed = "\n".join(f"    {number}. {text}" for number, text in enumerate(signatures, 1))
    given = ", ".join(repr(argument) for argument in arguments)
    return TypeError(
        f"{function}(): incompatible {kind} arguments. The following argument types are supported:\n"
        f"{listed}\n\nInvoked with: {given}"
    )


def as_int(value: object) -> int | None:
    """`value` as pybind11 converts it to a C integer (through __index__), or None where it refuses."""
    try:
        return operator.index(cast("SupportsIndex", value))
    except TypeError:
        return None


def as_unsigned(value: object) -> int | None:
    """The same for size_t and unsigned int: a negative number is refused."""
    number = as_int(value)
    return None if number is None or number < 0 else number


def invalid_argument(message: str) -> RuntimeError:
    """An xrt_core::error with errno EINVAL, as Python sees it."""
    return RuntimeError(f"{message}: Invalid argument")
