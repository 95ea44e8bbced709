"""Which device there is, and what is said when there is none. The system is a value here."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from aiepipe.errors import DeviceError, UsageError
from aiepipe.xrt import emulated
from aiepipe.xrt.discovery import NEEDED, Probe, find_hardware, open_device_module
from aiepipe.xrt.emulation import Settings, current, emulation
from aiepipe.xrt.memory import CacheModel, Coherency

NODE = Path("/dev/accel/accel0")


def no_module(name: str) -> object:
    raise ModuleNotFoundError(f"No module named '{name}'", name=name)


def pyxrt(name: str) -> object:
    module = ModuleType(name)
    for needed in NEEDED:
        setattr(module, needed, object())

    class Device:
        def __init__(self, index: int) -> None:
            assert index == 0

        def get_info(self, key: object) -> str:
            assert key == "name-key"
            return "RyzenAI-npu1"

    setattr(module, "device", Device)  # noqa: B010
    setattr(module, "xrt_info_device", SimpleNamespace(name="name-key"))  # noqa: B010
    return module


def probe(
    *,
    module: bool = True,
    nodes: tuple[Path, ...] = (NODE,),
    readable: bool = True,
    install: Path = Path("/no"),
) -> Probe:
    return Probe(pyxrt if module else no_module, lambda: nodes, lambda path: readable, install)


def test_auto_takes_the_hardware_where_all_of_it_is_there() -> None:
    module, report = open_device_module("auto", probe=probe())
    assert module is not emulated
    assert (report.kind, report.name) == ("hardware", "RyzenAI-npu1")


@pytest.mark.parametrize(
    "system", [probe(module=False), probe(nodes=()), probe(readable=False)], ids=["pyxrt", "node", "rights"]
)
def test_auto_emulates_where_anything_is_missing(system: Probe) -> None:
    with emulation():
        module, report = open_device_module("auto", probe=system)
    assert module is emulated
    assert report.kind == "emulated"


def test_the_emulated_device_tells_its_cache_model_and_seed() -> None:
    settings = Settings(seed=5, cache=CacheModel(Coherency.INVALIDATE_ON_FROM, 0.5, 0.25))
    with emulation():
        _, report = open_device_module("emulated", settings=settings)
        assert current().settings is settings
    assert report.detail == "host cache inv-on-from, evict 0.5, prefetch 0.25, seed 5"


def test_hardware_that_is_asked_for_and_absent_is_named_with_its_remedy() -> None:
    with pytest.raises(DeviceError) as caught:
        open_device_module("hardware", probe=probe(module=False, nodes=()))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert str(caught.value).startswith(f"there is no NPU to run on: no module pyxrt for Python {version}")
    assert "no NPU device node (/dev/accel/accel*)" in str(caught.value)
    assert "not from PyPI" in (caught.value.remedy or "")
    assert (caught.value.remedy or "").endswith("--device emulated")


def test_a_device_that_the_user_may_not_open() -> None:
    found = find_hardware(probe(readable=False))
    assert found.absent == ("no right to open /dev/accel/accel0",)
    assert "render" in found.remedies[0]


def test_a_pyxrt_for_another_python(tmp_path: Path) -> None:
    (tmp_path / "pyxrt.cpython-38-x86_64-linux-gnu.so").touch()
    found = find_hardware(probe(module=False, install=tmp_path))
    assert "built for another Python" in found.absent[0]


def test_a_pyxrt_that_is_not_on_the_path(tmp_path: Path) -> None:
    tag = f"cpython-{sys.version_info.major}{sys.version_info.minor}"
    (tmp_path / f"pyxrt.{tag}-x86_64-linux-gnu.so").touch()
    found = find_hardware(probe(module=False, install=tmp_path))
    assert "not importable" in found.absent[0]
    assert "setup.sh" in found.remedies[0]


def test_another_module_of_that_name() -> None:
    system = Probe(ModuleType, lambda: (NODE,), lambda path: True)
    found = find_hardware(system)
    assert found.module is None
    assert "has no device, xclbin" in found.absent[0]


def test_an_unknown_kind() -> None:
    with pytest.raises(UsageError, match="no device is called 'gpu'"):
        open_device_module("gpu")
