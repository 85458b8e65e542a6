"""Owns the library: where it is, and what its functions take."""
import ctypes
import os
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path

ABI_VERSION = 1

# Kinds of values and arguments, as in kiln.h.
NONE, BOOL, INT, FLOAT, STRING, LIST, TUPLE, DICT, TENSOR, FUNCTION, OBJECT, COMPLEX = range(12)
VALUE, DLPACK, DLPACK_VERSIONED = 100, 101, 102
READ_ONLY = 1
INTERRUPTED, EXIT = 2, 3


def _path():
    beside = Path(__file__).resolve().parent / "lib" / "libkiln.so.1"
    return os.environ.get("KILN_LIBRARY") or (str(beside) if beside.exists() else "libkiln.so.1")


# Functions that run programs or wait for their turn let other threads of Python run meanwhile. Those that only look
# at a handle are not worth that.
lib = ctypes.CDLL(_path())
_looks = ctypes.PyDLL(_path())

Sink = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)


class Options(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("out", Sink),
        ("err", Sink),
        ("out_context", c_void_p),
        ("err_context", c_void_p),
        ("arguments", POINTER(c_char_p)),
        ("argument_count", c_size_t),
        ("never_compiles", c_int),
    ]


def _function(library, name, result, *arguments):
    function = getattr(library, name)
    function.restype = result
    function.argtypes = arguments
    return function


_OUT = POINTER(c_void_p)
abi_version = _function(_looks, "kiln_abi_version", c_int)
error_kind = _function(_looks, "kiln_error_get_kind", c_int, c_void_p)
error_name = _function(_looks, "kiln_error_name", c_char_p, c_void_p)
error_text = _function(_looks, "kiln_error_text", c_char_p, c_void_p)
error_json = _function(_looks, "kiln_error_json", c_char_p, c_void_p)
error_exit_code = _function(_looks, "kiln_error_exit_code", c_int, c_void_p)
error_free = _function(_looks, "kiln_error_free", None, c_void_p)

value_kind = _function(_looks, "kiln_value_kind", c_int, c_void_p)
value_int = _function(_looks, "kiln_value_int", c_int64, c_void_p)
value_float = _function(_looks, "kiln_value_float", c_double, c_void_p)
value_imaginary = _function(_looks, "kiln_value_imaginary", c_double, c_void_p)
value_string = _function(_looks, "kiln_value_string", c_void_p, c_void_p, POINTER(c_size_t))
value_free = _function(_looks, "kiln_value_free", None, c_void_p)
tensor_sizes = _function(_looks, "kiln_tensor_sizes", c_int, c_void_p, POINTER(c_int64), c_size_t)
tensor_dtype = _function(_looks, "kiln_tensor_dtype", c_char_p, c_void_p)

session_new = _function(lib, "kiln_session_new", c_void_p, POINTER(Options), _OUT)
session_free = _function(lib, "kiln_session_free", None, c_void_p)
evaluate = _function(lib, "kiln_eval", c_void_p, c_void_p, c_char_p, _OUT)
load = _function(lib, "kiln_load", c_void_p, c_void_p, c_char_p)
lookup = _function(lib, "kiln_lookup", c_void_p, c_void_p, c_char_p, _OUT)
watch_signal = _function(lib, "kiln_watch_signal", c_void_p, c_void_p, c_int)
watch_pipe = _function(lib, "kiln_watch_pipe", c_void_p, c_int, c_int)
new_complex = _function(lib, "kiln_complex", c_void_p, c_double, c_double)
new_list = _function(lib, "kiln_list", c_void_p, _OUT, c_size_t)
new_tuple = _function(lib, "kiln_tuple", c_void_p, _OUT, c_size_t)
new_dict = _function(lib, "kiln_dict", c_void_p, _OUT, _OUT, c_size_t, _OUT)
value_size = _function(lib, "kiln_value_size", c_size_t, c_void_p)
value_item = _function(lib, "kiln_value_item", c_void_p, c_void_p, c_size_t, _OUT)
value_key = _function(lib, "kiln_value_key", c_void_p, c_void_p, c_size_t, _OUT)
value_attribute = _function(lib, "kiln_value_attribute", c_void_p, c_void_p, c_void_p, c_char_p, _OUT)
value_repr = _function(lib, "kiln_value_repr", c_void_p, c_void_p, c_void_p, _OUT)
value_new = _function(lib, "kiln_value_new", c_void_p, c_void_p, _OUT)
invoke = _function(
    lib, "kiln_invoke", c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p
)
to_dlpack = _function(lib, "kiln_tensor_to_dlpack", c_void_p, c_void_p, _OUT)
to_dlpack_versioned = _function(lib, "kiln_tensor_to_dlpack_versioned", c_void_p, c_void_p, _OUT)
_version = _function(_looks, "kiln_version", c_char_p)


def version():
    return _version().decode()


if abi_version() != ABI_VERSION:
    raise ImportError(f"libkiln has interface {abi_version()}, and this package is made for {ABI_VERSION}")

__all__ = [name for name in globals() if not name.startswith("_")]
