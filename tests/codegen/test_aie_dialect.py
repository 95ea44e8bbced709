"""`--emit aie` against the artifact: what the text says is what the CDO and the stream write, as
`aiepipe dump` decodes them. The reader of the text here is a few regular expressions of its own."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from aiepipe.backends.mlir_aie import read_buffers
from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.description import Configuration, Container, Descriptor, Stream
from aiepipe.explain.artifact import explain
from aiepipe.program import Artifact, Dispatch

from .dispatches import batch_matmul, fill, matmul

DISPATCHES = {
    "scalar": matmul(9, 7, 5),
    "accumulating": matmul(9, 7, 5, fill=None),
    "one core": matmul(8, 8, 8, operand="i8"),
    "array": matmul(70, 92, 120, operand="i8"),
    "bf16": matmul(64, 64, 64, operand="bf16", accumulator="f32"),
    "batch": batch_matmul(2, 12, 20, 16, operand="i16"),
    "fill": fill(5, 100),
}


@pytest.fixture(scope="module", params=list(DISPATCHES))
def emitted(request: pytest.FixtureRequest) -> tuple[Dispatch, Artifact, str]:
    dispatch = DISPATCHES[request.param]
    artifact = compile_dispatch(dispatch, CompileOptions(aie=True))
    return dispatch, artifact, artifact.files[f"{artifact.entry}.aie.mlir"].decode()


def configuration(artifact: Artifact) -> Configuration:
    content = explain(artifact.xclbin)
    assert isinstance(content, Container)
    (image,) = content.images
    return image.image.configuration


def stream(artifact: Artifact) -> Stream:
    content = explain(artifact.instructions)
    assert isinstance(content, Stream)
    return content


def place(name: str) -> tuple[int, int]:
    column, row = re.findall(r"\d+", name)[:2]
    return int(column), int(row)


def test_locks_begin_with_the_values_that_the_cdo_writes(emitted: tuple[Dispatch, Artifact, str]) -> None:
    _, artifact, text = emitted
    told = {
        (*place(tile), int(number)): int(init)
        for tile, number, init in re.findall(r"aie\.lock\((%tile\w+), (\d+)\) \{init = (\d+)", text)
    }
    written = {
        (lock.tile.column, lock.tile.row, lock.lock): lock.value for lock in configuration(artifact).locks
    }
    assert {key: value for key, value in written.items() if value} == {
        key: value for key, value in told.items() if value
    }
    assert set(told) <= set(written)


Ring = tuple[int, int, int | None, list[tuple[int, int]], str, str]


def rings(text: str) -> dict[tuple[int, int, int], Ring]:
    """BDs in rings: address, length, the next one, dimensions (outermost first), and both locks."""
    buffers = dict(re.findall(r"(%buffer\w+) = aie\.buffer\(%tile\w+\) \{address = (\d+)", text))
    form = re.compile(
        r"aie\.use_lock\(%(\w+), AcquireGreaterEqual, 1\)\s+"
        r"aie\.dma_bd\((%buffer_(\d+)_(\d+)_\w+) : memref<\d+xi32>, 0, (\d+)(.*)\) "
        r"\{bd_id = (\d+) : i32(?:, next_bd_id = (\d+) : i32)?\}\s+aie\.use_lock\(%(\w+), Release, 1\)"
    )
    found: dict[tuple[int, int, int], Ring] = {}
    for acquire, buffer, column, row, length, dims, number, following, release in form.findall(text):
        sizes = [(int(a), int(b)) for a, b in re.findall(r"size = (\d+), stride = (\d+)", dims)]
        key = int(column), int(row), int(number)
        found[key] = (
            int(buffers[buffer]),
            int(length),
            int(following) if following else None,
            sizes or [(int(length), 1)],
            acquire,
            release,
        )
    return found


def dimensions_of(bd: Descriptor) -> list[tuple[int, int]]:
    """What the BD walks over, outermost first, from dump's own reading of its words."""
    found: list[tuple[int, int]] = []
    left = bd.length_words
    for dimension in bd.dimensions:
        size = dimension.wrap if dimension.wrap is not None else left
        found.append((size, dimension.step_words))
        left //= size
    return found[::-1] or [(bd.length_words, 1)]  # no dimension: one plain run


def test_rings_are_the_bds_of_the_cdo(emitted: tuple[Dispatch, Artifact, str]) -> None:
    _, artifact, text = emitted
    told = rings(text)
    started = set(re.findall(r"aiex\.npu\.writebd \{bd_id = (\d+).*?column = (\d+) :.*?row = (\d+)", text))
    single = {(int(column), int(row), int(number)) for number, column, row in started}
    bds = {(bd.tile.column, bd.tile.row, bd.number): bd for bd in configuration(artifact).bds}
    assert set(told) | single == set(bds)
    assert not set(told) & single
    for key, (address, length, following, dims, acquire, release) in told.items():
        bd = bds[key]
        assert (address, length, following) == (bd.address, bd.length_words, bd.next_bd), key
        assert dims == dimensions_of(bd), key
        assert bd.acquire is not None
        assert bd.release is not None
        locks = (acquire.rsplit("_", 1)[1], release.rsplit("_", 1)[1])
        assert locks == (str(bd.acquire.lock), str(bd.release.lock)), key


