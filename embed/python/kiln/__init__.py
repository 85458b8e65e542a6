"""Kiln inside Python: programs of tensors, whose memory is shared with NumPy, PyTorch and JAX.

    import kiln
    program = kiln.load("model.kiln")
    y = program.predict(x)          # x: a NumPy array, a tensor of PyTorch or JAX, a number, a list, ...
    y.numpy()                       # the same memory as an array
"""
from ._errors import Error
from ._session import Session, default_session
from ._values import Function, Object, Tensor

__all__ = ["Error", "Function", "Object", "Session", "Tensor", "eval", "load", "tensor", "__version__"]

from ._library import version as _version

__version__ = _version()


def load(path, **options):
    """Runs a file of Kiln in a session of its own, whose attributes are the file's names."""
    session = Session(**options)
    session.load(path)
    return session


def eval(text):
    """Runs text in the session that all calls of this function share, and gives the value of its last expression."""
    return default_session().eval(text)


def tensor(array):
    """The tensor of an array of NumPy, PyTorch or JAX: its memory is shared, not copied."""
    return default_session().tensor(array)
