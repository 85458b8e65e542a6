"""Files as `torch.save` writes them, made by hand: what `load` gives of them, and that damaged ones are errors.

Usage: torch_files.py path/to/kiln
"""

import collections
import pickle
import random
import subprocess
import sys
import tempfile
import types
import zipfile
from pathlib import Path

try:
    import numpy as np
except ImportError:
    sys.exit(77)

# ---- Stand-ins for PyTorch's names, which pickles refer to ----

torch = types.ModuleType("torch")
utils = types.ModuleType("torch._utils")
sys.modules["torch"] = torch
sys.modules["torch._utils"] = utils
KINDS = {
    "Float": "<f4", "Double": "<f8", "Half": "<f2", "BFloat16": "<u2", "Long": "<i8", "Int": "<i4", "Short": "<i2",
    "Char": "i1", "Byte": "u1", "Bool": "?", "ComplexFloat": "<c8",
}
for kind in KINDS:
    setattr(torch, kind + "Storage", type(kind + "Storage", (), {"__module__": "torch"}))


def rebuild(*arguments):
    return arguments


for name in ("_rebuild_tensor_v2", "_rebuild_parameter"):
    function = types.FunctionType(rebuild.__code__, globals(), name)
    function.__module__ = "torch._utils"
    function.__qualname__ = name
    setattr(utils, name, function)


class Storage:
    def __init__(self, kind, elements):
        self.kind, self.elements = kind, np.asarray(elements, KINDS[kind])


class Tensor:
    def __init__(self, storage, offset, sizes, strides, requires_grad=False):
        self.parts = storage, offset, tuple(sizes), tuple(strides), requires_grad

    def __reduce__(self):
        return utils._rebuild_tensor_v2, (*self.parts, collections.OrderedDict())


class Parameter:
    def __init__(self, data):
        self.data = data

    def __reduce__(self):
        return utils._rebuild_parameter, (self.data, True, collections.OrderedDict())


