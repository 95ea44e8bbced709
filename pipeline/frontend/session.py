"""IREE's compiler, in this process: parse a text, run the pipeline to a phase, get the module back.

`iree.compiler.api` wraps sessions and invocations but not phases nor diagnostics, so those calls go through
the C API (iree/compiler/embedding_api.h). Only the worker process imports this module.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterable, Sequence
from typing import Any, cast

from ..errors import CompileError
from ..program import SourceLocation
from .capi import declare
from .diagnostics import Diagnostic, Severity, compile_error, from_callback
from .flags import session_flags
from .location import locations
from .mlir import Context, Location, Operation, ir
from .nesting import check_nesting

# Dispatch formation is the same for every CPU target; vmvx is the one that loads the least.
DEFAULT_FLAGS = (
    "--iree-hal-target-backends=vmvx",
    "--iree-input-demote-f64-to-f32=false",
)

_api = cast("Any", importlib.import_module("iree.compiler.api"))
_version = cast("Any", importlib.import_module("iree.compiler.version"))

_DiagnosticCallback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_set_callback = declare(
    "ireeCompilerInvocationEnableCallbackDiagnostics",
    None,
    ctypes.c_void_p,
    ctypes.c_int,
    _DiagnosticCallback,
    ctypes.c_void_p,
)
_compile_from = declare("ireeCompilerInvocationSetCompileFromPhase", None, ctypes.c_void_p, ctypes.c_char_p)
_compile_to = declare("ireeCompilerInvocationSetCompileToPhase", None, ctypes.c_void_p, ctypes.c_char_p)


def compiler_name() -> str:
    """The compiler and its version, as results record it."""
    revision = cast("str", _version.REVISIONS.get("IREE", ""))
    return f"iree-base-compiler {_version.VERSION} ({revision[:10]})"


class Session:
    """One source text with one set of flags. `module` is the operation as the last phase left it."""

    def __init__(self, file: str, text: str, flags: Sequence[str] = ()) -> None:
        """Parses the text.

        Raises UsageError for a flag that the compiler does not know, CompileError for a text that MLIR
        refuses.
        """
        check_nesting(file, text)
        _check_characters(file, text)
        self.file = file
        self.text = text
        known = session_flags(flags)
        self._session = _api.Session()
        self._session.set_flags(*known)
        self.context = cast("Context", self._session.context)
        # a session allows unknown ops, on which IREE then dies by SIGSEGV
        cast("Any", self.context).allow_unregistered_dialects = False
        self._invocations: list[Any] = []
        self._callbacks: list[Any] = []
        try:
            module = ir.Module.parse(text, self.context)
        except ir.MLIRError as error:
            raise compile_error(_parser_diagnostics(error, file), file, text) from None
        self._module = module
        self.module = cast("Operation", module.operation)

    def run(self, to: str, *, since: str | None = None) -> None:
        """Runs IREE's pipeline on the module up to and including phase `to` (from phase `since`).

        Raises CompileError with the compiler's diagnostics.
        """
        diagnostics: list[Diagnostic] = []

        def receive(severity: int, text: int | None, length: int, _: int | None) -> None:
            message = b"" if text is None else ctypes.string_at(text, length)
            diagnostics.append(from_callback(severity, message.decode("utf-8", "replace"), self.file))

        callback = _DiagnosticCallback(receive)
        invocation = self._session.invocation()
        # both must outlive the invocation, whose module the bindings go on reading
        self._invocations.append(invocation)
        self._callbacks.append(callback)
        pointer = invocation._inv_p
        _set_callback(pointer, 0, callback, None)
        if since is not None:
            _compile_from(pointer, since.encode())
        _compile_to(pointer, to.encode())
        invocation.import_module(self.module)
        if not invocation.execute():
            raise compile_error(diagnostics, self.file, self.text)

    def error(self, message: str, op: Operation, *, remedy: str | None = None) -> CompileError:
        """A CompileError at `op`."""
        location = next(locations(op.location, self.file), None)
        return CompileError(message, location=location, remedy=remedy, op=op.name)


def _check_characters(file: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - (text.rfind("\n", 0, error.start) + 1) + 1
        raise CompileError(
            "the text holds a character that is no Unicode", location=SourceLocation(file, line, column)
        ) from None


def _parser_diagnostics(error: Exception, file: str) -> list[Diagnostic]:
    found: list[Diagnostic] = []

    def add(info: Any, severity: Severity) -> None:
        # the location comes as its base class; through the attribute it gets its own
        location = cast("Location", ir.Location.from_attr(info.location.attr, info.location.context))
        place: SourceLocation | None = next(locations(location, file), None)
        found.append(Diagnostic(severity, cast("str", info.message), place))
        for note in cast("Iterable[Any]", info.notes):
            add(note, Severity.NOTE)

    for info in cast("Iterable[Any]", cast("Any", error).error_diagnostics):
        add(info, Severity.ERROR)
    return found
