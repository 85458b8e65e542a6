#!/usr/bin/env python3
"""How training with data in parallel scales, on paper: python3 bench/ranks/scaling.py [--help]

A step computes for a stated time, a third forward and the rest backward, each layer in proportion to its products.
Gradients are submitted as backward makes them. The communication thread takes what is ready, in buffers of at most 64 MiB,
and sums one buffer after the other. The step ends when both are done; efficiency is its compute time over its duration.

What a sum of B bytes over n ranks takes, with bandwidth w, latency a, processor time o for a message and g for a byte:

- Agreement: rank 0 hears of and answers the n - 1 others: 2a + 2 (n - 1) o.
- `direct` is what Kiln does with fewer than 16 ranks: each sends every other one its part, sums its own, and sends the sums
  to all. P pieces of n * 256 KiB follow each other: wire time W = 2 (n - 1) / n B / w, processor time
  C = 4 (n - 1) P o + B g, together 2a + max(W, C) + min(W, C) / P.
- `halving` is what Kiln does with 16, 32, 64 ...: with rank ^ 1, rank ^ 2, rank ^ 4 ... half of what is left goes each way,
  then back. W is as before, C = 4 log2(n) o + B g, together 2 log2(n) a + W + C. It adds up in the same tree, so each bit
  of a result is the same. Ranks of one host are neighbours: what they exchange first stays within the host, and each then
  has its share of what hosts exchange.

Links: `switch` gives each host one link both ways to all others. `ring` connects neighbours alone, so that what two hosts at
distance d send each other passes d links: per direction B n / 8 for each of the two phases of `direct`, B / 2 for each
step of `halving`.
"""
import argparse
import math
from dataclasses import dataclass

PIECE = 1 << 18  # kPieceBytes of dist/algorithms/reductions.h
AT_ONCE = 1 << 14  # kAtOnceBytes of dist/algorithms/reductions.cpp
BUFFER = 1 << 26  # KILN_FUSION_THRESHOLD


@dataclass
class Network:
    bandwidth: float  # bytes a second of a host's link, each way
    latency: float  # seconds
    message: float  # seconds of processor time to send or receive one
    reduced_byte: float  # seconds of processor time
    per_host: int = 1  # ranks
    memory: float = 8e9  # bytes a second between ranks of a host
    topology: str = "switch"


def agreement(n, net):
    return 2 * net.latency + 2 * (n - 1) * net.message


def overlapped(wire, processor, pieces):
    return max(wire, processor) + min(wire, processor) / pieces


def direct(size, n, net):
    if size * (n - 1) <= AT_ONCE:
        return net.latency + max(size * (n - 1) / net.bandwidth, 2 * (n - 1) * net.message)
    pieces = math.ceil(size / (n * PIECE))
    hosts = n // net.per_host
    if net.topology == "ring":
        wire = size * max(hosts, 4) / 4 / net.bandwidth * net.per_host
    else:
        wire = 2 * (n - net.per_host) / n * size * net.per_host / net.bandwidth
    return 2 * net.latency + overlapped(wire, 4 * (n - 1) * pieces * net.message + size * net.reduced_byte, pieces)


def halving(size, n, net):
    (steps, m) = (n.bit_length() - 1, net.per_host)
    if net.topology == "ring":
        wire = steps * size / net.bandwidth
    else:
        wire = 2 * (n - m) / n * size / net.bandwidth + 2 * (m - 1) / m * size / net.memory
    return 2 * steps * net.latency + wire + 4 * steps * net.message + size * net.reduced_byte


ALGORITHMS = {"direct": direct, "halving": halving}


def resnet101():
    """(elements, multiplications for an image) of each parameter, in the order of the forward pass."""
    layers = []

    def convolution(n_in, n_out, kernel, side):
        count = n_in * n_out * kernel * kernel
        layers.append((count, count * side * side))
        layers.extend([(n_out, n_out * side * side)] * 2)  # batch norm

    convolution(3, 64, 7, 112)
    n_in = 64
    for width, blocks, side in ((64, 3, 56), (128, 4, 28), (256, 23, 14), (512, 3, 7)):
        for block in range(blocks):
            first_side = side * 2 if block == 0 and width > 64 else side
            convolution(n_in, width, 1, first_side)
            convolution(width, width, 3, side)
            convolution(width, 4 * width, 1, side)
            if block == 0:
                convolution(n_in, 4 * width, 1, side)
            n_in = 4 * width
    layers.extend([(2048 * 1000, 2048 * 1000), (1000, 1000)])
    return layers


def step(layers, compute, n, net, algorithm, element=4):
    """Seconds of a step, and how many buffers were summed."""
    work = sum(cost for _, cost in layers)
    ready, now = [], compute / 3
    for count, cost in reversed(layers):
        now += compute * 2 / 3 * cost / work
        ready.append((now, count * element))
    if n == 1:
        return compute, 0
    free, at, sums = 0.0, 0, 0
    while at < len(ready):
        free = max(free, ready[at][0]) + agreement(n, net)
        taken = 0
        while at < len(ready) and ready[at][0] <= free and (taken == 0 or taken + ready[at][1] <= BUFFER):
            taken += ready[at][1]
            at += 1
        free += ALGORITHMS[algorithm](taken, n, net)
        sums += 1
    return max(free, compute), sums


def options_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabits", type=float, default=25.0, help="a second, of a host's link each way")
    parser.add_argument("--latency", type=float, default=30.0, help="microseconds")
    parser.add_argument("--message", type=float, default=20.0, help="microseconds of processor time for a message")
    parser.add_argument("--reduced", type=float, default=0.25, help="nanoseconds of processor time for a byte")
    parser.add_argument("--per-host", type=int, default=1, help="ranks of a host, which share its link")
    parser.add_argument("--compute", type=float, default=0.48,
                        help="seconds of a step on one rank; 0.48 is a batch of 64 images at 133 a second")
    parser.add_argument("--topology", choices=["switch", "ring"], default="switch")
    return parser.parse_args()


def main():
    options = options_of()
    net = Network(options.gigabits * 1e9 / 8, options.latency / 1e6, options.message / 1e6, options.reduced / 1e9,
                  options.per_host, topology=options.topology)
    layers = resnet101()
    print(f"ResNet-101: {len(layers)} gradients, {sum(count for count, _ in layers) * 4 / 1e6:.1f} MB, {options.compute} s a step")
    print("| ranks | " + " | ".join(ALGORITHMS) + " |\n|---" + "|---" * len(ALGORITHMS) + "|")
    for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512):
        cells = []
        for algorithm in ALGORITHMS:
            if 1 < n < options.per_host:
                cells.append("")
                continue
            (seconds, sums) = step(layers, options.compute, n, net, algorithm)
            cells.append(f"{100 * options.compute / seconds:.0f} % ({sums})")
        print(f"| {n} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
