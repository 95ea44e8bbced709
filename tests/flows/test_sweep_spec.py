"""Spec files of sweeps: the grid they mean, and one clear error for each fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.errors import UsageError
from aiepipe.flows.sweep_spec import SweepSpec, read_spec
from aiepipe.testing.sweep import MatmulShape, SourceFile

GRID = """
kernel = "matmul"
device = "emulated"
[grid]
shape = ["64x64x16", "8x32x16"]
type = ["i32", "i8:i32"]
fill = [7, "argument", 0.5]
flags = ["", "--iree-a --iree-b='1 2'"]
sync-policy = ["default", "no-output-presync"]
repeat = 3
seed = [1, 2]
"""


def spec(folder: Path, text: str) -> SweepSpec:
    (folder / "sweep.toml").write_text(text)
    return read_spec(str(folder / "sweep.toml"))


def test_a_grid_is_the_product_of_its_axes_in_their_order(tmp_path: Path) -> None:
    found = spec(tmp_path, GRID)
    assert len(found.points) == 2 * 2 * 3 * 2 * 2 * 1 * 2
    assert found.left_out == 0
    first, second, last = found.points[0], found.points[1], found.points[-1]
    assert first.program == MatmulShape(64, 64, 16, "i32", None, "7")
    assert (first.flags, first.policy, first.repeat, first.seed) == ((), "default", 3, 1)
    assert second.seed == 2
    assert last.program == MatmulShape(8, 32, 16, "i8", "i32", "0.5")
    assert last.flags == ("--iree-a", "--iree-b=1 2")
    assert {point.device for point in found.points} == {"emulated"}
    assert len(set(found.points)) == len(found.points)


def test_a_budget_draws_the_same_cases_each_time_and_keeps_the_order(tmp_path: Path) -> None:
    whole = spec(tmp_path, GRID).points
    found = spec(tmp_path, GRID + "[budget]\ncases = 10\nseconds = 5\n")
    assert found == spec(tmp_path, GRID + "[budget]\ncases = 10\nseconds = 5\n")
    assert (len(found.points), found.left_out, found.seconds) == (10, len(whole) - 10, 5.0)
    places = [whole.index(point) for point in found.points]
    assert places == sorted(places)
    other = spec(tmp_path, "seed = 2\n" + GRID + "[budget]\ncases = 10\n")
    assert other.points != found.points


def test_files_give_a_program_per_case_and_one_without(tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text(
        "// aiepipe-test: x\n// input: 4xi32=1\n// output: 4xi32\n// aiepipe-test: y\nfunc.func @f() {\n"
    )
    (tmp_path / "b.mlir").write_text("func.func @g() {\n")
    programs = [point.program for point in spec(tmp_path, 'files = ["*.mlir"]').points]
    assert all(isinstance(program, SourceFile) for program in programs)
    assert [(p.function, p.inputs, p.expected) for p in programs if isinstance(p, SourceFile)] == [
        ("f", ("4xi32=1",), ("4xi32=numpy",)),
        ("f", (), ()),
        (None, (), ()),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernel = ", "cannot be read as TOML"),
        ("", "either kernel or files"),
        ('kernel = "matmul"\nfiles = ["a"]', "either kernel or files"),
        ('kernel = "conv"', "no kernel 'conv'"),
        ('kernel = "matmul"', "grid.shape is missing"),
        ('kernel = "matmul"\n[grid]\nshape = "64x64"', "'64x64' is no shape"),
        ('kernel = "matmul"\n[grid]\nshape = []', "grid.shape is empty"),
        ('kernel = "matmul"\n[grid]\nshapes = "1x1x1"', "unknown key grid.shapes"),
        ('kernel = "matmul"\n[grid]\nshape = "1x1x1"\ntype = "i99"', "no type 'i99'"),
        ('kernel = "matmul"\n[grid]\nshape = "1x1x1"\nfill = true', "True is no fill"),
        ('kernel = "matmul"\n[grid]\nshape = "1x1x1"\ntranspose = "c"', "grid.transpose"),
        ('kernel = "matmul"\n[grid]\nshape = "1x1x1"\nsync-policy = "none-of-it"', "none-of-it"),
        ('kernel = "matmul"\n[grid]\nshape = "1x1x1"\nrepeat = 0', "whole number from 1"),
        ('kernel = "matmul"\n[grid]\nshape = "1x1x1"\nflags = "\'"', "grid.flags"),
        ('kernel = "matmul"\ndevice = "gpu"\n[grid]\nshape = "1x1x1"', "device is 'gpu'"),
        ('kernel = "matmul"\ngrid = 3', "grid is no table"),
        ('kernel = "matmul"\n[budget]\nseconds = -1\n[grid]\nshape = "1x1x1"', "number of seconds"),
        ('files = ["*.nothing"]', "nothing is called"),
        ('files = ["a.mlir"]\n[grid]\nshape = "1x1x1"', "unknown key grid.shape"),
    ],
)
def test_a_fault_names_the_file_and_the_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        spec(tmp_path, text)
    assert message in caught.value.message
    assert caught.value.where() == f"{tmp_path}/sweep.toml"


def test_a_grid_too_large_is_refused_before_it_is_made(tmp_path: Path) -> None:
    seeds, repeats = list(range(4000)), list(range(1, 4001))
    with pytest.raises(UsageError, match="16,000,000 points"):
        spec(
            tmp_path,
            f'kernel = "matmul"\n[grid]\nshape = "1x1x1"\nseed = {seeds}\nrepeat = {repeats}',
        )
