"""H001: an xclbin wider than the device is refused by its numbers, before the driver says EINVAL."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aiepipe.errors import DeviceError
from aiepipe.formats import pdi, xclbin
from aiepipe.formats.cdo import Cdo, Write
from aiepipe.formats.xclbin import SectionKind
from aiepipe.xrt.columns import refuse_too_wide

NARROW = xclbin.build(pdi.from_files([Cdo((Write(0x232000, 1),))]).encode(), kernel="k", buffers=1)


def design(columns: int) -> bytes:
    partition = replace(NARROW.partition(), column_width=columns, start_columns=(0,)).encode()
    sections = tuple(
        replace(s, data=partition) if s.kind == SectionKind.AIE_PARTITION else s for s in NARROW.sections
    )
    return replace(NARROW, sections=sections).encode()


@pytest.mark.parametrize(
    ("columns", "device"), [(8, "RyzenAI-npu1"), (6, "NPU Phoenix"), (9, "NPU Strix Halo")]
)
def test_a_design_that_is_too_wide_is_refused(columns: int, device: str) -> None:
    with pytest.raises(DeviceError, match=rf"wants {columns} columns, {device} has [58] \(H001") as caught:
        refuse_too_wide(design(columns), device)
    assert caught.value.code == "H001"
    assert caught.value.remedy is not None


@pytest.mark.parametrize(
    ("columns", "device"), [(4, "RyzenAI-npu1"), (5, "NPU Phoenix"), (8, "NPU Strix"), (8, "NPU")]
)
def test_one_that_fits_or_a_device_that_nobody_knows_is_not(columns: int, device: str) -> None:
    refuse_too_wide(design(columns), device)


def test_what_is_no_xclbin_is_left_to_the_device() -> None:
    refuse_too_wide(b"not an xclbin", "RyzenAI-npu1")
