"""An executable that keeps the contract of mlir-aie's aiecc, by the options of an era, as its sources have
them: it checks its arguments and leaves the artifacts that lie beside it. Started as `bin/aiecc`."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import NoReturn

_OLD = {"--aie-generate-xclbin", "--no-compile-host", "--no-xchesscc", "--no-xbridge"}
SWITCHES = {
    "2024": _OLD | {"--aie-generate-npu"},
    "2025": _OLD | {"--aie-generate-npu-insts"},
    "2026": {"--get-xclbin", "--get-npu-insts", "--no-xchesscc", "--no-xbridge"},
}
VALUES = {"--xclbin-name", "--npu-insts-name", "--peano"}


def main() -> int:
    here = Path(sys.argv[0]).resolve().parent
    contract = json.loads((here / "contract.json").read_text())
    arguments = sys.argv[1:]
    switches = SWITCHES[contract["era"]]
    if arguments == ["--help"]:
        print("usage: aiecc [options] file\n\noptions:")
        print("".join(f"  {name}  text\n" for name in sorted(switches)), end="")
        print("".join(f"  {name} VALUE  text\n" for name in sorted(VALUES)), end="")
        return 0
    with (here / "calls.jsonl").open("a") as log:
        log.write(json.dumps(arguments) + "\n")
    *options, source = arguments
    given = {option.partition("=")[0]: option.partition("=")[2] for option in options}
    for name, value in given.items():
        if name not in switches | VALUES or (name in VALUES) != bool(value):
            fail(f"aiecc: error: unrecognized arguments: {name}")
    if "aie.device" not in Path(source).read_text():
        fail(f"{source}:1:1: error: no aie.device")
    if not Path(given.get("--peano", ""), "bin", "clang").is_file():
        fail("error: Peano compiler not found")
    if contract.get("says"):
        fail(contract["says"])
    for name, wanted in (("final.xclbin", "--xclbin-name"), ("insts", "--npu-insts-name")):
        if any(
            "xclbin" in option if name == "final.xclbin" else "n" in option
            for option in switches & set(given)
        ):
            shutil.copy(here / name, given.get(wanted, name))
    return 0


def fail(message: str) -> NoReturn:
    sys.stderr.write(message + "\n")
    sys.exit(1)


if __name__ == "__main__":
    sys.exit(main())
