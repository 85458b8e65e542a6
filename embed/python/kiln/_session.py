"""Owns sessions: the names of a program, and where it writes."""
import ctypes
import os
import signal
import sys
import threading

from . import _interrupts
from . import _library as c
from ._arguments import value_of
from ._errors import Error, raise_error
from ._values import Tensor, python_value


def _sink(write):
    return c.Sink(lambda context, text, size: write(ctypes.string_at(text, size).decode(errors="replace")))


class Session:
    """Runs programs of Kiln. The names that they define are its attributes.

    out, err: functions that take text; without them it goes to Python's sys.stdout and sys.stderr.
    arguments: the program's `args`. compiles=False runs everything in the interpreter.

    Ctrl-C stops what a session runs that the main thread made, as KeyboardInterrupt. Sessions may be used by several
    threads, whose calls run one after another.
    """

    def __init__(self, out=None, err=None, arguments=(), compiles=True):
        # These outlive the session: programs write until its end.
        self._out = _sink(out or (lambda text: sys.stdout.write(text)))
        self._err = _sink(err or (lambda text: sys.stderr.write(text)))
        self._frames = []
        self._functions = {}
        texts = (ctypes.c_char_p * len(arguments))(*[each.encode() for each in arguments])
        options = c.Options(
            size=ctypes.sizeof(c.Options),
            out=self._out,
            err=self._err,
            arguments=texts,
            argument_count=len(arguments),
            never_compiles=not compiles,
        )
        handle = ctypes.c_void_p()
        self._check(c.session_new(options, handle))
        self._handle = handle.value
        if threading.current_thread() is threading.main_thread() and not _interrupts.watch():
            self._check(c.watch_signal(self._handle, signal.SIGINT))

    def __del__(self, free=c.session_free):
        if getattr(self, "_handle", None):
            # The functions of the session that it keeps itself go first.
            self._functions.clear()
            free(self._handle)
            self._handle = None

    @staticmethod
    def _check(error):
        if error:
            raise_error(error)

    def eval(self, text):
        """Runs text and gives the value of its last expression, None without one."""
        value = ctypes.c_void_p()
        self._check(c.evaluate(self._handle, text.encode(), value))
        return python_value(self, value.value)

    def load(self, path):
        """Runs a file: its names become the session's, and its imports are relative to it."""
        self._check(c.load(self._handle, os.fsencode(path)))

    def tensor(self, array):
        """The tensor of an array, whose memory is shared. Raises TypeError for what is no array."""
        value = value_of(array)
        if isinstance(value, Tensor):
            return value
        if c.value_kind(value._handle) != c.TENSOR:
            raise TypeError(f"an array is needed, not one of {type(array).__name__}")
        handle, value._handle = value._handle, None  # the tensor is its owner
        return Tensor(self, handle)

    def function(self, text):
        """The function that an expression of Kiln gives, kept for the next time."""
        found = self._functions.get(text)
        if found is None:
            found = self._functions[text] = self.eval(text)
        return found

    def index(self, tensor, index):
        """tensor[index], for what an index of Kiln may be."""
        indices = index if isinstance(index, tuple) else (index,)
        names, texts, values = [], [], []

        def name_of(value):
            if value is None:
                return ""
            names.append(f"i{len(names)}")
            values.append(value)
            return names[-1]

        for each in indices:
            if each is None:
                texts.append("none")
            elif each is Ellipsis:
                texts.append("...")
            elif isinstance(each, slice):
                step = "" if each.step is None else f":{name_of(each.step)}"
                texts.append(f"{name_of(each.start)}:{name_of(each.stop)}{step}")
            else:
                texts.append(name_of(each))
        return self.function(f"({', '.join(['x'] + names)}) => x[{', '.join(texts)}]")(tensor, *values)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        value = ctypes.c_void_p()
        try:
            self._check(c.lookup(self._handle, name.encode(), value))
        except Error as error:
            raise AttributeError(str(error)) from None
        return python_value(self, value.value)


_default = None
_lock = threading.Lock()


def default_session():
    global _default
    with _lock:
        if _default is None:
            _default = Session()
    return _default
