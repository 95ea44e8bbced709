"""pyxrt's module surface over the emulated NPU: same names, signatures and error texts.

    from aiepipe.xrt import emulated as pyxrt

What pyxrt cannot say stands in `emulation` (seed, coherency model, events). Names: XRT
2.26's pyxrt.cpp; quirks: docs/syncs.md.
"""

from __future__ import annotations

import logging

import numpy as np

from .buffers import bo
from .contexts import device, hw_context, kernel
from .control_code import elf, module, program
from .emulation import Emulation, Settings, configure, current, emulation
from .extension import aie, ext, graph
from .images import uuid, xclbin, xclbinip_vector, xclbinkernel_vector, xclbinmem_vector
from .runs import run, runlist
from .values import ert_cmd_state, xclBOSyncDirection, xrt_info_device, xrt_msg_level

__all__ = [
    "XCL_BO_FLAGS_NONE",
    "Emulation",
    "Settings",
    "aie",
    "alert",
    "bo",
    "configure",
    "critical",
    "current",
    "debug",
    "device",
    "elf",
    "emergency",
    "emulation",
    "enumerate_devices",
    "error",
    "ert_cmd_state",
    "ext",
    "graph",
    "hw_context",
    "info",
    "kernel",
    "log_message",
    "module",
    "notice",
    "program",
    "reseed",
    "run",
    "runlist",
    "uuid",
    "warning",
    "xclBOSyncDirection",
    "xclbin",
    "xclbinip_vector",
    "xclbinkernel_vector",
    "xclbinmem_vector",
    "xrt_info_device",
    "xrt_msg_level",
]

XCL_BO_FLAGS_NONE = 0

emergency = xrt_msg_level.emergency
alert = xrt_msg_level.alert
critical = xrt_msg_level.critical
error = xrt_msg_level.error
warning = xrt_msg_level.warning
notice = xrt_msg_level.notice
info = xrt_msg_level.info
debug = xrt_msg_level.debug

_SEVERITY = {
    emergency: logging.CRITICAL,
    alert: logging.CRITICAL,
    critical: logging.CRITICAL,
    error: logging.ERROR,
    warning: logging.WARNING,
    notice: logging.INFO,
    info: logging.INFO,
    debug: logging.DEBUG,
}


def enumerate_devices() -> int:
    """Number of devices: one emulated NPU."""
    return 1


def log_message(level: xrt_msg_level, tag: str, message: str) -> None:
    """Sends a message to the log (Python's, named as the tag)."""
    logging.getLogger(f"xrt.{tag}").log(_SEVERITY[level], "%s", message)


def reseed(seed: int) -> None:
    """Starts the draws of the current emulation (evictions, prefetches) again from `seed`. Ours."""
    current().random = np.random.default_rng(seed)
