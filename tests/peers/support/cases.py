"""What is asked of Kiln and of another program alike: collectives with their inputs for each rank, drawn by a fixed seed.

A case is a dict: `call` the collective, `dtype`, `inputs` for each rank a list of arrays, and the arguments that differ
from their defaults. bf16 is held in f32, with values that bf16 can hold. With `gradient`, the result of rank r times r + 1
is summed, and the gradient of the first input is asked for as well.
"""
import json

import numpy as np

FLOATS = ["f32", "f64", "f16", "bf16"]
INTEGERS = ["u8", "i8", "i32", "i64"]
NUMPY = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": np.float32,
         "u8": np.uint8, "i8": np.int8, "i32": np.int32, "i64": np.int64}


def as_bf16(x):
    """Cut to the upper 16 bits of f32."""
    return (np.ascontiguousarray(x, np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def draw(generator, dtype, shape):
    if dtype in INTEGERS:
        return generator.integers(1 if dtype == "u8" else -4, 5, shape).astype(NUMPY[dtype])
    values = generator.standard_normal(shape).astype(NUMPY[dtype])
    return as_bf16(values) if dtype == "bf16" else values


def collectives(n):
    """{name: case} for n ranks."""
    generator = np.random.default_rng(n)
    cases = {}

    def add(name, call, dtype, shapes, **arguments):
        """`shapes` of each rank; a list of them for a group."""
        inputs = [[draw(generator, dtype, s) for s in (each if isinstance(each, list) else [each])] for each in shapes]
        cases[name] = dict(call=call, dtype=dtype, inputs=inputs, **arguments)

    for dtype in FLOATS + INTEGERS:
        for op in ("average", "sum", "min", "max", "product"):
            add(f"allreduce_{op}_{dtype}", "allreduce", dtype, [(3, 67)] * n, op=op)
        add(f"allgather_{dtype}", "allgather", dtype, [(r + 1, 5) for r in range(n)])
        add(f"broadcast_{dtype}", "broadcast", dtype, [(4, 3)] * n, root=n - 1)
        add(f"alltoall_{dtype}", "alltoall", dtype, [(2 * n, 3)] * n)
        splits = [[(r + k) % 3 for k in range(n)] for r in range(n)]
        add(f"alltoall_splits_{dtype}", "alltoall", dtype, [(sum(s), 2) for s in splits], splits=splits)
        add(f"reducescatter_{dtype}", "reducescatter", dtype, [(2 * n, 7)] * n, op="sum")
        add(f"reducescatter_uneven_{dtype}", "reducescatter", dtype, [(2 * n + 1, 7)] * n, op="sum")
    for dtype in FLOATS:
        add(f"adasum_{dtype}", "allreduce", dtype, [(50,)] * n, op="adasum")
        add(f"scaled_{dtype}", "allreduce", dtype, [(50,)] * n, op="sum", prescale=0.5, postscale=3.0)
        add(f"reducescatter_average_{dtype}", "reducescatter", dtype, [(2 * n, 7)] * n, op="average")
    add("scaled_average", "allreduce", "f32", [(50,)] * n, op="average", prescale=2.0, postscale=0.25)
    add("compressed_fp16", "allreduce", "f32", [(50,)] * n, op="sum", compression="fp16")
    add("compressed_i64", "allreduce", "i64", [(50,)] * n, op="sum", compression="fp16")
    add("grouped", "grouped_allreduce", "f32", [[(2, 3), (40,), (1,)]] * n, op="sum")
    add("grouped_average", "grouped_allreduce", "f64", [[(2, 3), (40,)]] * n, op="average")
    add("empty", "allreduce", "f32", [(0, 4)] * n, op="sum")
    add("scalar", "allreduce", "f32", [()] * n, op="sum")
    add("large", "allreduce", "f32", [(300_000,)] * n, op="sum")
    add("some_empty", "allgather", "f32", [(r, 2) for r in range(n)])
    add("one_sends", "alltoall", "f32", [(n if r == 0 else 0, 2) for r in range(n)],
        splits=[[1] * n if r == 0 else [0] * n for r in range(n)])
    for op in ("sum", "average"):
        add(f"gradient_allreduce_{op}", "allreduce", "f32", [(6,)] * n, op=op, gradient=True)
        add(f"gradient_reducescatter_{op}", "reducescatter", "f32", [(2 * n, 2)] * n, op=op, gradient=True)
    add("gradient_scaled", "allreduce", "f32", [(6,)] * n, op="sum", prescale=0.5, postscale=3.0, gradient=True)
    add("gradient_allgather", "allgather", "f32", [(2, 2)] * n, gradient=True)
    add("gradient_allgather_uneven", "allgather", "f32", [(r + 1, 2) for r in range(n)], gradient=True)
    add("gradient_broadcast", "broadcast", "f32", [(4,)] * n, root=0, gradient=True)
    add("gradient_alltoall", "alltoall", "f32", [(2 * n, 2)] * n, gradient=True)
    # Last, since Horovod numbers collectives without names, as gradients are, by how many a rank has called.
    if n > 2:
        members = [0, n - 1]
        add("set_sum", "allreduce", "f32", [(9,)] * n, op="sum", members=members)
        add("set_average", "allreduce", "f32", [(9,)] * n, op="average", members=members)
        add("set_allgather", "allgather", "f32", [(r + 1, 2) for r in range(n)], members=members)
        add("set_broadcast", "broadcast", "f32", [(3,)] * n, root=n - 1, members=members)
        add("set_alltoall", "alltoall", "f32", [(4, 2)] * n, members=members)
        add("set_reducescatter", "reducescatter", "f32", [(5, 2)] * n, op="sum", members=members)
    return cases


def write(cases, folder):
    """The cases for a rank to read: cases.json without inputs, and NAME.RANK.I.npy."""
    for name, case in cases.items():
        for r, arrays in enumerate(case["inputs"]):
            for i, array in enumerate(arrays):
                np.save(folder / f"{name}.{r}.{i}.npy", array)
    plain = {name: {k: v for k, v in case.items() if k != "inputs"} | {"count": len(case["inputs"][0])}
             for name, case in cases.items()}
    (folder / "cases.json").write_text(json.dumps(plain))


def takes_part(case, rank):
    return rank in case.get("members", [rank])


def results(cases, folder, n):
    """{(name, rank): arrays} that ranks wrote as NAME.RANK.I.npy: the outputs, and the gradient where one was asked for."""
    found = {}
    for name, case in cases.items():
        count = len(case["inputs"][0]) + (1 if case.get("gradient") else 0)
        for r in range(n):
            if takes_part(case, r) and (folder / f"{name}.{r}.0.npy").exists():
                found[name, r] = [np.load(folder / f"{name}.{r}.{i}.npy") for i in range(count)]
    return found


def compare(comparison, cases, n, kiln, other, factor_of=lambda name: 1):
    """Every result of the other program against Kiln's, whose gradients are `factor_of(name)` times as large."""
    (got, wanted) = (results(cases, folder, n) for folder in (kiln, other))
    for (name, r), arrays in wanted.items():
        for i, array in enumerate(arrays):
            is_gradient = i == len(cases[name]["inputs"][0])
            scaled = array * array.dtype.type(factor_of(name)) if is_gradient else array
            comparison.check(f"{name}[{i}], rank {r} of {n}", got[name, r][i], scaled, tolerance_of(cases[name]))


# Sums of two or three values in the dtype itself, against sums that are carried in f32 and rounded once.
TOLERANCE = {"f64": 1e-14, "f32": 1e-6, "f16": 4e-3, "bf16": 3e-2}


def tolerance_of(case):
    return TOLERANCE.get("f16" if "compression" in case and case["dtype"] == "f32" else case["dtype"], 0)
