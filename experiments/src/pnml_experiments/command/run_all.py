"""``pnml reproduce --all``: every experiment that can run here, several in parallel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pnml_experiments.framework.experiment import Experiment
    from pnml_experiments.framework.result import Result

# The largest of them take about 2 GB each.
_MOST_JOBS = 4


class Task(NamedTuple):
    """An experiment and how it is to be run."""

    experiment: Experiment
    scale: str
    output: Path
    fresh: bool


class Finished(NamedTuple):
    """Outcome of a task: its document, or why it failed."""

    experiment: Experiment
    document: dict[str, Any] | None
    reason: str = ""


def usual_jobs() -> int:
    """Default number of experiments that run in parallel."""
    from joblib import cpu_count

    cores: int = cpu_count()
    return min(_MOST_JOBS, cores)


def split(scale: str, output: Path, fresh: bool) -> tuple[list[Task], list[tuple[str, str]]]:
    """Tasks that can run here, and (id, reason) of the others."""
    from pnml_experiments.framework.registry import EXPERIMENTS
    from pnml_experiments.framework.scales import FULL, today, warn_of_full

    if scale == FULL:
        warn_of_full("each experiment runs at the larger of the two that it has")
    tasks, skipped = [], []
    for experiment in EXPERIMENTS:
        lack, asked = experiment.lacking(), today(scale, experiment.scales)
        if lack is not None:
            skipped.append((experiment.id, lack.sentence))
        elif asked not in experiment.scales:
            reason = f"{experiment.id} is not offered at the scale {asked}."
            skipped.append((experiment.id, reason))
        else:
            tasks.append(Task(experiment, asked, output, fresh))
    return tasks, skipped


def finished(tasks: list[Task], jobs: int) -> Iterator[Finished]:
    """Outcomes of the tasks as they finish; a failure does not stop the others."""
    from pnml.runtime.progress import terminal_bar

    if jobs == 1:
        for task in tasks:
            with terminal_bar(task.experiment.id) as tell:
                yield _tried(task, tell)
        return
    # the longest first, so that none of them starts last
    by_cost = sorted(tasks, key=lambda task: -(task.experiment.cost(task.scale) or 0.0))
    lost_with_pool = []
    with terminal_bar("experiments") as tell:
        for done, (task, future) in enumerate(_side_by_side(by_cost, jobs), 1):
            tell(done, len(tasks))
            if future.exception() is None:
                yield future.result()
            else:
                lost_with_pool.append(task)
    # a process that dies breaks the whole pool and does not say whose it was: retry one by one
    for task in lost_with_pool:
        for _, future in _side_by_side([task], 1):
            error = future.exception()
            lost = Finished(task.experiment, None, _words(error) if error else "")
            yield lost if error else future.result()


def _side_by_side(tasks: list[Task], jobs: int) -> Iterator[tuple[Task, Future[Finished]]]:
    """Tasks with their futures as they finish, each task in a process of its own."""
    from joblib import cpu_count

    threads = max(1, cpu_count() // jobs)
    with ProcessPoolExecutor(jobs, get_context("spawn"), _limit, (threads,)) as pool:
        waiting = {pool.submit(_tried, task): task for task in tasks}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def document(experiment: Experiment, result: Result, page: Path, seconds: float) -> dict[str, Any]:
    """A result as plain values."""
    return {
        "id": experiment.id,
        "page": str(page),
        "seconds": round(seconds, 3),
        "seeds": list(result.seeds),
        "repeats": result.repeats,
        "interval": result.interval,
        "remarks": list(result.remarks),
        "tables": [
            {"title": table.title, "rows": [row.record() for row in table.rows]}
            for table in result.tables
        ],
    }


def _tried(task: Task, tell: Any = lambda done, total: None) -> Finished:
    from pnml_experiments.framework.running import reproduce

    experiment, scale, output, fresh = task
    start = perf_counter()
    try:
        result, page = reproduce(experiment, scale, output, tell, fresh=fresh)
    except Exception as error:
        return Finished(experiment, None, _words(error))
    return Finished(experiment, document(experiment, result, page, perf_counter() - start))


def _words(error: BaseException) -> str:
    reason = " ".join(str(error).split()) or "no reason given"
    return f"{type(error).__name__}: {reason}"


def _limit(threads: int) -> None:
    """Limit the threads of this process, before numpy and torch count the cores."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, str(threads))
