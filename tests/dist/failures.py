#!/usr/bin/env python3
"""Elastic jobs over three hosts go on within a time when a host or its network fails, and never on two sides.

   failures.py KILN [--count 3] [--silence 1.5] [--kinds kill,stop,cut,halves,peers,growth]

Hosts are network namespaces, which root may make; where they cannot be made nothing is tried (exit code 77).
"""
import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time

from hosts import Job, Network, wait_until

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "membership.kiln")
HOSTS = ["a", "b", "c"]  # of ranks 0, 1, 2
ENDING = 8.0  # how long ranks that were lost may take to end once they can know


class Wrong(Exception):
    pass


def require(condition, sentence):
    if not condition:
        raise Wrong(sentence)


@contextlib.contextmanager
def running(kiln, silence, options, launcher="driver", first=3):
    """A network and a job on it, of which each rank has taken some steps."""
    network = Network(HOSTS if launcher in HOSTS else [*HOSTS, launcher])
    job = None
    try:
        command = [*network.inside(launcher), kiln, "run", *options, "--agent", network.agent(), PROGRAM, str(first)]
        job = Job(command, {"KILN_SILENCE_SECONDS": str(silence)})
        require(wait_until(lambda: all(len(job.steps(rank)) >= 3 for rank in range(first)), 60), "the job did not begin")
        time.sleep(random.uniform(0, 0.1))
        yield network, job
    except Wrong as wrong:
        raise Wrong(f"{wrong}\n{job.text()}")
    finally:
        if job:
            job.close()
        network.close()


def check_steps(job, survivors, at):
    """What ranks that go on print is as of the last commit. Gives when the first step with fewer ranks was done."""
    for rank in survivors:
        before = [step for when, step, ranks, _ in job.steps(rank) if ranks == 3]
        after = [(when, step) for when, step, ranks, _ in job.steps(rank) if ranks != 3]
        require(after, f"rank {rank} did not go on")
        require(before[-1] <= after[0][1] <= before[-1] + 2, f"rank {rank} went from step {before[-1]} to step {after[0][1]}")
        for _, step, _, weight in job.steps(rank):
            require(weight == step, f"rank {rank} has weight {weight} after {step} steps")
    return min(when for rank in survivors for when, _, ranks, _ in job.steps(rank) if ranks != 3) - at


def check_silent(job, rank, since):
    """A rank that was lost takes no step after the others went on."""
    late = job.steps(rank, since)
    require(not late, f"rank {rank} was lost and went on to step {late[-1][1] if late else ''}")


def check_end(job, network, code=0):
    found = job.wait(30)
    require(found == code, f"the job left with {found}, not {code}")
    left = lambda: [host for host in network.hosts if network.processes(host)]
    require(wait_until(lambda: not left(), ENDING), f"processes are left on {left()}")


def lose(kiln, silence, fail, recover=lambda network, host: None):
    """One host of three fails; gives how long the others took to go on."""
    with running(kiln, silence, ["--elastic", "2:3", "--hosts", "a:1,b:1,c:1"]) as (network, job):
        victim = random.randrange(3)
        survivors = [rank for rank in range(3) if rank != victim]
        at = time.monotonic()
        fail(network, HOSTS[victim])
        went_on = lambda: all(any(ranks == 2 for _, _, ranks, _ in job.steps(rank)) for rank in survivors)
        require(wait_until(went_on, silence + 20), "no rank went on")
        recover(network, HOSTS[victim])
        taken = check_steps(job, survivors, at)
        check_end(job, network)
        check_silent(job, victim, at + taken)
        return taken


def kill(kiln, silence):
    return lose(kiln, silence, lambda network, host: network.signal(host, signal.SIGKILL))


def stop(kiln, silence):
    return lose(kiln, silence, lambda network, host: network.signal(host, signal.SIGSTOP),
                lambda network, host: network.signal(host, signal.SIGCONT))


def cut(kiln, silence):
    heals = random.random() < 0.5
    return lose(kiln, silence, Network.cut, lambda network, host: heals and network.heal(host))


def halves(kiln, silence):
    """The launcher's own host is cut off: its rank goes on alone, and the other two end."""
    with running(kiln, silence, ["--elastic", "1:3", "--hosts", "localhost:1,b:1,c:1"], launcher="a") as (network, job):
        at = time.monotonic()
        network.cut("a")
        require(wait_until(lambda: any(ranks == 1 for _, _, ranks, _ in job.steps(0)), silence + 20), "rank 0 did not go on")
        taken = check_steps(job, [0], at)
        check_end(job, network)
        for rank in (1, 2):
            check_silent(job, rank, at + taken)
        return taken


def peers(kiln, silence):
    """Two hosts no longer reach each other, but both reach the launcher: one of them goes on with the third."""
    with running(kiln, silence, ["--elastic", "2:3", "--hosts", "a:1,b:1,c:1"]) as (network, job):
        one, other = random.sample(range(3), 2)
        at = time.monotonic()
        network.block(HOSTS[one], HOSTS[other])
        gone_on = lambda: [rank for rank in range(3) if any(ranks == 2 for _, _, ranks, _ in job.steps(rank))]
        require(wait_until(lambda: len(gone_on()) == 2, silence + 20), "no two ranks went on")
        taken = check_steps(job, gone_on(), at)
        check_end(job, network)
        require(len(gone_on()) == 2, f"ranks {gone_on()} went on")
        return taken


def growth(kiln, silence):
    """A host comes while two train: none of them goes back."""
    with tempfile.NamedTemporaryFile("w", suffix=".hosts") as hosts:
        hosts.write("a:1\nb:1\n")
        hosts.flush()
        with running(kiln, silence, ["--elastic", "2:3", "--discover", f"cat {hosts.name}"], first=2) as (network, job):
            at = time.monotonic()
            hosts.write("c:1\n")
            hosts.flush()
            check_end(job, network)
            for rank in (0, 1):
                steps = [step for _, step, _, _ in job.steps(rank)]
                # The step at whose end ranks meet anew is not printed.
                require(all(1 <= later - step <= 2 for step, later in zip(steps, steps[1:])), f"rank {rank} took steps {steps}")
            require(len(job.steps(2)) >= 9, "the new rank took no part")
            for rank in range(3):
                require(all(step == weight for _, step, _, weight in job.steps(rank)), f"rank {rank} has another weight")
            return job.steps(2)[0][0] - at


# How soon the others go on, beside the silence after which a host counts as lost.
KINDS = {"kill": (kill, 1.0, False), "stop": (stop, 2.0, True), "cut": (cut, 2.0, True), "halves": (halves, 2.0, True),
         "peers": (peers, 2.0, True),
         "growth": (growth, 4.0, False)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kiln")
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--silence", type=float, default=1.5)
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no host is left behind
    probe = Network(["a"])
    probe.close()
    if not probe.is_there:
        print("network namespaces cannot be made here: jobs over failing hosts are not tried")
        sys.exit(77)
    for name in options.kinds.split(","):
        run, most, waits = KINDS[name]
        times = []
        for number in range(options.count):
            try:
                times.append(run(options.kiln, options.silence))
            except Wrong as wrong:
                sys.exit(f"{name} {number + 1}: {wrong}")
        limit = most + (options.silence if waits else 0)
        print(f"{name}: {options.count} times, the others went on after {min(times):.2f} to {max(times):.2f} s", flush=True)
        if max(times) > limit:
            sys.exit(f"{name}: the others are to go on after {limit:.2f} s at most")


main()
