"""`aiepipe emit`: the MLIR of a builder."""

from __future__ import annotations

from typing import Annotated

import typer

emit = typer.Typer(
    help="Print the MLIR of a builder: matmul or fill.", no_args_is_help=True, rich_markup_mode=None
)


@emit.command("matmul")
def emit_matmul_command(
    m: Annotated[int, typer.Option("-m", help="Rows of the result.", min=0)],
    n: Annotated[int, typer.Option("-n", help="Columns of the result.", min=0)],
    k: Annotated[int, typer.Option("-k", help="Length of the sum.", min=0)],
    element: Annotated[str, typer.Option("--type", help="Element type of the operands.")] = "i32",
    accumulator: Annotated[
        str | None,
        typer.Option(
            "--accumulator",
            help="Element type of the result; as the operands', or i32 for i8 and i16, f32 for bf16.",
            show_default=False,
        ),
    ] = None,
    fill: Annotated[
        str | None,
        typer.Option(
            "--fill",
            help="What the result is filled with first; without it, it is the third argument.",
            show_default=False,
        ),
    ] = None,
    transpose_a: Annotated[bool, typer.Option("--transpose-a", help="A is k x m.")] = False,
    transpose_b: Annotated[bool, typer.Option("--transpose-b", help="B is n x k.")] = False,
) -> None:
    """linalg.matmul on tensors.

    \b
    Examples:
      aiepipe emit matmul -m 64 -n 64 -k 16 --type i32 --fill 7     # mlir/matmul.mlir
      aiepipe emit matmul -m 32 -n 32 -k 64 --type i8 --fill 0 --transpose-b
    """
    from ..flows.emit import MatmulOptions, emit_matmul  # noqa: PLC0415

    typer.echo(
        emit_matmul(MatmulOptions(m, n, k, element, accumulator, fill, transpose_a, transpose_b)), nl=False
    )


@emit.command("fill")
def emit_fill_command(
    type_text: Annotated[str, typer.Argument(metavar="TYPE", help="Shape and element type: 4x5xi32.")],
    value: Annotated[str, typer.Argument(help="The value.")],
) -> None:
    """linalg.fill of a tensor.

    \b
    Example:
      aiepipe emit fill 3x7xbf16 1.5
    """
    from ..flows.emit import emit_fill  # noqa: PLC0415

    typer.echo(emit_fill(type_text, value), nl=False)
