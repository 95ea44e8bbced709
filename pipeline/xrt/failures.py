"""The catalogue of how a device or its installation fails: what XRT, the driver or the system says, what
it means, and what to do, as a table. Codes are stable; source of each row: public issue threads (`seen_in`).

Used by the runner, its child process and the doctor, so that the same trouble has the same words everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """One kind of failure. `signs` are parts of messages that mean it; some are known otherwise only."""

    code: str
    name: str
    signs: tuple[str, ...]
    cause: str
    remedy: str
    seen_in: str = ""


FAILURES: tuple[Failure, ...] = (
    Failure(
        "E001",
        "MEMLOCK",
        ("err=-11", "Resource temporarily unavailable"),
        "the limit of locked memory is below the 64 MiB heap that the driver pins",
        "raise it: `ulimit -l unlimited`, a file in /etc/security/limits.d, or LimitMEMLOCK=infinity in a "
        "systemd unit",
        "XRT #9132, iree-amd-aie #330",
    ),
    Failure(
        "E003",
        "NO_RIGHTS",
        ("err=-13", "Permission denied"),
        "this user may not open the NPU's device node",
        "join the group 'render' (sudo usermod -aG render $USER), then log in again",
        "xdna-driver #307",
    ),
    Failure(
        "E004",
        "VERSIONS",
        ("Incompatible firmware protocol", "err=-95", "err=95"),
        "driver, XRT plug-in and firmware do not belong together",
        "install all three from one source (amdxdna driver, xrt-plugin-amdxdna, linux-firmware), then reboot",
        "xdna-driver #1074, #389, #1250, #118",
    ),
    Failure(
        "E005",
        "NO_SVA",
        ("PASID", "SVA bind", "err=-19"),
        "the process cannot share its addresses with the NPU: the IOMMU is off, or a container forbids it",
        "switch the IOMMU on in the firmware setup (and no iommu=off on the kernel's command line); in a "
        "container, give it /dev/accel",
        "lemonade #1771, xdna-driver #299",
    ),
    Failure(
        "E002",
        "NO_DEVICE",
        ("No such device", "Could not open device", "No devices found"),
        "there is no NPU, or its driver or XRT plug-in is missing",
        "check that /dev/accel/accel0 exists and that libxrt_driver_xdna.so lies beside libxrt_core; "
        "`aiepipe doctor` says which is missing",
        "xdna-driver #168, #957, mlir-aie #1618",
    ),
    Failure(
        "E006",
        "NO_PYXRT",
        ("No module named 'pyxrt'", "undefined symbol: _Py", "pyxrt is built for another Python"),
        "pyxrt is not importable by this Python",
        "pyxrt comes with XRT, not from PyPI: package python3-xrt of ppa:amd-team/xrt, or XRT's own packages",
        "xdna-driver #423, Triton-XDNA #77",
    ),
    Failure(
        "H002",
        "CONTEXTS_EXHAUSTED",
        ("0x2000003", "NOAVAIL"),
        "all hardware contexts of the device are in use (6 on npu1, 16 on npu4 to npu6, system-wide)",
        "close other programs that use the NPU; `aiepipe doctor` lists them",
        "mlir-aie's notes on its context cache",
    ),
    Failure(
        "H001",
        "WRONG_DEVICE",
        ("CREATE_HWCTX IOCTL failed (err=-22)",),
        "the device refuses the xclbin: it wants more columns than there are, or is for another generation",
        "compare the xclbin's columns (`aiepipe dump`) with the device's; else compare the versions of "
        "driver, XRT and firmware",
        "xdna-driver #1066, fastflow #58, nix-amd-ai #79",
    ),
    Failure(
        "R002",
        "DEAD_CONTEXT",
        ("err=-5", "err=-2)", "err=62", "err=-62", "CONFIG_HWCTX", "Timer expired", "Input/output error"),
        "the device's context is dead: later runs will fail, too",
        "see dmesg, reload the driver (modprobe -r amdxdna; modprobe amdxdna), and let one program at a time "
        "use the NPU (flock)",
        "mlir-aie #2294, #1539, iree-amd-aie #1266, mlir-air #1809",
    ),
    Failure(
        "A003",
        "WRONG_BANK",
        ("No host side buffer in destination buffer",),
        "a buffer lies in another memory bank than the kernel's argument",
        "make each buffer with kernel.group_id(INDEX) of its own argument",
        "mlir-aie #3653, IRON #174",
    ),
    Failure(
        "L002",
        "RUN_DROPPED",
        ("xrt::run destroyed", "destroyed while", "run was dropped"),
        "a run was released before its end was seen; XRT from 2.23 on ends the process then",
        "keep the run until wait() returned a final state",
        "XRT 2.23",
    ),
    Failure(
        "A001",
        "TOO_MANY_BUFFERS",
        ("SIGSEGV",),
        "XRT crashed: it does so when a buffer is bound past the kernel's declared arguments",
        "compare the number of buffers with the xclbin's (`aiepipe dump`)",
        "mlir-aie #3248, #1967, #1564",
    ),
    Failure(
        "R001",
        "RUN_TIMEOUT",
        ("ERT_CMD_STATE_TIMEOUT",),
        "the run did not end in time, or the driver's watchdog (2 s by default) stopped it",
        "a run that hangs most often waits for a lock or a stream: run it on the emulated device, which "
        "names who waits for whom; a long kernel needs a larger tdr_timeout_ms of amdxdna",
        "mlir-aie #2501, #2463, mlir-air #1822, #1557, #1984",
    ),
    Failure(
        "D001",
        "NOTHING_WRITTEN",
        (),
        "the run completed and no output byte changed: the instruction stream was empty, or wrote elsewhere",
        "check the instruction count and that each buffer is bound to its argument",
        "mlir-aie #1609, 1bit-MONSTER #2002",
    ),
    Failure(
        "T001",
        "HEALED_ON_REREAD",
        (),
        "the output was wrong and right when it was synced and read once more: the driver's cache flush has "
        "no fence",
        "update the XRT plug-in to one with xdna-driver 49fbb59c (July 2026) or later; the packaged 2.21.75 "
        "lacks it",
        "xdna-driver #1506, #1510, mlir-aie #3320",
    ),
)
"""In the order in which a message is looked up: the more telling sign first."""

BY_CODE = {failure.code: failure for failure in FAILURES}


def explain(text: str) -> Failure | None:
    """The failure that a message of XRT, the driver or the system means; None where none is known."""
    return next((failure for failure in FAILURES if any(sign in text for sign in failure.signs)), None)
