#!/usr/bin/env python3
"""Measures sums and overlapped steps between two hosts on one machine: bench/ranks/measure.py [--save MACHINE]

The hosts are network namespaces, which only root may make, with a link of 1 Gbit/s (`tbf`). Prints what sums of different
sizes take beside what scaling.py says they take, and steps beside what was asked of them: at most 1.15 times the longer of
computing and communicating, and 5 ms. Where namespaces cannot be made it says so, and ends well. --save keeps the results in
bench/results/ranks-MACHINE-DATE.json.
"""
import argparse
import datetime
import json
import os
import statistics
from pathlib import Path

import scaling
from hosts import Hosts

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KILN = os.environ.get("KILN", ROOT / "build" / "kiln")
RATE = "1gbit"

# Layers, their width, batch, and milliseconds in which each layer computes elsewhere: the processor is free then.
STEPS = {
    "computing is longer": (8, 512, 8, 6),
    "both are alike": (8, 512, 8, 2),
    "communicating is longer": (8, 512, 8, 1),
}


def samples(lines):
    found = {}
    for line in lines:
        name, seconds = line.split()
        found.setdefault(name, []).append(float(seconds))
    return found


def measure_sums(rounds):
    """The least and the median seconds of each size, and the model's; its latency is half of the least of an agreed message."""
    with Hosts(RATE) as hosts:
        found = samples(hosts.run_kiln(KILN, HERE / "sums.kiln", rounds))
    least = min(found["4"])
    # A sum of 4 bytes is three messages one behind the other: to rank 0, back, and the values.
    net = scaling.Network(bandwidth=1e9 / 8 * 1448 / 1514, latency=least / 3, message=0, reduced_byte=0.25e-9)
    rows = {}
    for size, seconds in found.items():
        said = scaling.agreement(2, net) + scaling.direct(int(size), 2, net)
        rows[size] = dict(least=min(seconds), median=statistics.median(seconds), model=said)
        print(f"{int(size):>9} B  least {min(seconds) * 1e3:8.2f} ms  median {statistics.median(seconds) * 1e3:8.2f} ms"
              f"  model {said * 1e3:8.2f} ms", flush=True)
    return rows


def measure_steps(rounds):
    """Medians of each kind of turn, what is asked of a step, and what none can go below: sums begin with the first gradient."""
    rows = {}
    for name, setting in STEPS.items():
        with Hosts(RATE) as hosts:
            found = samples(hosts.run_kiln(KILN, HERE / "overlap.kiln", *setting, rounds))
        medians = {kind: statistics.median(found[kind]) for kind in ("compute", "communicate", "step")}
        longest = max(medians["compute"], medians["communicate"])
        first_gradient = medians["compute"] * (1 / 3 + 2 / 3 / setting[0])
        rows[name] = dict(**medians, asked=1.15 * longest + 0.005,
                          floor=max(medians["compute"], first_gradient + medians["communicate"]))
        print(f"{name}: " + "  ".join(f"{kind} {1e3 * value:.1f} ms" for kind, value in rows[name].items()), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", metavar="MACHINE")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    try:
        with Hosts(RATE):
            pass
    except OSError as error:
        return print(f"skipped: hosts cannot be made here ({error})")
    results = dict(rate=RATE, load=os.getloadavg()[0], rounds=options.rounds, sums=measure_sums(options.rounds),
                   steps=measure_steps(options.rounds))
    if options.save:
        path = ROOT / "bench" / "results" / f"ranks-{options.save}-{datetime.date.today()}.json"
        path.write_text(json.dumps(results, indent=1) + "\n")
        print(f"kept in {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
