"""Kernels under test: each test has folders of its own, in which the kernel is installed as a user would install it."""

import os
import queue
import subprocess
import tempfile
import time

from jupyter_client.manager import KernelManager
from jupyter_client.kernelspec import KernelSpecManager

PATIENCE = 60


class Place:
    """Folders of their own for what Jupyter and Kiln keep, with the kernel installed; gone with the scope."""

    def __init__(self, program):
        self.program = program

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="kiln-kernel-")
        path = self.folder.name
        subprocess.run([self.program, "install", "--prefix", path], check=True, capture_output=True)
        self.environment = {
            **os.environ,
            "JUPYTER_PATH": f"{path}/share/jupyter",
            "JUPYTER_RUNTIME_DIR": f"{path}/runtime",
            "JUPYTER_DATA_DIR": f"{path}/data",
            "IPYTHONDIR": f"{path}/ipython",
            "XDG_STATE_HOME": f"{path}/state",
            "XDG_CONFIG_HOME": f"{path}/config",
        }
        os.makedirs(f"{path}/runtime")
        os.environ.update(self.environment)
        return self

    def __exit__(self, *_):
        self.folder.cleanup()


class Served:
    """A kernel with one client."""

    def __init__(self, place):
        specs = KernelSpecManager(kernel_dirs=[place.environment["JUPYTER_PATH"] + "/kernels"])
        self.manager = KernelManager(kernel_name="kiln", kernel_spec_manager=specs)
        begin = time.perf_counter()
        self.manager.start_kernel(env=place.environment)
        self.connect()
        self.seconds_to_ready = self.answered - begin

    def connect(self):
        self.client = self.manager.client()
        self.client.start_channels()
        self.reply(self.client.kernel_info())
        self.answered = time.perf_counter()
        self.client.wait_for_ready(timeout=PATIENCE)  # which takes a fixed time longer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def process_id(self):
        return self.manager.provisioner.pid

    def send(self, code, **options):
        return self.client.execute(code, **options)

    def reply(self, request, timeout=PATIENCE):
        """The content of the reply to a request on the shell channel."""
        while True:
            message = self.client.get_shell_msg(timeout=timeout)
            if message["parent_header"].get("msg_id") == request:
                return message["content"]

    def messages(self, request, timeout=PATIENCE):
        """What is told of a request: pairs of type and content, up to the end of the work."""
        while True:
            message = self.client.get_iopub_msg(timeout=timeout)
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return
            yield kind, content

    def run(self, code, **options):
        """Reply and messages of a cell; without those that say that it begins."""
        request = self.send(code, **options)
        told = [each for each in self.messages(request) if each[0] not in ("status", "execute_input")]
        return self.reply(request), told

    def text(self, code):
        """All text that a cell shows."""
        _, told = self.run(code)
        return "".join(text_of(*each) for each in told)

    def wait_until_busy(self, request):
        """Until the cell itself runs."""
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") == request and message["msg_type"] == "execute_input":
                return

    def is_silent(self, seconds):
        """Does nothing come on the shell channel?"""
        try:
            self.client.get_shell_msg(timeout=seconds)
        except queue.Empty:
            return True
        return False


def text_of(kind, content):
    """What a message shows as plain text."""
    if kind == "stream":
        return content["text"]
    if kind == "error":
        return f"{content['ename']}: {content['evalue']}\n"
    return content["data"].get("text/plain", "") + "\n"
