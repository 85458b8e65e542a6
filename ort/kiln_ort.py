"""Lets ONNX Runtime's training build run the autograd functions of a Kiln program.

    import kiln_ort, onnxruntime
    program = kiln_ort.Program("program.kiln")
    session = onnxruntime.InferenceSession(program.load("step.onnx"))
"""
import atexit
import ctypes
import os
import struct

from onnxruntime.capi import _pybind_state as runtime

_library = ctypes.PyDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libkiln_ort.so"))
for _name, _result in {"start": ctypes.c_void_p, "load": ctypes.c_void_p, "bytes": ctypes.c_void_p,
                       "function_count": ctypes.c_size_t, "function": ctypes.c_char_p, "live": ctypes.c_int64,
                       "infers_shape": ctypes.c_int, "shapes": ctypes.c_void_p,
                       "forward_runner": ctypes.c_size_t, "backward_runner": ctypes.c_size_t, "stop": None,
                       "free_model": None, "free": None}.items():
    getattr(_library, "kiln_ort_" + _name).restype = _result

runtime.register_forward_runner(_library.kiln_ort_forward_runner())
runtime.register_backward_runner(_library.kiln_ort_backward_runner())
atexit.register(runtime.unregister_python_functions)

# The runtime registers subclasses of PyTorch's Function, and tells them by name; it hands each on to the runner.
_Function = type("Function", (), {"__module__": "torch.autograd.function"})


class _Placeholder(_Function):
    @staticmethod
    def apply(*arguments):
        raise RuntimeError("kiln_ort runs this function")

    forward = backward = apply


def _called(function, failed, *arguments):
    error = ctypes.c_void_p()
    result = function(*arguments, ctypes.byref(error))
    if result != failed:
        return result
    text = ctypes.string_at(error.value).decode()
    _library.kiln_ort_free(error)
    raise RuntimeError(text)


def _text(value):
    data = value if isinstance(value, bytes) else str(value).encode()
    return struct.pack("=Q", len(data)) + data


def _types(data):
    """Shapes and element types, as `infer_shape` gave them: sizes that are no numbers are expressions of symbols."""
    (count,), at = struct.unpack_from("=Q", data), 8
    shapes, dtypes = [], []
    for _ in range(count):
        dtype, rank = struct.unpack_from("=qQ", data, at)
        at += 16
        shapes.append([])
        dtypes.append(dtype)
        for _ in range(rank):
            (length,) = struct.unpack_from("=Q", data, at)
            size = data[at + 8:at + 8 + length].decode()
            at += 8 + length
            shapes[-1].append(int(size) if size.isdigit() else size)
    return shapes, dtypes


def _shape_inference(handle):
    """What the runtime calls for the shapes of a node's results."""
    def infer(node, shapes, dtypes):
        told = {each.name: each for each in node.attribute}
        constants = told["__kiln_constants"].strings
        request = _text(told["func_name"].s) + struct.pack("=Q", len(constants)) + b"".join(map(_text, constants))
        request += struct.pack("=Q", len(shapes))
        for dtype, shape in zip(dtypes, shapes):
            request += struct.pack("=qQ", dtype, len(shape)) + b"".join(map(_text, shape))
        count = ctypes.c_size_t()
        answer = ctypes.c_void_p(_called(_library.kiln_ort_shapes, None, handle, request, ctypes.c_size_t(len(request)),
                                         ctypes.byref(count)))
        data = ctypes.string_at(answer, count.value)
        _library.kiln_ort_free(answer)
        return _types(data)
    return infer


class Program:
    """A program that has run, in a process of its own, and whose functions wait for calls."""

    def __init__(self, path, executable=None):
        executable = None if executable is None else os.fsencode(executable)
        self._handle = ctypes.c_void_p(_called(_library.kiln_ort_start, None, os.fsencode(path), executable))
        atexit.register(self.close)

    def load(self, path):
        """The bytes of a model, ready for a session of this process, with its functions registered."""
        model = ctypes.c_void_p(_called(_library.kiln_ort_load, None, self._handle, os.fsencode(path)))
        count = ctypes.c_size_t()
        data = ctypes.string_at(_library.kiln_ort_bytes(model, ctypes.byref(count)), count.value)
        for i in range(_library.kiln_ort_function_count(model)):
            name = _library.kiln_ort_function(model, ctypes.c_size_t(i)).decode()
            runtime.register_torch_autograd_function(name, _Placeholder)
            if _library.kiln_ort_infers_shape(model, ctypes.c_size_t(i)):
                runtime.register_shape_inference_function(name, _shape_inference(self._handle))
        _library.kiln_ort_free_model(model)
        return data

    @property
    def live_contexts(self):
        """How many applications wait for their backward."""
        return _called(_library.kiln_ort_live, -1, self._handle)

    def close(self):
        _library.kiln_ort_stop(self._handle)
