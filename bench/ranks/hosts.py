"""Two hosts on one machine: network namespaces that a bridge connects, each with a link of a given rate."""
import itertools
import os
import subprocess

NUMBERS = itertools.count()  # the kernel takes its time to remove interfaces, so no name comes twice


def run(line):
    done = subprocess.run(line, shell=True, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"{line}: {done.stderr.strip()}")


class Hosts:
    """Makes the hosts `a` and `b`, as root, and removes them at the end. `rate` is that of `tc`: "1gbit"; none: no limit.

    Raises OSError where namespaces or links cannot be made.
    """

    def __init__(self, rate=None):
        self.bridge = f"kb{os.getpid() % 100000}n{next(NUMBERS)}"
        self.prefix = f"kiln-{self.bridge}"
        self.rate = rate

    def __enter__(self):
        try:
            run(f"ip link add {self.bridge} type bridge && ip addr add 10.213.78.1/24 dev {self.bridge} && ip link set {self.bridge} up")
            for host, address in (("a", "10.213.78.2"), ("b", "10.213.78.3")):
                self.add(host, address)
        except OSError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for host in "ab":
            subprocess.run(["ip", "netns", "del", f"{self.prefix}-{host}"], stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", self.bridge], stderr=subprocess.DEVNULL)

    def add(self, host, address):
        (space, link) = (f"{self.prefix}-{host}", f"{self.bridge}{host}")
        inside = f"ip netns exec {space}"
        run(f"ip netns add {space} && ip link add {link} type veth peer name eth0 netns {space}")
        run(f"ip link set {link} master {self.bridge} up && {inside} ip addr add {address}/24 dev eth0")
        run(f"{inside} ip link set eth0 up && {inside} ip link set lo up")
        if self.rate:
            run(f"{inside} tc qdisc add dev eth0 root tbf rate {self.rate} burst 256kb latency 100ms")

    def run_kiln(self, kiln, program, *arguments):
        """A rank on each host, with one thread; gives the lines of rank 0."""
        command = [kiln, "run", "-n", "2", "--hosts", "a:1,b:1", "--agent", f"ip netns exec {self.prefix}-{{host}}",
                   "--threads", "1", program, *arguments]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
        return [line.removeprefix("[0] ") for line in done.stdout.splitlines() if line.startswith("[0] ")]
