"""Compares Kiln's collectives and training on 2 and 3 ranks with Horovod's for PyTorch, over Gloo.

Deliberate differences (docs/ranks.md has the table) are asserted as such: Kiln's gradients are the adjoints, while Horovod
divides those of broadcast and allgather by n, and multiplies those of reducescatter by n.
"""
import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path = [each for each in sys.path if Path(each).resolve() != HERE]  # where this file hides the library of its name
sys.path.insert(0, str(HERE / "support"))
import horovod.torch as hvd
import numpy as np
import torch

import cases
import jobs
import training


def is_known(case):
    """PyTorch's bf16 is unknown, integers of a byte are moved but not reduced, and without MPI there is no
    Adasum, which adasum.py compares with its formula."""
    if case.get("dtype") in ("u8", "i8"):
        return case["call"] in ("allgather", "broadcast", "alltoall")
    return case.get("dtype") != "bf16" and case.get("op") != "adasum"


def factor_of(case, n):
    """Of Kiln's gradient, the adjoint, to Horovod's."""
    return {"broadcast": n, "allgather": n, "reducescatter": 1 / n}.get(case["call"], 1)


def perform(name, case, xs, process_set, rank):
    x = xs[0]
    common = dict(name=name, process_set=process_set)
    if case["call"] == "allgather":
        return [hvd.allgather(x, **common)]
    if case["call"] == "broadcast":
        return [hvd.broadcast(x, case["root"], **common)]
    if case["call"] == "alltoall":
        if "splits" not in case:
            return [hvd.alltoall(x, **common)]
        return [hvd.alltoall(x, torch.tensor(case["splits"][rank], dtype=torch.int32), **common)[0]]
    ops = dict(average=hvd.Average, sum=hvd.Sum, min=hvd.Min, max=hvd.Max, product=hvd.Product)
    scales = dict(op=ops[case["op"]], prescale_factor=case.get("prescale", 1.0), postscale_factor=case.get("postscale", 1.0), **common)
    if case["call"] == "reducescatter":
        return [hvd.reducescatter(x, **scales)]
    if case["call"] == "grouped_allreduce":
        return hvd.grouped_allreduce(xs, **scales)
    compression = hvd.Compression.fp16 if "compression" in case else hvd.Compression.none
    return [hvd.allreduce(x, compression=compression, **scales)]


def run_collectives(given, results):
    (rank, sets) = (hvd.rank(), {})
    for name, case in json.loads((given / "cases.json").read_text()).items():
        members = tuple(case.get("members", range(hvd.size())))
        if members not in sets:
            sets[members] = hvd.add_process_set(members) if "members" in case else hvd.global_process_set
        if rank not in members:
            continue
        dtype = torch.bfloat16 if case["dtype"] == "bf16" else None
        xs = [torch.from_numpy(np.load(given / f"{name}.{rank}.{i}.npy")).to(dtype) for i in range(case["count"])]
        xs[0].requires_grad_(case.get("gradient", False))
        ys = perform(name, case, xs, sets[members], rank)
        if case.get("gradient"):
            (ys[0] * (rank + 1)).sum().backward()
            ys.append(xs[0].grad)
        for i, y in enumerate(ys):
            np.save(results / f"{name}.{rank}.{i}.npy", (y.float() if dtype else y).detach().numpy())


def optimizer_of(model, setting):
    params = list(model.parameters())
    groups = setting.get("groups")
    if isinstance(groups, list):
        groups = [[params[i] for i in group] for group in groups]
    ops = dict(average=hvd.Average, sum=hvd.Sum)
    more = {} if "groups" not in setting else {"groups": groups}
    return hvd.DistributedOptimizer(
        training.optimizer(model, setting), named_parameters=model.named_parameters(),
        compression=hvd.Compression.fp16 if setting.get("compression") == "fp16" else hvd.Compression.none,
        backward_passes_per_step=setting.get("passes", 1), op=ops[setting.get("op", "average")],
        gradient_predivide_factor=setting.get("predivide", 1.0), **more)


def run_training(given, results):
    for name, setting in training.SETTINGS.items():
        if not is_known(setting):
            continue
        model = training.network(given)
        opt = optimizer_of(model, setting)
        np.save(results / f"{name}.{hvd.rank()}.npy", training.train(model, model, opt, setting, given, hvd.rank()))


def run_rank(given, results):
    hvd.init(process_sets="dynamic")
    run_collectives(given, results)
    run_training(given, results)
    hvd.shutdown()


def main():
    comparison = jobs.Comparison()
    for n in (2, 3):
        with tempfile.TemporaryDirectory() as folder:
            (given, kiln, other) = (Path(folder) / each for each in ("given", "kiln", "other"))
            for each in (given, kiln, other):
                each.mkdir()
            known = {name: case for name, case in cases.collectives(n).items() if is_known(case)}
            cases.write(known, given)
            training.write(n, given)
            jobs.run_kiln(n, "collectives.kiln", given, kiln)
            jobs.run_kiln(n, "training.kiln", given, kiln)
            jobs.run([sys.executable, "-m", "horovod.runner.launch", "-np", n, "--gloo", sys.executable, __file__, given, other])
            cases.compare(comparison, known, n, kiln, other, lambda name: factor_of(known[name], n))
            settings = [name for name, setting in training.SETTINGS.items() if is_known(setting)]
            training.compare(comparison, settings, n, given, kiln, other)
    comparison.finish()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run_rank(Path(sys.argv[1]), Path(sys.argv[2]))
    else:
        main()
