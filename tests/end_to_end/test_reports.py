"""The public reports: the right value for each, or one error that names the op.

Values are those of ../shared/reports/INDEX.md; where it gives a rule, numpy's own value of that rule is
computed here, by hand and not by our reference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Cli

ONES_TWOS_4 = ("--input=4x4xi32=1", "--input=4x4xi32=2")
X23 = "--input=2x3xi32=[[1 2 3][4 5 6]]"
X32 = "--input=3x2xi32=[[1 4][2 5][3 6]]"
Y43 = "--input=4x3xi32=[[1 0 0][0 1 0][0 0 1][1 1 1]]"
Y34 = "--input=3x4xi32=[[1 0 0 1][0 1 0 1][0 0 1 1]]"
Z24 = "--input=2x4xi32=0"
PRODUCT = "2x4xi32=[[1 2 3 6][4 5 6 15]]"

RIGHT: list[tuple[str, str | None, tuple[str, ...], tuple[str, ...]]] = [
    ("01_fill_i64", "main", (), ("5xi64=4294967298",)),
    ("02_fill_bf16", "main", (), ("3x7xbf16=1.5",)),
    ("07_fill_i1", None, (), ("9xi1=1",)),
    ("10_fill_unaligned", None, ("--input=1xi8=4",), ("10xi8=7 7 7 9 9 9 9 9 9 4",)),
    ("11_fill_adjacent", None, ("--input=3xi32=1 2 3",), ("8xi32=0 0 1 2 3 0 0 0",)),
    ("12_fill_pattern_narrowing", "i32_bytes", (), ("4xi32=16843009", "4xi32=65537")),
    (
        "12_fill_pattern_narrowing",
        "i64_zero_minus1",
        (),
        ("4xi64=0", "4xi64=-1", "4xi64=8589934594", "4xi64=7"),
    ),
    (
        "26_matmul_i32_overflow",
        None,
        (
            "--input=2x3xi32=[[2147483647 -2147483648 65537][-1 1 -2147483648]]",
            "--input=3x2xi32=[[1 -1][1 2][3 65537]]",
        ),
        # wrap-around by hand, modulo 2^32, fill -1
        (
            "2x2xi32=["
            f"[{((2147483647 - 2147483648 + 3 * 65537 - 1) + 2**31) % 2**32 - 2**31} "
            f"{((-2147483647 - 2 * 2147483648 + 65537 * 65537 - 1) + 2**31) % 2**32 - 2**31}]"
            f"[{((-1 + 1 - 3 * 2147483648 - 1) + 2**31) % 2**32 - 2**31} "
            f"{((1 + 2 - 2147483648 * 65537 - 1) + 2**31) % 2**32 - 2**31}]]",
        ),
    ),
    ("31_fill_two_users", None, ONES_TWOS_4, ("4x4xi32=15", "4x4xi32=15", "4x4xi32=7")),
    ("37_dollar_and_long_name", None, ONES_TWOS_4, ("4x4xi32=8",)),
    (
        "43_accumulator_argument_in_place",
        None,
        ("--input=8x8xi32=1", "--input=8x8xi32=1", "--input=8x8xi32=7", "--repeat=2"),
        ("8x8xi32=15",),
    ),
    ("50_aie_64x64x16_i32_sync", None, ("--input=64x16xi32=1", "--input=16x64xi32=2"), ("64x64xi32=39",)),
    (
        "53_aie_single_k_step_i32",
        "main",
        ("--input=128x32xi32=1", "--input=32x128xi32=-2"),
        ("128x128xi32=-64",),
    ),
    (
        "53_aie_single_k_step_i32",
        "two_k_steps",
        ("--input=32x64xi32=1", "--input=64x32xi32=-2"),
        ("32x32xi32=-128",),
    ),
    (
        "62_sync_two_outputs",
        None,
        ("--input=16x16xi32=1", "--input=16x16xi32=2"),
        ("16x16xi32=32", "16x16xi32=32"),
    ),
]

RIGHT_OR_NAMED: list[tuple[str, str, tuple[str, ...], tuple[str, ...], str]] = [
    ("14_matmul_k0", "main", ("--input=4x0xf32", "--input=0x3xf32"), ("4x3xf32=7",), "linalg.matmul"),
    (
        "16_matmul_cast_unsigned",
        "main",
        ("--input=2x2xi8=[[-1 2][3 -128]]", "--input=2x2xi8=[[1 -2][127 -1]]"),
        ("2x2xi32=[[509 65280][16259 33402]]",),
        "linalg.matmul",
    ),
    (
        "16_matmul_cast_unsigned",
        "signed",
        ("--input=2x2xi8=[[-1 2][3 -128]]", "--input=2x2xi8=[[1 -2][127 -1]]"),
        ("2x2xi32=[[253 0][-16253 122]]",),
        "linalg.matmul",
    ),
    ("21_matmul_indexing_maps", "tb", (X23, Y43, Z24), (PRODUCT,), "linalg.matmul"),
    ("21_matmul_indexing_maps", "ta", (X32, Y34, Z24), (PRODUCT,), "linalg.matmul"),
    ("21_matmul_indexing_maps", "tab", (X32, Y43, Z24), (PRODUCT,), "linalg.matmul"),
    (
        "21_matmul_indexing_maps",
        "bcast",
        ("--input=2x3xi32=[[3 2 1][6 5 4]]", "--input=3xi32=100 10 1", Z24),
        ("2x4xi32=[[321 321 321 321][654 654 654 654]]",),
        "linalg.matmul",
    ),
    (
        "56_aie_32x32x64_i8",
        "main",
        ("--input=32x64xi8=-128", "--input=64x32xi8=127"),
        ("32x32xi32=-1040384",),
        "linalg.matmul",
    ),
    (
        "56_aie_32x32x64_i8",
        "m16k64n16",
        ("--input=16x64xi8=-128", "--input=64x16xi8=127"),
        ("16x16xi32=-1040384",),
        "linalg.matmul",
    ),
]


def _identity(case: tuple[object, ...]) -> str:
    return f"{case[0]}-{case[1]}"


def _expect(values: tuple[str, ...]) -> list[str]:
    return [f"--expected-output={value}" for value in values]


@pytest.mark.parametrize("case", RIGHT, ids=_identity)
def test_a_report_gives_the_right_value(
    cli: Cli, reports: Path, case: tuple[str, str | None, tuple[str, ...], tuple[str, ...]]
) -> None:
    name, function, arguments, values = case
    chosen = [] if function is None else [f"--function={function}"]
    done = cli("build-run", str(reports / f"{name}.mlir"), *chosen, *arguments, *_expect(values))
    assert done.code == 0, done.out + done.err
    # and numpy agrees with the stated value
    done = cli("build-run", str(reports / f"{name}.mlir"), *chosen, *arguments)
    assert done.code == 0, done.out + done.err


@pytest.mark.parametrize("case", RIGHT_OR_NAMED, ids=_identity)
def test_a_report_gives_the_right_value_or_names_the_op(
    cli: Cli, reports: Path, case: tuple[str, str, tuple[str, ...], tuple[str, ...], str]
) -> None:
    name, function, arguments, values, op = case
    done = cli(
        "build-run", str(reports / f"{name}.mlir"), f"--function={function}", *arguments, *_expect(values)
    )
    if done.code != 0:
        assert done.code == 3, done.out + done.err
        assert op in done.err


@pytest.mark.parametrize("name", ["empty", "decl_only", "garbage", "truncated", "unregistered", "nested"])
def test_bad_input_is_one_clear_error(cli: Cli, reports: Path, name: str) -> None:
    done = cli("build-run", str(reports / "bad" / f"{name}.mlir"))
    assert done.code == 3, done.out + done.err
    assert done.err.count("error: ") >= 1
    assert done.out == ""
