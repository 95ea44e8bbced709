"""The process that holds IREE: `python -m aiepipe.frontend.worker REQUESTS REPLIES` (file descriptors).

It reads length-prefixed pickles `(handler, arguments)` from one pipe and answers on the other with
`("result", value)`, `("error", class, args, state)` for an `AiepipeError`, `("restart",)` when a fresh
process must take the request, or `("fault", traceback)`. IREE is imported before the first request comes, so
that a worker started early is ready when it is needed. It ends when its parent closes the pipe, also in the
middle of a compilation.
"""

from __future__ import annotations

import importlib
import os
import pickle
import select
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any, cast

from ..errors import AiepipeError
from .framing import FreshProcessNeeded, read_frame, write_frame

# what nearly every request needs
_PRELOAD = "aiepipe.frontend.extraction"


def main(arguments: list[str]) -> int:
    """Serves requests until the pipe is closed."""
    requests, replies = int(arguments[0]), int(arguments[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    threading.Thread(target=_end_with_parent, args=(requests,), daemon=True).start()
    importlib.import_module(_PRELOAD)
    while True:
        frame = read_frame(requests)
        if frame is None:
            return 0
        handler, keywords = cast("tuple[str, Mapping[str, object]]", pickle.loads(frame))  # noqa: S301
        write_frame(replies, _answer(handler, keywords))


def _answer(handler: str, keywords: Mapping[str, object]) -> bytes:
    try:
        module, function = handler.split(":")
        found = cast("Callable[..., Any]", getattr(importlib.import_module(module), function))
        return pickle.dumps(("result", found(**keywords)), protocol=5)
    except FreshProcessNeeded:
        return pickle.dumps(("restart",), protocol=5)
    except AiepipeError as error:
        return pickle.dumps(("error", type(error), error.args, error.__dict__), protocol=5)
    except Exception:  # noqa: BLE001
        # a fault of ours is told to the parent, and the worker goes on
        return pickle.dumps(("fault", traceback.format_exc()), protocol=5)


def _end_with_parent(requests: int) -> None:
    """A hang-up of the request pipe means that the parent is gone; nobody waits for the result then."""
    poll = select.poll()
    poll.register(requests, 0)
    poll.poll()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
