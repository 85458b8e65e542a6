"""Owns Ctrl-C: Python's own handler writes the number of each signal into a pipe, and Kiln reads it there, also while it
runs a program. So no handler is replaced, and calls pay nothing."""
import os
import signal

from . import _library as c
from ._errors import raise_error

_is_watching = False


def watch():
    """In the main thread, once. False where the program waits for signals in this way itself, as event loops may."""
    global _is_watching
    if _is_watching:
        return True
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    if before != -1:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)
        return False
    error = c.watch_pipe(reading, signal.SIGINT)
    if error:
        raise_error(error)
    _is_watching = True
    return True
