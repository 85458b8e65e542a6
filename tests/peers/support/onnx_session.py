"""A stand-in for onnxruntime.InferenceSession whose models run in Kiln, so that packages compute with Kiln instead."""
import os
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy
import onnx

READY = "kiln is ready"
ANSWERED = "kiln has answered"


def quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


class KilnSession:
    """One model in a prompt of Kiln. For each shape of the inputs it is imported and compiled once.

    Inputs without axes decide what the graph is, and are fixed. Names, metadata and errors are asked for as those of the
    runtime's class; its options have no effect.
    """

    runs = 0  # of all sessions: whoever uses a package can tell that its model ran here

    def __init__(self, model, *_, **__):
        self._folder = tempfile.TemporaryDirectory()
        if isinstance(model, bytes):
            (Path(self._folder.name) / "model.onnx").write_bytes(model)
            model = Path(self._folder.name) / "model.onnx"
        self._path = Path(model)
        description = onnx.load(self._path, load_external_data=False)
        weights = {each.name for each in description.graph.initializer}
        self._inputs = [SimpleNamespace(name=each.name, dtype=onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type))
                        for each in description.graph.input if each.name not in weights]
        self._outputs = [SimpleNamespace(name=each.name) for each in description.graph.output]
        self._metadata = {each.key: each.value for each in description.metadata_props}
        self._functions = {}
        self._prompt = subprocess.Popen([os.environ["KILN"], "--no-color", "--no-init", "--threads=1"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self._ask(f"print({quoted(READY)})", READY)

    def get_inputs(self):
        return self._inputs

    def get_outputs(self):
        return self._outputs

    def get_providers(self):
        return ["CPUExecutionProvider"]

    def get_modelmeta(self):
        return SimpleNamespace(custom_metadata_map=self._metadata)

    def run(self, names, feeds, *_):
        """The outputs called `names`, all for None; a RuntimeError tells what Kiln says."""
        dtypes = {each.name: each.dtype for each in self._inputs}
        feeds = {name: value if isinstance(value, numpy.ndarray) else numpy.array(value, dtypes[name]) for name, value in feeds.items()}
        for name, value in feeds.items():
            numpy.save(self._file(name), value)
        loads = ", ".join(self._load(each.name) for each in self._inputs if feeds[each.name].ndim > 0)
        lines = [f"made = {self._function(feeds)}({loads})", "results = made if isinstance(made, tuple) else (made,)"]
        lines += [f"save({quoted(self._file(each.name))}, results[{i}])" for i, each in enumerate(self._outputs)]
        self._ask("\n".join([*lines, f"print({quoted(ANSWERED)})"]), ANSWERED)
        KilnSession.runs += 1
        return [numpy.load(self._file(name)) for name in names or [each.name for each in self._outputs]]

    def processor_seconds(self, feeds, calls):
        """What each of `calls` calls takes of the processor, in one thread, after run() had the same `feeds`."""
        arguments = ", ".join(f"v{i}" for i, each in enumerate(self._inputs) if numpy.ndim(feeds[each.name]) > 0)
        loads = [f"v{i} = {self._load(each.name)}" for i, each in enumerate(self._inputs) if numpy.ndim(feeds[each.name]) > 0]
        self._ask("\n".join([*loads, f"print({quoted(READY)})"]), READY)
        before = self._processor_time()
        self._ask(f"for _ in range({calls}) {{ {self._function(feeds)}({arguments}) }}\nprint({quoted(ANSWERED)})", ANSWERED)
        return (self._processor_time() - before) / calls

    def _processor_time(self):
        """Of the first thread of Kiln, which computes; kernels are compiled in others."""
        return int(Path(f"/proc/{self._prompt.pid}/schedstat").read_text().split()[0]) * 1e-9

    def _function(self, feeds):
        """The name of the compiled function for the shapes of `feeds`."""
        key = tuple((name, value.shape if value.ndim else value.item()) for name, value in sorted(feeds.items()))
        if key not in self._functions:
            name = self._functions[key] = f"f{len(self._functions)}"
            sizes = ", ".join(f"{quoted(each)}: {list(value.shape)}" for each, value in feeds.items() if value.ndim)
            fixed = ", ".join(f"{quoted(each)}: {self._load(each)}" for each, value in feeds.items() if not value.ndim)
            call = f"import_onnx({quoted(self._path)}, sizes={{{sizes}}}, fixed={{{fixed}}})"
            self._ask(f"g{name} = {call}\n{name} = jit((*a) => g{name}(*a))\nprint({quoted(READY)})", READY)
        return self._functions[key]

    def _file(self, name):
        """Where the value of an input or output lies."""
        names = [each.name for each in self._inputs + self._outputs]
        return Path(self._folder.name) / f"{names.index(name)}.npy"

    def _load(self, name):
        return f"load({quoted(self._file(name))})"

    def _ask(self, lines, last):
        """Gives lines to the prompt and waits until it prints `last`; what it prints before that is an error."""
        self._prompt.stdin.write(lines + "\n")
        self._prompt.stdin.flush()
        said = []
        for line in self._prompt.stdout:
            if line.rstrip("\n") == last:
                break
            said.append(line)
        else:
            said.append("Kiln has ended")
        if said:
            raise RuntimeError("".join(said))

    def close(self):
        self._prompt.stdin.close()
        self._prompt.wait()
        self._folder.cleanup()