def test_bds_that_the_stream_starts_are_written_as_the_cdo_writes_them(
    emitted: tuple[Dispatch, Artifact, str],
) -> None:
    _, artifact, text = emitted
    bds = {(bd.tile.column, bd.tile.row, bd.number): bd for bd in configuration(artifact).bds}
    for line in re.findall(r"aiex\.npu\.writebd \{(.*)\}", text):
        fields = {name: int(value) for name, value in re.findall(r"(\w+) = (-?\d+) : i32", line)}
        bd = bds[fields["column"], fields["row"], fields["bd_id"]]
        assert fields["buffer_length"] == bd.length_words
        for number, dimension in enumerate(bd.dimensions[:3]):
            assert fields[f"d{number}_stride"] == dimension.step_words - 1
        assert [fields[f"d{d}_zero_after"] for d in range(3)] == [*bd.zeros_after, 0, 0, 0][:3]
        turns = 1 if bd.iteration is None else bd.iteration.wrap
        assert fields["iteration_size"] == turns - 1


def test_flows_are_the_routes_that_the_switches_make(emitted: tuple[Dispatch, Artifact, str]) -> None:
    _, artifact, text = emitted
    told = Counter(
        (place(source), place(end))
        for source, end in re.findall(r"aie\.flow\((%tile\w+), \w+ : \d+, (%tile\w+), \w+ : \d+\)", text)
    )
    made = Counter[tuple[tuple[int, int], tuple[int, int]]]()
    for route in configuration(artifact).routes:
        assert route.end is not None
        source, end = route.source.tile, route.end.tile
        made[(source.column, source.row), (end.column, end.row)] += 1
    assert told == made


def test_the_sequence_does_what_the_stream_does(emitted: tuple[Dispatch, Artifact, str]) -> None:
    _, artifact, text = emitted
    copies = re.findall(
        r"dma_memcpy_nd\(%arg(\d+)\[0, 0, 0, (\d+)\]\[(.*?)\]\[(.*?)\]\) \{.*?"
        r"metadata = @shim_(\d)_(\w+)_(\d)",
        text,
    )
    told: list[tuple[int, int, int, int, str]] = []
    for argument, first, sizes, _, column, direction, channel in copies:
        words = 1
        for size in sizes.split(", "):
            words *= int(size)
        told.append((int(argument), 4 * int(first), 4 * words, int(column), f"{direction.upper()} {channel}"))
    done = [
        (bd.argument, bd.address, 4 * bd.length_words, t.task.tile.column, t.task.channel)
        for t in stream(artifact).transfers
        for bd in [t.descriptor]
        if t.task.tile.row == 0 and bd is not None
    ]
    assert told == done
    steps = Counter(step.operation for step in stream(artifact).operations for _ in range(step.count))
    assert text.count("aiex.npu.sync") == steps["SYNC"]
    blocks = steps["BLOCKWRITE"] - len(copies)
    assert text.count("aiex.npu.blockwrite") == blocks
    assert text.count("aiex.npu.write32") == steps["WRITE32"] - len(copies)


def test_buffers_do_not_overlap_and_cores_have_their_code(emitted: tuple[Dispatch, Artifact, str]) -> None:
    _, artifact, text = emitted
    last: dict[str, int] = {}
    for tile, address, words in re.findall(
        r"aie\.buffer\((%tile\w+)\) \{address = (\d+).*?memref<(\d+)xi32>", text
    ):
        assert int(address) >= last.get(tile, 0), tile
        last[tile] = int(address) + 4 * int(words)
        assert last[tile] <= (64 << 10 if place(tile)[1] > 1 else 512 << 10)
    named = re.findall(r'elf_file = "(.*?)"', text)
    assert sorted(named) == sorted(name for name in artifact.files if name.endswith(".elf"))


def test_the_text_is_a_design_that_our_mlir_aie_driver_reads(emitted: tuple[Dispatch, Artifact, str]) -> None:
    dispatch, _, text = emitted
    found = read_buffers("design.mlir", text)
    sizes = [-(-binding.type.size_bytes // 4) for binding in dispatch.bindings]
    assert [buffer.shape for buffer in found] == [(size,) for size in sizes]
    assert text.count("{") == text.count("}")
    values = re.findall(r"^\s*(%\w+) = aie\.(?:tile|lock|buffer|mem|memtile_dma|core)\(", text, re.MULTILINE)
    assert len(values) == len(set(values))


def test_same_dispatch_same_text() -> None:
    artifacts = [compile_dispatch(DISPATCHES["array"], CompileOptions(aie=True)) for _ in range(2)]
    assert artifacts[0].files == artifacts[1].files
    assert not any(n.endswith(".mlir") for n in compile_dispatch(DISPATCHES["fill"], CompileOptions()).files)
