"""What an external compiler's last words mean: a table of messages with their remedies.

Sources: the issues of nod-ai/iree-amd-aie named in each row, its sources, and facts/iree-amd-aie.md
section 8. The first row that matches is taken, so what is special stands before what is general.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import CompileError
from .tool import ToolRun

_LARGEST_DIAGNOSTICS = 64 << 10


@dataclass(frozen=True, slots=True)
class Failure:
    """A known failure: what it looks like, what it is, what to do."""

    pattern: re.Pattern[str]
    what: str
    remedy: str


def _failure(pattern: str, what: str, remedy: str) -> Failure:
    return Failure(re.compile(pattern, re.IGNORECASE), what, remedy)


FAILURES = (
    _failure(
        r"_XAie_LoadProgMemSection|program memory|\.text.{0,40}(overflow|will not fit)",
        "a core program does not fit into the 16 KiB of program memory",
        "outline less: --backend-flag=--iree-amdaie-enable-function-outlining=all, or smaller tiles (#846)",
    ),
    _failure(
        r"undefined symbol: (matmul|zero_fill|trunci|softmax)_",
        "there is no microkernel for this tile shape",
        "leave microkernels out: --backend-flag=--iree-amdaie-enable-ukernels=none (#985)",
    ),
    _failure(
        r"stack.{0,80}(exceed|larger than|greater than|too (small|large)|overflow)",
        "the stack of a core is too small; overflowing, it would corrupt the data beside it",
        "raise it: --backend-flag=--iree-amdaie-stack-size=2048 (#1261)",
    ),
    _failure(
        r"xclbinutil.{0,80}(not found|does not exist|no such|could not|failed to find)"
        r"|(could not|failed to|unable to) find.{0,40}xclbinutil",
        "this build of the compiler has no xclbinutil",
        "use --backend-option device-hal=amdxdna: aiepipe makes the xclbin itself; or give install-dir",
    ),
    _failure(
        r"program ['\"]?/?bin/(opt|llc|clang).{0,40}(not exist|not found)"
        r"|peano.{0,80}(not found|does not exist|not set|could not)",
        "Peano, the compiler of the core programs, was not found",
        "give the folder that has its bin/: --peano-dir DIR or PEANO_INSTALL_DIR",
    ),
    _failure(
        r"(xchesscc|chess).{0,120}licen[sc]e|licen[sc]e.{0,60}(checkout|failed|not found)",
        "chess found no licence",
        "set XILINXD_LICENSE_FILE, or use Peano: do not enable chess",
    ),
    _failure(
        r"(xchesscc|aietools|vitis).{0,80}(not found|does not exist|could not find|not set)",
        "Vitis was not found, and chess is needed",
        "give --backend-option vitis-dir=DIR, or use Peano "
        "(--backend-flag=--iree-amd-aie-enable-chess-for-ukernel=false)",
    ),
    _failure(
        r"arbiter|packet.{0,40}(deadlock|conflict)",
        "the router found no way that cannot deadlock",
        "choose which flows are packets: --backend-flag=--iree-amdaie-packet-flow-strategy=inputs (#1254)",
    ),
    _failure(
        r"does not divide",
        "the shape is no multiple of the matrix instruction's",
        "pad the operands to the multiple in the message, or use another element type",
    ),
    _failure(
        r"unhandled NPU partitioning",
        "this target device cannot be built for",
        "choose --backend-option target-device=npu1_4col or npu4",
    ),
    _failure(
        r"additional-peano-opt-flags|flagStringToVector",
        "the value of --iree-amd-aie-additional-peano-opt-flags must begin and end with a double quote",
        "write it as '--backend-flag=--iree-amd-aie-additional-peano-opt-flags=\"-O3\"'",
    ),
    _failure(
        r"bootgen|\.bif",
        "bootgen refused the design",
        "take $ and spaces out of function names and paths (#513)",
    ),
    _failure(
        r"(instance|kernel) name.{0,60}(64|too long|length)|xclbinutil.{0,80}error",
        "xclbinutil refused the kernel, most likely for its name",
        "use a shorter function name: name, ordinal and instance have 64 characters together (#188)",
    ),
    _failure(
        r"unknown command line argument|for the .{0,80} option:|not a valid|Unknown command line",
        "the compiler does not know an option",
        "its options change between versions: see the one that it names in its --help, and --backend-flag",
    ),
    _failure(
        r"(failed to|could not) (allocate|fit).{0,60}(memory|buffer|tile)|allocated buffers exceeded",
        "the tiles do not fit into the memory of a core",
        "use a smaller shape, or --backend-flag=--iree-amdaie-tile-pipeline=pack-peel-4-level-tiling",
    ),
)


def compile_failure(tool: str, run: ToolRun, file: str) -> CompileError:
    """The error for a command that ended with an exit code other than 0."""
    first = _first_error(run.output)
    for known in FAILURES:
        if known.pattern.search(run.output):
            said = f" ({first})" if first else ""
            return _error(f"{tool}: {known.what}{said}", known.remedy, run, file)
    what = first or f"it ended with exit code {run.exit_code} and said nothing"
    return _error(f"{tool}: {what}", f"its whole log is {run.log}", run, file)


def _error(message: str, remedy: str, run: ToolRun, file: str) -> CompileError:
    log = "" if str(run.log) in remedy else f"; its log is {run.log}"
    return CompileError(
        message,
        location=file,
        remedy=remedy + log,
        diagnostics=f"$ {run.line}\n{run.output[:_LARGEST_DIAGNOSTICS]}",
    )


def _first_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    found = next((line for line in lines if re.search(r"\berror\b|\bfatal\b", line, re.IGNORECASE)), "")
    return (found or (lines[-1] if lines else ""))[:300]
