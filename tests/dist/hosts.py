"""Hosts for tests of jobs: network namespaces on a bridge of their own, and a job whose launcher runs on one of them."""
import os
import re
import signal
import subprocess
import tempfile
import threading
import time


def quiet(*command):
    """Does the command succeed?"""
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


class Network:
    """Hosts that reach each other by a switch; none of it touches the network of this machine."""
    count = 0

    def __init__(self, hosts):
        Network.count += 1
        self.prefix = f"kiln{os.getpid()}n{Network.count}"
        self.hosts = list(hosts)
        self.is_there = os.geteuid() == 0 and self.make()
        self.agent_file = tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False)
        # What it starts outlives it, as behind ssh.
        self.agent_file.write(f'host=$1; shift; ip netns exec {self.prefix}-$host setsid "$@" & wait $!\n')
        self.agent_file.close()

    def make(self):
        switch = f"{self.prefix}-switch"
        made = quiet("ip", "netns", "add", switch) and quiet("ip", "-n", switch, "link", "add", "name", "br", "type", "bridge")
        made = made and quiet("ip", "-n", switch, "link", "set", "dev", "br", "up")
        for host in self.hosts:
            space, address = f"{self.prefix}-{host}", f"{self.address(host)}/24"
            made = made and quiet("ip", "netns", "add", space)
            made = made and quiet("ip", "-n", switch, "link", "add", "name", host, "type", "veth", "peer", "name", "eth0", "netns", space)
            made = made and quiet("ip", "-n", switch, "link", "set", "dev", host, "master", "br", "up")
            made = made and quiet("ip", "-n", space, "addr", "add", address, "dev", "eth0")
            made = made and quiet("ip", "-n", space, "link", "set", "dev", "eth0", "up") and quiet("ip", "-n", space, "link", "set", "dev", "lo", "up")
        return made

    def address(self, host):
        return f"10.213.77.{self.hosts.index(host) + 1}"

    def agent(self):
        return f"sh {self.agent_file.name} {{host}}"

    def inside(self, host):
        """The words before a command that runs on a host."""
        return ["ip", "netns", "exec", f"{self.prefix}-{host}"]

    def cut(self, host):
        quiet("ip", "-n", f"{self.prefix}-switch", "link", "set", "dev", host, "down")

    def heal(self, host):
        quiet("ip", "-n", f"{self.prefix}-switch", "link", "set", "dev", host, "up")

    def block(self, host, other):
        """Nothing that one host sends to the other arrives any more."""
        quiet("ip", "-n", f"{self.prefix}-{host}", "route", "add", "blackhole", self.address(other))

    def processes(self, host):
        found = subprocess.run(["ip", "netns", "pids", f"{self.prefix}-{host}"], capture_output=True, text=True)
        return [int(pid) for pid in found.stdout.split()]

    def signal(self, host, number):
        for pid in self.processes(host):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def close(self):
        for host in self.hosts:
            self.signal(host, signal.SIGKILL)
        for name in [*self.hosts, "switch"]:
            quiet("ip", "netns", "del", f"{self.prefix}-{name}")
        os.unlink(self.agent_file.name)


class Job:
    """A job whose output is read as it comes."""

    def __init__(self, command, environment):
        self.lines = []  # (time, rank by its first number or None, text)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env={**os.environ, **environment})
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            found = re.match(r"\[(\d+)\] (.*)", line)
            self.lines.append((time.monotonic(), int(found[1]) if found else None, found[2] if found else line.rstrip()))

    def steps(self, rank, since=0.0):
        """(time, step, ranks, weight) of each step that a rank printed."""
        found = []
        for at, who, text in list(self.lines):
            match = re.match(r"step (\d+) of (\d+) ranks: (.*)", text)
            if who == rank and at >= since and match:
                found.append((at, int(match[1]), int(match[2]), float(match[3])))
        return found

    def wait(self, limit):
        """The exit code; None where it has not ended within so many seconds."""
        try:
            code = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        self.reader.join()
        return code

    def text(self):
        return "\n".join(text if who is None else f"[{who}] {text}" for _, who, text in self.lines)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()


def wait_until(condition, limit):
    """Is the condition met within so many seconds?"""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return condition()