def dense(kind, array):
    array = np.asarray(array)
    strides = [s // array.itemsize for s in np.ascontiguousarray(array).strides]
    return Tensor(Storage(kind, array.reshape(-1)), 0, array.shape, strides)


class Pickler(pickle.Pickler):
    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.keys = {}

    def persistent_id(self, value):
        if not isinstance(value, Storage):
            return None
        key = self.keys.setdefault(id(value), (str(len(self.keys)), value))[0]
        return "storage", getattr(torch, value.kind + "Storage"), key, "cpu", len(value.elements)


def save(path, value, protocol=2, members=()):
    with tempfile.TemporaryFile() as file:
        pickler = Pickler(file, protocol)
        pickler.dump(value)
        file.seek(0)
        pickled = file.read()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("model/data.pkl", pickled)
        archive.writestr("model/byteorder", "little")
        for key, storage in pickler.keys.values():
            archive.writestr(f"model/data/{key}", storage.elements.tobytes())
        archive.writestr("model/version", "3\n")
        for name, content in members:
            archive.writestr(name, content)


# ---- Running Kiln ----

KILN = sys.argv[1]


def run(program, *arguments):
    done = subprocess.run([KILN, "-e", program, *arguments], capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr


def shown(folder, expression, value, protocol=2, members=()):
    path = folder / "model.pt"
    save(path, value, protocol, members)
    return run(f'm = load("{path}"); print(({expression}))').strip()


def expect(found, wanted):
    if found != wanted:
        sys.exit(f"found:  {found}\nwanted: {wanted}")


def expect_error(folder, value, words, **settings):
    found = shown(folder, "m", value, **settings)
    if words not in found or "IOError" not in found:
        sys.exit(f"no error with {words!r}:\n{found}")


# ---- What is read ----


def values(folder):
    state = collections.OrderedDict(weight=dense("Float", [[1.5, -2.0], [0.25, 3.0]]), bias=dense("Float", [0.5, 1.0]))
    state._metadata = {"version": 1}
    for protocol in (2, 3, 4, 5):
        expect(shown(folder, '[(k, v.dtype, v.tolist()) for k, v in m.items()]', state, protocol),
               "[('weight', f32, [[1.5, -2.0], [0.25, 3.0]]), ('bias', f32, [0.5, 1.0])]")
    plain = {"epoch": 3, "big": 2**62, "minus": -70000, "rate": 0.125, "name": "größe", "none": None, "flags": [True, False],
             "pair": (1, (2.5, "x")), 7: "seven", "nested": {"t": dense("Long", [1, 2, 3])}}
    expect(shown(folder, "m", plain), "{'epoch': 3, 'big': 4611686018427387904, 'minus': -70000, 'rate': 0.125, 'name': 'größe', "
           "'none': none, 'flags': [true, false], 'pair': (1, (2.5, 'x')), 7: 'seven', 'nested': {'t': tensor([1, 2, 3])}}")
    expect(shown(folder, "m", dense("Double", [1.0, 2.0])), "f64[2] cpu 16 B\n[1., 2.]")
    parameter = [Parameter(dense("Float", [1.0]))]
    expect(shown(folder, "m[0].requires_grad, is_parameter(m[0])", parameter), "(true, true)")


def dtypes(folder):
    for kind, dtype, elements, wanted in [
        ("Float", "f32", [1.5, -2], "[1.5, -2.0]"), ("Double", "f64", [1e300], "[1e+300]"), ("Half", "f16", [0.5], "[0.5]"),
        ("BFloat16", "bf16", [0x3FC0, 0xC000], "[1.5, -2.0]"), ("Long", "i64", [-1, 2**40], "[-1, 1099511627776]"),
        ("Int", "i32", [-5], "[-5]"), ("Short", "i16", [-300], "[-300]"), ("Char", "i8", [-7], "[-7]"),
        ("Byte", "u8", [200], "[200]"), ("Bool", "bool", [True, False], "[true, false]"),
    ]:
        expect(shown(folder, "m.dtype, m.tolist()", dense(kind, elements)), f"({dtype}, {wanted})")


def layouts(folder):
    storage = Storage("Float", np.arange(12))
    tied = [Tensor(storage, 0, (3, 4), (4, 1)), Tensor(storage, 1, (4, 2), (1, 4)), Tensor(storage, 5, (), ())]
    expect(shown(folder, "m[1].tolist(), m[1].stride(), m[2].item(), m[0].storage_id() == m[1].storage_id()", tied),
           "([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0], [4.0, 8.0]], (1, 4), 5.0, true)")
    both = Storage("Float", [1.0, 2.0])
    expect(shown(folder, "m['a'].add_(1).sum().item(), m['b'].tolist()",
                 {"a": Tensor(both, 0, (2,), (1,)), "b": Tensor(both, 0, (2,), (1,))}), "(5.0, [2.0, 3.0])")
    expect(shown(folder, "m.shape", dense("Float", np.zeros((0, 3)))), "(0, 3)")
    expect(shown(folder, "m.tolist()", Tensor(Storage("Float", [7.0]), 0, (3,), (0,))), "[7.0, 7.0, 7.0]")
    rng = np.random.default_rng(0)
    for _ in range(5):
        whole = rng.standard_normal(60).astype("<f4")
        sizes = [int(n) for n in rng.integers(1, 4, 2)]
        strides, offset = [int(n) for n in rng.integers(0, 8, 2)], int(rng.integers(0, 10))
        wanted = np.lib.stride_tricks.as_strided(whole[offset:], sizes, [4 * s for s in strides])
        found = shown(folder, "m.double().tolist()", Tensor(Storage("Float", whole), offset, sizes, strides))
        expect(found, str(wanted.astype("f8").tolist()))


# ---- What is refused ----


class Calls:
    def __reduce__(self):
        return print, ("called",)


def refusals(folder):
    expect_error(folder, {"x": Calls()}, "__builtin__.print")
    expect_error(folder, {"x": collections.Counter()}, "collections.Counter")
    expect_error(folder, {"x": torch.FloatStorage}, "torch.FloatStorage")
    expect_error(folder, 2**80, "more than 64 bits")
    expect_error(folder, {(1, 2): 3}, "a key of a dict")
    storage = Storage("Float", [1.0, 2.0])
    for bad in [(1, (2,), (1,)), (0, (3,), (1,)), (-1, (1,), (1,)), (0, (2, 2), (1,)), (0, (2,), (2**62,)), (0, (2**40,), (1,))]:
        expect_error(folder, Tensor(storage, *bad), "a tensor ")
    with zipfile.ZipFile(folder / "big.pt", "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps(1, 2))
        archive.writestr("model/byteorder", "big")
    if "not little-endian" not in run(f'load("{folder / "big.pt"}")'):
        sys.exit("an order of bytes is not refused")
    path = folder / "old.pt"
    path.write_bytes(pickle.dumps(0x1950A86A20F9469CFC6C, 2))
    if "before PyTorch 1.6" not in run(f'load("{path}")'):
        sys.exit("an old file is not named")
    with zipfile.ZipFile(folder / "other.pt", "w") as archive:
        archive.writestr("text", "x")
    if "no data.pkl" not in run(f'load("{folder / "other.pt"}")'):
        sys.exit("a zip archive without a pickle is not named")


def deep(folder):
    value = ()
    for _ in range(200):
        value = (value,)
    expect_error(folder, value, "100 deep")


# Bytes of a file, and of its pickle alone, are changed: a value or an IOError comes of it.
def damage(folder):
    path = folder / "whole.pt"
    state = {"w": dense("Float", np.arange(6).reshape(2, 3)), "n": [1, 2.5, "text", (None, True)]}
    save(path, state)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    draw = random.Random(1)
    names = []
    for i in range(120):
        damaged = folder / f"damaged{i}.pt"
        if i % 2 == 0:
            content = bytearray(whole)
            content[draw.randrange(len(content))] = draw.randrange(256)
            damaged.write_bytes(content[:draw.randrange(len(content))] if i % 8 == 0 else content)
        else:
            pickled = bytearray(members["model/data.pkl"])
            for _ in range(draw.randrange(1, 4)):
                pickled[draw.randrange(len(pickled))] = draw.randrange(256)
            with zipfile.ZipFile(damaged, "w") as archive:
                for name, content in members.items():
                    archive.writestr(name, bytes(pickled) if name.endswith(".pkl") else content)
        names.append(str(damaged))
    program = 'for path in args { try { repr(load(path)) } catch e { if e.kind != "IOError" { print(path, e.kind, e.message) } } }; print("done")'
    script = folder / "damage.kiln"
    script.write_text(program)
    done = subprocess.run([KILN, str(script), *names], capture_output=True, text=True, timeout=300)
    if done.stdout != "done\n" or done.returncode != 0:
        sys.exit(f"a damaged file is no IOError:\n{done.stdout}{done.stderr}")


with tempfile.TemporaryDirectory() as name:
    for test in (values, dtypes, layouts, refusals, deep, damage):
        test(Path(name))
