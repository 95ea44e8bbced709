"""What a command starts before anything else: IREE works on the file while this process imports the rest.

The worker is another process, so half a second of imports and the front end pass side by side. What is
asked here is asked again by the flow, which finds the answers with the compiler; a fault is left for the
flow to meet.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ..frontend.compiler import Compiler

STANDARD_INPUT = "-"


def started_compiler(
    file: str = STANDARD_INPUT, function: str | None = None, flags: Sequence[str] = ()
) -> Compiler:
    """A compiler whose worker is on its way, and at work on `file` unless that is standard input.

    Whoever takes it closes it; it ends with this process at the latest.
    """
    compiler = Compiler()
    compiler.start()
    if file != STANDARD_INPUT:
        threading.Thread(target=_ahead, args=(compiler, file, function, flags), daemon=True).start()
    return compiler


def _ahead(compiler: Compiler, file: str, function: str | None, flags: Sequence[str]) -> None:
    # the worker is on its way before anything of this is imported
    from ..hal.inspection import inspect  # noqa: PLC0415
    from .problem import choose  # noqa: PLC0415
    from .source import read_source  # noqa: PLC0415

    try:
        source = read_source(file)
        chosen = choose(compiler.parse(source.file, source.text), function)
        if chosen.scalars:
            return  # their values are part of the program, and are not known here
        asked = (chosen.name,)
        scalars: dict[str, dict[int, bytes]] = {chosen.name: {}}
        compiler.compile(source.file, source.text, flags=flags, scalars=scalars, functions=asked)
        inspect(compiler, source.file, source.text, flags=flags, scalars=scalars, functions=asked)
    except Exception:  # noqa: BLE001  (the flow asks the same again and meets the fault itself; or it has ended)
        return
