import tempfile

import torch.distributed as dist
import torch.multiprocessing as processes

from rank_sums import measure


def total(x, name):
    y = x.clone()
    dist.all_reduce(y)
    return y


def run(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    measure(rank, total)
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        processes.spawn(run, (folder,), nprocs=2)
