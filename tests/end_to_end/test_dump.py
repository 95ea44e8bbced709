"""`aiepipe dump` and `aiepipe disasm` on real artifacts, whose facts stand here by value, and on our own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from aiepipe.description import SECTIONS
from aiepipe.explain.artifact import EXPLAINERS
from aiepipe.formats import elf
from aiepipe.isa.disassembly import reassemble

from .conftest import Cli

SEED = "iree-seed-matmul-i32"
MATMUL = Path(__file__).resolve().parents[2] / "mlir" / "matmul.mlir"


def content(cli: Cli, file: Path, *options: str) -> Any:
    done = cli("dump", str(file), "--json", *options)
    assert done.code == 0, done.err
    assert next(iter(done.document)) == "schema"
    return done.document["content"]


def cases(corpus: Path) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", json.loads((corpus / "cases.json").read_text())["cases"])


def test_every_case_is_called_as_it_is_said_to_be(cli: Cli, corpus: Path) -> None:
    """corpus/cases.json says of each how it is called, and in which form its stream is."""
    for case in cases(corpus):
        container = content(cli, corpus / case["xclbin"])
        (kernel,) = container["kernels"]
        assert kernel["convention"] == case["call"].partition(":")[0]
        stream = content(cli, corpus / case["insts"])
        form = f"{stream['form']} {stream['encoding']}".lower().replace("txn ", "txn-")
        said = case["insts_format"].partition(",")[0].replace("lx6-text", "lx6 text")
        assert form == said, case["name"]


def test_every_case_has_the_buffers_that_it_is_said_to_have(cli: Cli, corpus: Path) -> None:
    """The streams of the cases move exactly the data buffers of cases.json, inputs in and outputs out."""
    for case in cases(corpus):
        transfers = content(cli, corpus / case["insts"], "--section", "transfers")["transfers"]
        moved = {
            (transfer["descriptor"]["argument"], transfer["task"]["channel"][:4]) for transfer in transfers
        }
        args = cast("list[dict[str, Any]]", case["args"])
        assert moved == {
            (number, "S2MM" if arg.get("output") else "MM2S") for number, arg in enumerate(args)
        }, case["name"]


def test_cores_of_the_cases(cli: Cli, corpus: Path) -> None:
    """cases.json: "cores (0,2)..(0,5)" of the seed, 1 core of the others, 3 of distribute-l2."""
    wanted = {SEED: 4, "distribute-l2-empty-sequence": 3}
    for case in cases(corpus):
        image = content(cli, corpus / case["xclbin"])["images"][0]["image"]
        assert len(image["configuration"]["cores"]) == wanted.get(case["name"], 1)


def test_the_seeds_routes(cli: Cli, corpus: Path) -> None:
    """Broadcasts of the four-core matmul: A to pairs of rows, B to pairs of columns of the result."""
    done = cli("dump", str(corpus / SEED / "final.xclbin"), "--section", "routes")
    assert done.code == 0
    routes = [line.split("  ")[2].strip() for line in done.out.splitlines() if "->" in line]
    assert len(routes) == 16
    for wanted in (
        "shim (0,0) TileCtrl -> controller",
        "shim (0,0) MM2S 0 -> memory tile (0,1) S2MM 0",
        "memory tile (0,1) MM2S 0 -> shim (0,0) S2MM 0",
        "memory tile (0,1) MM2S 1 -> core (0,2) S2MM 0",
        "memory tile (0,1) MM2S 1 -> core (0,2) -> core (0,3) S2MM 0",
        "core (0,5) MM2S 0 -> core (0,4) -> core (0,3) -> core (0,2) -> memory tile (0,1) S2MM 5",
    ):
        assert any(wanted == " ".join(route.split()) for route in routes), wanted


def test_the_gemms_token_route_is_packet_switched(cli: Cli, corpus: Path) -> None:
    """A shim of the TXN era: id 15 to the controller (facts/formats.md, the golden word 0x0F1F0135)."""
    routes = content(cli, corpus / "gemm256-i16-1core" / "final.xclbin")["images"][0]["image"][
        "configuration"
    ]["routes"]
    tokens = [route for route in routes if route["end"]["port"] == "controller"]
    assert [route["packet_ids"] for route in tokens] == [[15]]


def test_the_seeds_module_holds_its_xclbin_and_stream(cli: Cli, corpus: Path) -> None:
    done = cli("dump", str(corpus / SEED / "module.vmfb"))
    assert done.code == 0
    assert "configuration 0: xclbin, 28,359 bytes" in done.out
    assert "lx6 as binary" in done.out


def test_what_is_no_artifact_is_exit_4_and_lists_what_is_understood(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "final.xclbin"
    file.write_bytes(b"not at all")
    done = cli("dump", str(file))
    assert (done.code, done.out) == (4, "")
    assert "understood: xclbin, PDI, CDO" in done.err
    assert cli("disasm", str(file)).code == 4
    assert cli("dump", str(file), "--json").document["error"] == "ArtifactError"


def test_the_help_tells_sections_and_kinds(cli: Cli) -> None:
    text = " ".join(cli("dump", "--help").out.split())
    assert all(name in text for name in (*SECTIONS, *EXPLAINERS) if "-" not in name)  # help wraps at -
    assert cli("dump", str(MATMUL), "--section", "nonsense").code == 2


def test_listings_of_the_corpus_assemble_to_the_same_bytes(cli: Cli, corpus: Path) -> None:
    for file in sorted(corpus.rglob("*.elf")):
        done = cli("disasm", str(file))
        assert done.code == 0, done.err
        assert reassemble(done.out) == elf.parse(file.read_bytes()).text, file


def test_one_core_of_the_seed(cli: Cli, corpus: Path) -> None:
    done = cli("disasm", str(corpus / SEED / "final.xclbin"), "--core", "0,4", "--json")
    (program,) = done.document["programs"]
    assert program["core"]["name"] == "core (0,4)"
    assert program["size_bytes"] == 4384
    assert cli("disasm", str(corpus / SEED / "final.xclbin"), "--core", "1,2").code == 2


@pytest.fixture
def built(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of our own matmul, as the current one, so that outputs name no place of this machine."""
    done = cli("build", str(MATMUL), "-o", str(tmp_path), "--cores", "1x1")
    assert done.code == 0, done.err
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_our_own_matmul_looks_as_it_did(cli: Cli, built: Path, golden: Callable[[str, str], None]) -> None:
    """Same input, same bytes, same text; when the backend changes, --update-golden and a look at the diff."""
    (container,) = built.glob("*.xclbin")
    (stream,) = built.glob("*.npu_inst.txt")
    texts = [cli("dump", container.name).out, cli("dump", stream.name).out]
    golden("matmul-dump.txt", "\n".join(texts))


def test_our_own_program_disassembles_with_its_symbols(cli: Cli, built: Path) -> None:
    (file,) = built.glob("core_0_2.elf")
    done = cli("disasm", file.name)
    program = elf.parse(file.read_bytes())
    assert reassemble(done.out) == program.text
    assert all(f"\n{symbol.name}:\n" in done.out for symbol in program.symbols if symbol.address)
    assert ".byte" not in done.out
