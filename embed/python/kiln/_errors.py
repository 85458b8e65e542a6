"""Owns the errors of Kiln as exceptions of Python."""
import json

from . import _library as c


class Error(Exception):
    """An error of a program in Kiln. Its text is what the prompt of Kiln prints, with carets under the operands.

    kind: "ShapeError", as Kiln calls it. code: "K0501", to be looked up by `kiln explain`. message: one sentence.
    file, line: where the program is wrong, or "" and 0. diagnostic: all of it as a dict.
    """

    def __init__(self, text, diagnostic):
        super().__init__(text)
        self.diagnostic = diagnostic
        self.kind = diagnostic.get("kind", "")
        self.code = diagnostic.get("code", "")
        self.message = diagnostic.get("message", "")
        self.file = diagnostic.get("file") or ""
        self.line = diagnostic.get("line") or 0

    def __str__(self):
        return self.args[0]


# Those that Python has a name for are also of Python's kind.
_OF_PYTHON = {
    "NameError": NameError,
    "TypeError": TypeError,
    "ValueError": ValueError,
    "ShapeError": ValueError,
    "IndexError": IndexError,
    "KeyError": KeyError,
    "AttributeError": AttributeError,
    "OverflowError": OverflowError,
    "AssertionError": AssertionError,
    "RecursionError": RecursionError,
    "OutOfMemory": MemoryError,
}
_classes = {kind: type(kind, (Error, base), {}) for kind, base in _OF_PYTHON.items()}


def raise_error(error):
    """Raises what an error of the library says, and frees it."""
    try:
        kind = c.error_kind(error)
        if kind == c.EXIT:
            raise SystemExit(c.error_exit_code(error))
        if kind == c.INTERRUPTED:
            raise KeyboardInterrupt
        text = c.error_text(error).decode().rstrip("\n")
        diagnostic = json.loads(c.error_json(error))
        raise _classes.get(diagnostic.get("kind"), Error)(text, diagnostic)
    finally:
        c.error_free(error)
