"""`aiepipe doctor`: what a run needs, executed."""

from __future__ import annotations

import sys

from ..errors import DeviceError
from ..report.progress import progress_line
from .options import Json


def doctor_command(as_json: Json = False) -> int:
    """Execute what a run needs, stage by stage, and say what to do about what fails.

    Exit code 0: all that the emulated device needs works; 4: it does not.
    """
    from ..flows.doctor import doctor  # noqa: PLC0415
    from ..report.doctor import doctor_json, print_doctor  # noqa: PLC0415

    with progress_line() as progress:
        report = doctor(progress)
    if as_json:
        sys.stdout.write(doctor_json(report))
    else:
        print_doctor(report, sys.stdout)
    return 0 if report.usable else DeviceError.exit_code
