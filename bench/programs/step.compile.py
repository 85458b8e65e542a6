import runpy
import sys

sys.argv.append("compile")
runpy.run_path(__file__.replace(".compile.", ".torch."))
