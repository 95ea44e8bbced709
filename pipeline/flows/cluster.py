"""Jobs on a cluster of dask.distributed, the extra `cluster`. The one module that knows dask.

A job that needs an NPU asks for one unit of the resource NPU; its hosts start their workers so:

    dask worker tcp://SCHEDULER:8786 --nthreads 1 --resources NPU=1
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

from ..errors import UsageError
from .processes import Died

Job = TypeVar("Job")
Result = TypeVar("Result")

CONNECT_S = 10
_RESOURCE = {"NPU": 1}
_AHEAD = 4  # jobs per worker that are handed out, so that `enough` is soon obeyed


def run_on_cluster(
    address: str,
    work: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    npu: bool,
    enough: Callable[[], bool] = lambda: False,
) -> Generator[tuple[int, Result | Died]]:
    """As `run_jobs`, on the workers of the scheduler at `address`; `npu`: each job needs an NPU.

    A job whose workers die is `Died`. Raises UsageError where dask is not installed, the scheduler does not
    answer, or no worker can take the jobs.
    """
    distributed = _library()
    with _connected(distributed, address) as client:
        workers = _workers(client, address, npu=npu)
        waiting = iter(enumerate(jobs))
        numbers: dict[Any, int] = {}
        results = distributed.as_completed(loop=client.loop)

        def give() -> None:
            index, job = (None, None) if enough() else next(waiting, (None, None))
            if index is not None:
                resources = _RESOURCE if npu else None
                future = client.submit(work, job, pure=False, resources=resources, retries=0)
                numbers[future] = index
                results.add(future)

        try:
            for _ in range(min(len(jobs), _AHEAD * workers)):
                give()
            for future in results:
                index = numbers.pop(future)
                error = future.exception()
                if error is not None and type(error).__name__ != "KilledWorker":
                    raise error
                give()
                yield index, future.result() if error is None else Died("its worker died")
        finally:
            client.cancel(list(numbers))


def _library() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError as fault:
        raise UsageError(
            "--scheduler needs dask.distributed", remedy="pip install 'aiepipe[cluster]'"
        ) from fault


def _connected(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as fault:
        raise UsageError(
            f"no dask scheduler answers at {address}: {fault}",
            remedy="start one with `dask scheduler`, workers with `dask worker ADDRESS --resources NPU=1`",
        ) from fault


def _workers(client: Any, address: str, *, npu: bool) -> int:
    """How many workers can take the jobs; waits a little for the first."""
    deadline = time.monotonic() + CONNECT_S
    while True:
        known = client.scheduler_info(n_workers=-1)["workers"].values()
        fit = [w for w in known if not npu or w.get("resources", {}).get("NPU", 0) >= 1]
        if fit:
            return len(fit)
        if time.monotonic() > deadline:
            raise UsageError(
                f"{address} has {len(known)} workers, none with an NPU"
                if npu
                else f"{address} has no workers",
                remedy="start workers with `dask worker ADDRESS --nthreads 1"
                + (" --resources NPU=1`" if npu else "`"),
            )
        time.sleep(0.1)
