"""`aiepipe policies`: the named sync policies."""

from __future__ import annotations

import typer

from .options import Json


def policies_command(as_json: Json = False) -> None:
    """The named sync policies and what each leaves out."""
    from ..flows.policies import list_policies  # noqa: PLC0415

    typer.echo(list_policies(as_json=as_json), nl=False)
