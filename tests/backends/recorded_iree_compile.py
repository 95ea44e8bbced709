"""An executable that keeps the contract of iree-amd-aie's iree-compile, as its sources and CI record it.

It checks its arguments strictly, by the names of an era, and leaves the files that the real one leaves; the
bytes in them are real artifacts, made before by our built-in backend or taken from the corpus. What it
cannot show is what the real compiler makes of a program. Started by `conftest.install`, which writes
`contract.json` beside it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

COMMON = {
    "iree-hal-target-backends": None,
    "iree-hal-dump-executable-files-to": None,
    "iree-scheduling-optimize-bindings": ("true", "false"),
    "iree-hal-memoization": ("true", "false"),
    "iree-hal-indirect-command-buffers": ("true", "false"),
    "iree-opt-const-eval": ("true", "false"),
    "iree-input-demote-f64-to-f32": ("true", "false"),
    "iree-amd-aie-peano-install-dir": None,
    "iree-amd-aie-vitis-install-dir": None,
    "iree-amd-aie-install-dir": None,
    "iree-amd-aie-show-invoked-commands": ("",),
}
"""Options that all eras have, with their values where these are few."""

TARGETS = ("npu1", "npu1_1col", "npu1_2col", "npu1_3col", "npu1_4col", "npu4")
ERAS: dict[str, dict[str, tuple[str, ...] | None]] = {
    # before nod-ai/iree-amd-aie's device HALs, Apr to Oct 2024
    "2024": {
        **COMMON,
        "iree-amd-aie-mlir-aie-install-dir": None,
        "iree-amdaie-use-pipeline": ("pack-peel", "pad-pack", "simple-pack"),
    },
    # from fad96292 (Oct 2024) to 7864db10 (May 2026)
    "2025": {
        **COMMON,
        "iree-amdaie-device-hal": ("xrt", "xrt-lite"),
        "iree-amdaie-target-device": TARGETS,
        "iree-amdaie-stack-size": None,
    },
    "2026": {
        **COMMON,
        "iree-amdaie-device-hal": ("xrt", "amdxdna"),
        "iree-amdaie-target-device": TARGETS,
        "iree-amdaie-stack-size": None,
        "iree-amdaie-enable-ukernels": None,
    },
}
STREAM_ENDING = {"2024": ".npu.txt", "2025": ".npu_inst.txt", "2026": ".npu_inst.txt"}
MANDATORY = (
    "iree-scheduling-optimize-bindings",
    "iree-hal-memoization",
    "iree-hal-indirect-command-buffers",
)


def main() -> int:
    here = Path(sys.argv[0]).resolve().parent
    contract: dict[str, Any] = json.loads((here / "contract.json").read_text())
    arguments = sys.argv[1:]
    with (here / "calls.jsonl").open("a") as log:
        log.write(json.dumps({"arguments": arguments, "cwd": os.getcwd()}) + "\n")
    options = ERAS[contract["era"]]
    if arguments == ["--iree-hal-list-target-backends"]:
        print("Registered target backends:", *contract["targets"], sep="\n  ")
        return 0
    if arguments == ["--version"]:
        print(
            "IREE (https://iree.dev):\n  IREE compiler version 3.5.0dev @ 26083307b\n  LLVM version 22.0.0git"
        )
        return 0
    if arguments == ["--help"]:
        print_help(options)
        return 0
    return compile_module(arguments, options, contract, here)


def print_help(options: dict[str, tuple[str, ...] | None]) -> None:
    print("OVERVIEW: IREE compilation driver\n\nUSAGE: iree-compile [options] <input file>\n\nOPTIONS:\n")
    for name, values in options.items():
        if values is None:
            print(f"  --{name}=<string>    - text")
        elif set(values) <= {"", "true", "false"}:
            print(f"  --{name}    - text")
        else:
            print(f"  --{name}=<value>    - text")
            print("".join(f"    ={value}    -   text\n" for value in values), end="")


def compile_module(
    arguments: list[str], options: dict[str, tuple[str, ...] | None], contract: dict[str, Any], here: Path
) -> int:
    given, source, output = parse(arguments, options)
    text = source.read_text()
    if "func.func" not in text:
        fail(f"{source}:1:1: error: no function")
    if given.get("iree-hal-target-backends") != "amd-aie":
        fail("error: target backend is not amd-aie")
    for name in MANDATORY:
        if given.get(name) != "false":
            fail(f"error: the HAL drivers need --{name}=false")
    peano = given.get("iree-amd-aie-peano-install-dir", "")
    if not Path(peano, "bin", "opt").is_file():
        fail(f"error: Program {peano}/bin/opt does not exist\nLLVM ERROR: failed to translate executables")
    behave(contract)
    dump = Path(given["iree-hal-dump-executable-files-to"])
    leave(contract, given, dump, output, here / "artifacts")
    return 0


def parse(
    arguments: list[str], options: dict[str, tuple[str, ...] | None]
) -> tuple[dict[str, str], Path, Path]:
    given: dict[str, str] = {}
    files: list[str] = []
    output = None
    words = iter(arguments)
    for word in words:
        if word == "-o":
            output = next(words)
        elif word.startswith("--"):
            name, _, value = word[2:].partition("=")
            if name not in options:
                fail(f"iree-compile: Unknown command line argument '{word}'.  Try: 'iree-compile --help'")
            if name in given:
                fail(f"iree-compile: for the --{name} option: may only occur zero or one times!")
            values = options[name]
            if values is not None and value not in values:
                fail(f"iree-compile: for the --{name} option: Cannot find option named '{value}'!")
            given[name] = value
        else:
            files.append(word)
    if len(files) != 1 or output is None:
        fail("iree-compile: one input and -o are needed")
    return given, Path(files[0]), Path(output)


def behave(contract: dict[str, Any]) -> None:
    """Ends as the test wants, where it does not want a success."""
    if contract.get("says"):
        fail(contract["says"])
    if contract.get("signal"):
        os.kill(os.getpid(), getattr(signal, contract["signal"]))
    time.sleep(contract.get("sleeps", 0))


def leave(contract: dict[str, Any], given: dict[str, str], dump: Path, output: Path, ready: Path) -> None:
    """The files of the era and device HAL, with real bytes in them."""
    driver = given.get("iree-amdaie-device-hal", "xrt") != "xrt"
    entries: list[str] = contract["entries"]
    for entry in entries:
        folder = dump / entry if len(entries) > 1 else dump
        if contract["era"] == "2024":
            folder = dump / f"module_{entry}_amdaie_xclbin_fb"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(ready / f"{entry}.npu_inst.txt", folder / (entry + STREAM_ENDING[contract["era"]]))
        if driver:
            shutil.copy(ready / f"{entry}.pdi", folder / f"{entry}.pdi")
        else:
            shutil.copy(ready / f"{entry}.xclbin", folder / f"{entry}.xclbin")
        shutil.copy(ready / f"{entry}.pdi", folder / "design.pdi")
    module = ready / ("PDIR.vmfb" if driver else "XRTR.vmfb")
    if module.is_file() and not contract.get("no_module"):
        shutil.copy(module, output)


def fail(message: str) -> NoReturn:
    sys.stderr.write(message + "\n")
    sys.exit(1)


if __name__ == "__main__":
    sys.exit(main())
