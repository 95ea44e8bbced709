"""LLVM, behind the few functions that the engine needs. The only module that sees llvmlite.

llvmlite has no type stubs; the protocols below say what is used of it.
"""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Callable
from functools import cache
from typing import Protocol, cast

Function = Callable[[int, int], int]
"""A compiled region: (address of the state, entry) -> status."""

_OPTIMISATION, _LEVELS = 1, ("0", "1", "2", "3")
"""LLVM's level for code generation. AIEPIPE_JIT_LEVEL says otherwise: 0 compiles three times as fast, to code
that runs at half of the speed (scripts/bench_core.py)."""


class _Features(Protocol):
    def flatten(self) -> str: ...


class _Module(Protocol):
    triple: str


class _Machine(Protocol):
    def emit_object(self, module: _Module) -> bytes: ...


class _Target(Protocol):
    def create_target_machine(
        self, *, cpu: str, features: str, opt: int, codemodel: str, jit: bool
    ) -> _Machine: ...


class _TargetClass(Protocol):
    def from_triple(self, triple: str) -> _Target: ...


class _Object(Protocol): ...


class _ObjectClass(Protocol):
    def from_data(self, data: bytes) -> _Object: ...


class _Engine(Protocol):
    def add_object_file(self, obj_file: _Object) -> None: ...
    def finalize_object(self) -> None: ...
    def get_function_address(self, name: str) -> int: ...


class _Llvm(Protocol):
    llvm_version_info: tuple[int, int, int]
    Target: _TargetClass
    ObjectFileRef: _ObjectClass

    def initialize_native_target(self) -> None: ...
    def initialize_native_asmprinter(self) -> None: ...
    def get_process_triple(self) -> str: ...
    def get_host_cpu_name(self) -> str: ...
    def get_host_cpu_features(self) -> _Features: ...
    def parse_assembly(self, llvmir: str) -> _Module: ...
    def create_mcjit_compiler(self, module: _Module, target_machine: _Machine) -> _Engine: ...


@cache
def _llvm() -> _Llvm:
    """llvmlite, imported when the first core needs it."""
    llvm = cast(_Llvm, importlib.import_module("llvmlite.binding"))
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _machine() -> _Machine:
    """A target machine for this processor. An execution engine takes it over, so each gets its own."""
    llvm = _llvm()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=_level(),
        codemodel="jitdefault",
        jit=True,
    )


def _level() -> int:
    named = os.environ.get("AIEPIPE_JIT_LEVEL")
    return int(named) if named in _LEVELS else _OPTIMISATION


def host() -> str:
    """What compiled code depends on besides its source: LLVM, processor, features and level."""
    return f"{_processor()} {_level()}"


@cache
def _processor() -> str:
    llvm = _llvm()
    features = llvm.get_host_cpu_features().flatten()
    version = ".".join(map(str, llvm.llvm_version_info))
    return f"{version} {llvm.get_process_triple()} {llvm.get_host_cpu_name()} {features}"


def compile_object(text: str) -> bytes:
    """LLVM assembly to an object file for this machine. Raises RuntimeError where it is not valid."""
    llvm = _llvm()
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    return _machine().emit_object(module)


def load_object(data: bytes, name: str) -> Function:
    """Put an object file into memory and give its function. It stays for the life of the process."""
    llvm = _llvm()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    _ENGINES.append(engine)
    address = engine.get_function_address(name)
    if not address:
        raise RuntimeError(f"the object file has no function {name}")
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)(address)


_ENGINES: list[_Engine] = []
"""Kept, as the code in them is."""
