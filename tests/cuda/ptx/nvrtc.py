"""Finds NVRTC, NVIDIA's compiler of CUDA C++ as a library, and compiles texts to PTX with it."""
import ctypes
import os
import subprocess
import sys
from pathlib import Path

MAJORS = (13, 12)
LEAST = (12, 3)  # the first with __builtin_bit_cast
# Those of tensor/math/basic.h; C++20 is what the headers are written in.
OPTIONS = ("--fmad=false", "-std=c++20", "-default-device")
HAS_MINIMAL = (12, 4)
SKIPPED = 77  # the status of a test that needs one where there is none


class CompileError(Exception):
    pass


def site_packages():
    """Folders of packages of the python3 on PATH, and of this one, which may be another."""
    ask = "import site, sys; print(*sys.path, *site.getsitepackages(), sep='\\n')"
    try:
        answer = subprocess.run(["python3", "-c", ask], capture_output=True, text=True, check=True, cwd="/").stdout
    except (OSError, subprocess.CalledProcessError):
        answer = ""
    return list(dict.fromkeys(Path(line) for line in [*answer.split("\n"), *sys.path] if line))


def candidates(folders):
    """Names to open, of which the first that can be opened is taken. `folders`: where a toolkit is, or a virtual environment."""
    if named := os.environ.get("KILN_NVRTC"):
        return [named]
    names = [f"libnvrtc.so.{major}" for major in MAJORS]
    paths = list(names)
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    for folder in [*folders, *homes]:
        paths += [str(path) for name in names for path in sorted(Path(folder).rglob(name))]
    for package in site_packages():
        paths += [str(path) for name in names for path in sorted((package / "nvidia").glob(f"**/lib/{name}"))]
    return paths


def texts_of(texts):
    """An array of C."""
    return (ctypes.c_char_p * len(texts))(*[text.encode() for text in texts])


class Nvrtc:
    def __init__(self, path):
        self.path = path
        self.library = ctypes.CDLL(path)
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.check(self.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        self.version = (major.value, minor.value)

    def version_text(self):
        return ".".join(map(str, self.version))

    def check(self, status):
        if status != 0:
            raise CompileError(self.library.nvrtcGetErrorString(status).decode())

    def text(self, program, what):
        """The log or the PTX of a program."""
        size = ctypes.c_size_t()
        self.check(getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self.check(getattr(self.library, f"nvrtcGet{what}")(program, buffer))
        return buffer.value.decode()

    def compile_to_ptx(self, source, name, architecture, options=OPTIONS, headers=None):
        """PTX of the text `source`, with the lines that instructions are of. `headers` are texts by the names of includes."""
        program = ctypes.c_void_p()
        names, texts = texts_of(headers or {}), texts_of((headers or {}).values())
        self.check(self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), len(names), texts, names))
        try:
            words = texts_of(dict.fromkeys([*options, f"--gpu-architecture={architecture}", "-lineinfo"]))
            if self.library.nvrtcCompileProgram(program, len(words), words) != 0:
                raise CompileError(self.text(program, "ProgramLog"))
            return self.text(program, "PTX")
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))


def find(folders=()):
    """The first NVRTC that can be opened, or None."""
    for path in candidates(folders):
        try:
            return Nvrtc(path)
        except (OSError, AttributeError):
            if os.environ.get("KILN_NVRTC"):
                raise
    return None


def usable(folders=()):
    """An NVRTC that takes the kernels, or None and the sentence that says why there is none."""
    library = find(folders)
    if library is None:
        return None, "skipped: there is no NVRTC here; `scripts/setup --cuda` puts one into .cache/cuda, or name one by KILN_NVRTC"
    if library.version < LEAST:
        return None, f"skipped: {library.path} is NVRTC {library.version_text()}, which lacks __builtin_bit_cast; 12.3 has it"
    return library, ""
