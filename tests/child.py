"""Child processes of tests: with a time limit, a file-size limit and default signal handlers.

A test in the background (``nohup``, a job of a shell) ignores SIGINT, and its children inherit
that. Each child therefore starts through this file, which sets limits and handlers and then
becomes the command. A child that exceeds its time is killed with all its own children.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress

# Code for a child: the most memory in bytes that it had. getrusage would count its parent's, too.
MOST_MEMORY = """
def most_memory():
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024
"""
_SECONDS = 300.0
_FILE_BYTES = 2**31
_CPU_FACTOR = 8  # processor seconds for each second of the time limit: for orphans of a killed test


def run(command, *, seconds=_SECONDS, check=False, stdin_text=None, **options):
    """The finished process with its output as text; raises TimeoutExpired where it takes longer."""
    wanted = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    if stdin_text is not None:
        wanted["stdin"] = subprocess.PIPE
    with started(command, seconds=seconds, **wanted) as process:
        out, err = process.communicate(stdin_text)
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check and done.returncode:
        raise AssertionError(f"The child exited with {done.returncode}: {err}")
    return done


def python(code, *arguments, **options):
    """The finished process of a fresh interpreter that ran this code."""
    return run([sys.executable, "-c", code, *map(str, arguments)], **options)


@contextmanager
def started(command, *, seconds=_SECONDS, **options):
    """A running process, waited for at the end of the block and killed at the time limit."""
    late = threading.Event()
    with subprocess.Popen(_limited(command, seconds), start_new_session=True, **options) as process:

        def give_up():
            late.set()
            _kill(process)

        timer = threading.Timer(seconds, give_up)
        timer.daemon = True
        timer.start()
        try:
            yield process
            process.wait()
        finally:
            timer.cancel()
            _kill(process)
    if late.is_set():
        raise subprocess.TimeoutExpired(command, seconds)


def _limited(command, seconds):
    command = [os.fspath(part) for part in command]
    if os.name != "posix":
        return command
    limits = [str(int(seconds * _CPU_FACTOR) + 1), str(_FILE_BYTES)]
    return [sys.executable, "-I", "-S", __file__, *limits, *command]


def _kill(process):
    if process.returncode is not None:  # reaped: its number may belong to somebody else by now
        return
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _limit(cpu_seconds, file_bytes):
    """Set limits and default signal handlers for this process."""
    import resource

    for kind, limit in ((resource.RLIMIT_CPU, cpu_seconds), (resource.RLIMIT_FSIZE, file_bytes)):
        _, most = resource.getrlimit(kind)
        wanted = int(limit) if most == resource.RLIM_INFINITY else min(int(limit), most)
        resource.setrlimit(kind, (wanted, most))
    # Python itself ignores SIGPIPE and SIGXFSZ, nohup ignores SIGHUP, background jobs SIGINT
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _become(cpu_seconds, file_bytes, *command):
    """Replace this process by the command, with limits and default signal handlers."""
    _limit(cpu_seconds, file_bytes)
    os.execvp(command[0], command)


def dask_setup(worker):
    """Limit a worker of Dask, for which this file is a preload."""
    if os.name == "posix":
        _limit(_SECONDS * _CPU_FACTOR, _FILE_BYTES)


if __name__ == "__main__":
    _become(*sys.argv[1:])
