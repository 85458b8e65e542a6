"""Compares Kiln's collectives and training on 2 and 3 ranks with torch.distributed over Gloo."""
# Environment: torch
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))
import numpy as np
import torch
import torch.distributed as torch_dist
import torch.distributed.nn.functional as with_gradient

import cases
import jobs
import training

OPS = {"sum": torch_dist.ReduceOp.SUM, "average": torch_dist.ReduceOp.SUM, "min": torch_dist.ReduceOp.MIN,
       "max": torch_dist.ReduceOp.MAX, "product": torch_dist.ReduceOp.PRODUCT}

TRAINING = ["sgd", "adam", "passes"]


def is_known(case):
    """Has torch.distributed the collective? Adasum, compression and rows that are shared unevenly it has not."""
    if case.get("op") == "adasum" or "compression" in case:
        return False
    sizes = {each[0].shape for each in case["inputs"]}
    if case["call"] == "allgather":
        return len(sizes) == 1 or not case.get("gradient")
    if case["call"] == "reducescatter":
        members = len(case.get("members", case["inputs"]))
        return len(case["inputs"][0][0]) % members == 0 and not case.get("gradient")
    return True


def allreduce(x, case, group, n):
    """y = post * reduce(pre * x); Average divides the sum, integers are cut toward zero."""
    y = x * case["prescale"] if "prescale" in case else x.clone()
    if case.get("gradient"):
        y = with_gradient.all_reduce(y, op=OPS[case["op"]], group=group)
    else:
        torch_dist.all_reduce(y, op=OPS[case["op"]], group=group)
    if case["op"] == "average":
        y = y / n if y.is_floating_point() else torch.div(y, n, rounding_mode="trunc")
    return y * case["postscale"] if "postscale" in case else y


def allgather(x, case, group, n):
    if case.get("gradient"):
        return torch.cat(with_gradient.all_gather(x, group=group))
    counts = [torch.zeros(1, dtype=torch.int64) for _ in range(n)]
    torch_dist.all_gather(counts, torch.tensor([len(x)]), group=group)
    most = max(int(c) for c in counts)  # Gloo gathers tensors of one shape
    padded = torch.cat([x, x.new_zeros(most - len(x), *x.shape[1:])])
    parts = [torch.empty_like(padded) for _ in range(n)]
    torch_dist.all_gather(parts, padded, group=group)
    return torch.cat([part[:int(c)] for part, c in zip(parts, counts)])


def alltoall(x, case, group, n, rank):
    if "splits" not in case:
        received = torch.empty_like(x)
        if case.get("gradient"):
            return with_gradient.all_to_all_single(received, x, group=group)
        torch_dist.all_to_all_single(received, x, group=group)
        return received
    own, arriving = case["splits"][rank], [s[rank] for s in case["splits"]]
    received = x.new_empty(sum(arriving), *x.shape[1:])
    torch_dist.all_to_all_single(received, x, arriving, own, group=group)
    return received


def perform(case, xs, group, n, rank):
    x = xs[0]
    if case["call"] == "broadcast":
        if case.get("gradient"):
            return [with_gradient.broadcast(x, case["root"], group=group)]
        y = x.clone()
        torch_dist.broadcast(y, case["root"], group=group)
        return [y]
    if case["call"] == "allgather":
        return [allgather(x, case, group, n)]
    if case["call"] == "alltoall":
        return [alltoall(x, case, group, n, rank)]
    if case["call"] == "reducescatter":
        y = x.new_empty(len(x) // n, *x.shape[1:])
        torch_dist.reduce_scatter_tensor(y, x, group=group)
        return [y / n if case["op"] == "average" else y]
    return [allreduce(x, case, group, n) for x in xs]


def run_training(rank, given, results):
    """DistributedDataParallel: gradients are averaged; those of all but the last backward pass of a step add up here."""
    for name in TRAINING:
        (setting, plain) = (training.SETTINGS[name], training.network(given))
        model = torch.nn.parallel.DistributedDataParallel(plain)

        def before_pass(is_last):
            model.require_backward_grad_sync = is_last

        rows = training.train(model, plain, training.optimizer(plain, setting), setting, given, rank, before_pass)
        np.save(results / f"{name}.{rank}.npy", rows)


def run_rank(rank, n, given, results):
    torch_dist.init_process_group("gloo", init_method=f"file://{results}/meeting", rank=rank, world_size=n)
    groups = {}
    for name, case in json.loads((given / "cases.json").read_text()).items():
        members = tuple(case.get("members", range(n)))
        if members not in groups:
            groups[members] = torch_dist.new_group(members)
        if rank not in members:
            continue
        dtype = torch.bfloat16 if case["dtype"] == "bf16" else None
        xs = [torch.from_numpy(np.load(given / f"{name}.{rank}.{i}.npy")).to(dtype) for i in range(case["count"])]
        xs[0].requires_grad_(case.get("gradient", False))
        ys = perform(case, xs, groups[members], len(members), rank)
        if case.get("gradient"):
            (ys[0] * (rank + 1)).sum().backward()
            ys.append(xs[0].grad)
        for i, y in enumerate(ys):
            np.save(results / f"{name}.{rank}.{i}.npy", (y.float() if dtype else y).detach().numpy())
    run_training(rank, given, results)
    torch_dist.destroy_process_group()


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
            jobs.run_ranks([[sys.executable, __file__, r, n, given, other] for r in range(n)])
            cases.compare(comparison, known, n, kiln, other)
            training.compare(comparison, TRAINING, n, given, kiln, other)
    comparison.finish()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run_rank(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        main()
