# As call.torch.py, through torch.compile.
import runpy
from pathlib import Path

import torch

runpy.run_path(str(Path(__file__).with_name("call.torch.py")), {"compiled": torch.compile})
