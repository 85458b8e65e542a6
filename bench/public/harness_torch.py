"""What the PyTorch forms share: one thread, and arguments that are PyTorch's tensors before time is taken."""
import harness
import numpy as np
import torch

torch.set_num_threads(1)
noise = harness.noise


def measure(name, kernel, inputs):
    def arguments():
        return [torch.tensor(value) if isinstance(value, np.ndarray) else value for value in inputs()]

    harness.measure(name, lambda *given: kernel(*given).numpy(), arguments)
