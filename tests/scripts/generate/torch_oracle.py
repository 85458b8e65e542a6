"""Evaluates the cases in PyTorch and writes them, with what PyTorch gives, as scripts in Kiln.

    python torch_oracle.py                 rewrites the scripts in ../torch
    python torch_oracle.py --compare kiln  runs all cases in both and prints what differs

Cases of differences.py, where the two differ on purpose, are in no script.

A case is an expression, or statements and an expression with `;` between them, that means the same in both
languages. Results are compared by dtype, sizes and elements, to the bit unless an op of APPROXIMATE is in it.
"""
import argparse
import fnmatch
import math
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F

import cases_composed
import cases_composed_layers
import cases_composed_losses
import cases_composed_names
import cases_composed_shapes
import cases_corners
import cases_elementwise
import cases_index
import cases_layers
import cases_linalg
import cases_not_finite
import cases_reduce
import cases_shape
from differences import DIFFERENCES

# One script for each.
GROUPS = {f"{family}_{group.__name__}": group
          for family, groups in {
              "elementwise": [cases_elementwise.special, cases_elementwise.unary, cases_elementwise.promotion, cases_elementwise.binary, cases_elementwise.ternary, cases_elementwise.in_place],
              "reduce": [cases_reduce.dims, cases_reduce.dtypes, cases_reduce.special],
              "shape": [cases_shape.create, cases_shape.views, cases_shape.joins],
              "index": [cases_index.along_a_dim, cases_index.advanced, cases_index.orders],
              "linalg": [cases_linalg.factors, cases_linalg.systems, cases_linalg.products, cases_linalg.matmuls, cases_linalg.gradients, cases_linalg.refusals],
              "composed": [cases_composed.elementwise, cases_composed.activations, cases_composed.order,
                           cases_composed.statistics, cases_composed.scans, cases_composed_shapes.shapes,
                           cases_composed_shapes.grids, cases_composed_layers.layers, cases_composed_layers.images,
                           cases_composed_losses.losses,
                           cases_composed_names.names, cases_composed_names.products, cases_composed_names.copies],
              "not_finite": [cases_not_finite.pointwise, cases_not_finite.reductions, cases_not_finite.losses, cases_not_finite.images],
              "corners": [cases_corners.dtypes, cases_corners.numbers, cases_corners.edges, cases_corners.writes],
              "layers": [cases_layers.recurrent, cases_layers.transformers, cases_layers.small, cases_layers.optimizers]}.items()
          for group in groups}

LOSSES = ["hinge_embedding_loss", "margin_ranking_loss", "triplet_margin_loss", "cosine_embedding_loss",
          "poisson_nll_loss", "gaussian_nll_loss", "soft_margin_loss", "multi_margin_loss",
          "multilabel_soft_margin_loss", "ctc_loss"]
APPROXIMATE = {"rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
               "acosh", "atanh", "erf", "erfc", "lgamma", "digamma", "polygamma", "sigmoid", "log_sigmoid", "gelu",
               "silu", "softplus", "elu", "atan2", "hypot", "pow", "std", "var",
               "norm", "logsumexp", "softmax", "log_softmax", "lerp", "exp_", "sigmoid_", "pow_", "atan2_",
               "linspace", "inv", "solve", "cholesky", "qr", "svd", "svdvals", "eigh", "eigvalsh", "det", "slogdet",
               "logdet", "pinv", "lstsq", "cond", "matrix_norm", "matrix_exp", "matrix_power", "solve_triangular",
               "logaddexp", "logaddexp2", "xlogy", "logit", "sinc", "float_power", "selu", "celu", "mish",
               "hardsigmoid", "hardswish", "softsign", "tanhshrink", "glu", "softmin", "quantile", "nanquantile",
               "nanmean", "var_mean", "std_mean", "cov", "corrcoef", "logcumsumexp", "trapezoid",
               "cumulative_trapezoid", "addcdiv", "deg2rad", "rad2deg", "logspace", "normalize",
               "cosine_similarity", "pairwise_distance", "cdist", "instance_norm", "local_response_norm",
               "embedding_bag", "ldexp", "interpolate", "affine_grid", "grid_sample", *LOSSES, "arccos", "arccosh", "arcsin", "arcsinh",
               "arctan", "arctan2", "arctanh", "logsigmoid", "inverse", "pinverse", "xlog1py", "mvlgamma", "vector_norm",
               "bilinear", "dist", "renorm", "cholesky_solve", "cholesky_inverse", "arccos_", "arccosh_", "arcsin_", "arcsinh_",
               "arctan_", "arctanh_", "wave", "descend", "anneal"}

DTYPES = {"bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
    "i64": torch.int64,
          "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def bernoulli(x, p=None):
    return torch.bernoulli(x) if p is None else torch.bernoulli(x, p)


OTHER_NAMES = {"floor_div": torch.floor_divide, "log_sigmoid": F.logsigmoid, "pad": F.pad, "gelu": F.gelu,
    "silu": F.silu, "softplus": F.softplus, "elu": F.elu,
               "leaky_relu": F.leaky_relu, "one_hot": F.one_hot, "embedding": F.embedding, "dropout": F.dropout,
               "linear": F.linear, "polygamma": lambda x, n: torch.polygamma(n, x), "bernoulli": bernoulli}
OTHER_NAMES |= {name: getattr(F, name) for name in [
    "relu6", "hardtanh", "hardsigmoid", "hardswish", "selu", "celu", "mish", "softsign", "tanhshrink", "hardshrink",
    "softshrink", "threshold", "prelu", "glu", "softmin", "normalize", "instance_norm", "local_response_norm",
    "embedding_bag", "dropout1d", "dropout2d", "alpha_dropout", "interpolate", "fold", "affine_grid", "grid_sample", *LOSSES]}
OTHER_NAMES |= {"im2col": F.unfold, "logsigmoid": F.logsigmoid, "bilinear": F.bilinear, "xlog1py": torch.special.xlog1py}


def wave(*sizes):
    return (torch.arange(math.prod(sizes), dtype=torch.float64) * 0.23).cos().reshape(sizes)


def fill(module):
    with torch.no_grad():
        for i, p in enumerate(module.double().parameters()):
            p.copy_((torch.arange(p.numel(), dtype=torch.float64) * 0.37 + i).sin().reshape(p.shape) * 0.5)
    return module


def slopes(module):
    return [p.grad.round(decimals=9) + 0.0 for p in module.parameters() if p.grad is not None]


def descend(name, **options):
    x = wave(2, 3).requires_grad_()
    optimizer = getattr(torch.optim, name)([x], **options)
    found = []
    for _ in range(8):
        optimizer.zero_grad()
        (x.square() * (x + 2)).sum().backward()
        optimizer.step()
        found.append(x.detach().clone())
    return found


SCHEDULES = {"multi_step_lr": torch.optim.lr_scheduler.MultiStepLR, "one_cycle_lr": torch.optim.lr_scheduler.OneCycleLR,
             "ReduceLROnPlateau": torch.optim.lr_scheduler.ReduceLROnPlateau}


def anneal(name, steps, **options):
    """The learning rates of so many steps, or of steps with the given metrics."""
    optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5, momentum=0.9)
    schedule = SCHEDULES[name](optimizer, **options)
    found = [optimizer.param_groups[0]["lr"]]
    for step in [()] * steps if isinstance(steps, int) else [(metric,) for metric in steps]:
        optimizer.step()
        schedule.step(*step)
        found.append(optimizer.param_groups[0]["lr"])
    return found


OTHER_NAMES |= {"descend": descend, "anneal": anneal, "nn": torch.nn, "wave": wave, "fill": fill, "slopes": slopes}
OTHER_NAMES |= {name: getattr(torch.linalg, name) for name in [
    "inv", "solve", "solve_triangular", "cholesky", "qr", "svd", "svdvals", "eigh", "eigvalsh", "slogdet", "pinv",
    "lstsq", "cond", "matrix_norm", "matrix_rank", "cross", "vector_norm", "vecdot", "multi_dot"]}
CONSTANTS = {"true": True, "false": False, "none": None, "inf": math.inf, "nan": math.nan, **DTYPES}


class Names(dict):
    """What a name means in a case: an op of PyTorch, wherever it keeps it."""

    def __missing__(self, name):
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in OTHER_NAMES:
            return OTHER_NAMES[name]
        if hasattr(torch, name):
            return getattr(torch, name)
        if hasattr(torch.Tensor, name):
            return lambda x, *args, **named: getattr(x, name)(*args, **named)
        raise KeyError(name)


def number_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def elements_text(value, number):
    return "[" + ", ".join(elements_text(v, number) for v in value) + "]" if isinstance(value,
    list) else number(value)


def text(result, number):
    if isinstance(result, torch.Tensor):
        if number is rounded and result.element_size() == 2:
            number = rounded_half
        return f"{NAMES[result.dtype]}{list(result.shape)} {elements_text(result.tolist(), number)}"
    if isinstance(result, (tuple, list)):
        return "(" + "; ".join(text(each, number) for each in result) + ")"
    if isinstance(result, torch.dtype):
        return NAMES[result]
    return number_text(result)


def rounded(value):
    return f"{value:.4g}" if isinstance(value, float) else number_text(value)


def rounded_half(value):
    return f"{value:.2g}" if isinstance(value, float) else number_text(value)


def is_approximate(case):
    return any(name in APPROXIMATE for name in re.findall(r"[a-z_0-9]+(?=\()", case)) or "**" in case


def evaluate(case, exact):
    names = Names()
    *statements, expression = case.split("; ")
    try:
        for statement in statements:
            exec(statement, {}, names)
        result = eval(expression, {}, names)
        return text(result, number_text if exact else rounded)
    except KeyError:
        raise
    except Exception:
        return "refused"


def as_function(case):
    *statements, expression = case.split("; ")
    if not statements:
        return f"() => {expression}"
    return "fn() { " + "; ".join(statements) + f"; return {expression} " + "}"


PRELUDE = """fn number(x, digits) = f"{x:.{digits}g}" if digits and isinstance(x, float) else str(x)
fn elements(x, digits) {
  return "[" + ", ".join([elements(e, digits) for e in x]) + "]" if isinstance(x, list) else number(x, digits)
}
fn text(r, digits) {
  if isinstance(r, tuple) or isinstance(r, list) { return "(" + "; ".join([text(e, digits) for e in r]) + ")" }
  if not isinstance(r, tensor) { return str(r) }
  half = r.element_size() == 2
  return f"{r.dtype}{list(r.shape)} " + elements(r.tolist(), 2 if digits and half else digits)
}
fn exact(f) { try { print(text(f(), none)) } catch { print("refused") } }
fn near(f) { try { print(text(f(), 4)) } catch { print("refused") } }
"""


LAYERS_PRELUDE = """import nn
fn wave(*sizes) = (arange(prod(tensor(sizes)).item(), dtype=f64) * 0.23).cos().reshape(sizes)
fn double_fields(module) {
  for name, part in vars(module).items() {
    if isinstance(part, tensor) and part.is_floating_point() {
      setattr(module, name, part.detach().double().requires_grad_(part.requires_grad))
    }
    for inner in part if isinstance(part, list) else [part] { if is_struct(inner) { double_fields(inner) } }
  }
}
fn fill(module) {
  double_fields(module)
  with no_grad() {
    for i, p in enumerate(module.parameters()) {
      p.copy_((arange(p.numel(), dtype=f64) * 0.37 + i).sin().reshape(p.shape) * 0.5)
    }
  }
  return module
}
import optim
fn descend(name, **options) {
  x = wave(2, 3).requires_grad_()
  optimizer = getattr(optim, name)([x], **options)
  found = []
  for _ in range(8) {
    optimizer.zero_grad()
    (x.square() * (x + 2)).sum().backward()
    optimizer.step()
    found.append(x.detach().clone())
  }
  return found
}
fn anneal(name, steps, **options) {
  optimizer = optim.SGD([ones(1)], lr=0.5, momentum=0.9)
  schedule = getattr(optim, name)(optimizer, **options)
  found = [optimizer.lr]
  for step in [()] * steps if isinstance(steps, int) else [(metric,) for metric in steps] {
    schedule.step(*step)
    found.append(optimizer.lr)
  }
  return found
}
fn slopes(module) = [p.grad.round(decimals=9) + 0.0 for p in module.parameters() if p.grad is not none]
"""


def prelude(name):
    return PRELUDE + LAYERS_PRELUDE if name.startswith("layers_") else PRELUDE


def cases_of(group):
    """Each once, without those that differ on purpose."""
    patterns = [pattern.replace("[", "[[]").replace("?", "[?]")
                for patterns in DIFFERENCES.values() for pattern in patterns]
    return [case for case in dict.fromkeys(group()) if not any(fnmatch.fnmatchcase(case,
    pattern) for pattern in patterns)]


def write_scripts(folder):
    folder.mkdir(exist_ok=True)
    for name, group in GROUPS.items():
        lines = ["# Made by generate/torch_oracle.py from what PyTorch gives.", prelude(name).rstrip()]
        for case in cases_of(group):
            given = evaluate(case, not is_approximate(case))
            lines.append(f"{'near' if is_approximate(case) else 'exact'}({as_function(case)})  # => {given}")
        (folder / f"{name}.kiln").write_text("\n".join(lines) + "\n")


def compare(kiln):
    cases = [case for group in GROUPS.values() for case in cases_of(group)]
    lines = [prelude("layers_").replace('catch { print("refused") }',
        'catch err { print("refused " + err.kind + ": " + err.message) }')]
    lines += [f"exact({as_function(case)})" for case in cases]
    with tempfile.NamedTemporaryFile("w", suffix=".kiln", delete=False) as file:
        file.write("\n".join(lines) + "\n")
    done = subprocess.run([kiln, file.name], capture_output=True, text=True)
    found = done.stdout.split("\n")[:-1]
    if len(found) != len(cases):
        sys.exit(f"{len(cases)} cases gave {len(found)} lines: {done.stderr[-2000:]}")
    wrong = 0
    for case, ours in zip(cases, found):
        theirs = evaluate(case, True)
        if theirs == "refused" and ours.startswith("refused"):
            continue
        if theirs == ours or is_approximate(case) and near(theirs, ours):
            continue
        wrong += 1
        print(f"{case}\n    torch {theirs[:300]}\n    kiln  {ours[:300]}")
    print(f"{wrong} of {len(cases)} differ")


def near(a, b):
    """Equal apart from the last digits of floats."""
    pattern = r"-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)"
    if re.sub(pattern, "#", a) != re.sub(pattern, "#", b):
        return False
    width = {"f16[": 2e-3, "bf16": 1.6e-2, "f32[": 3e-6, "f64[": 1e-12}.get(a[:4], 1e-6)
    for x, y in zip(re.findall(pattern, a), re.findall(pattern, b)):
        x, y = float(x), float(y)
        if math.isnan(x) != math.isnan(y) or math.isinf(x) != math.isinf(y):
            return False
        if x != y and not math.isnan(x) and abs(x - y) > width * max(abs(x), abs(y), 1e-7):
            return False
        if x == 0 and y == 0 and math.copysign(1, x) != math.copysign(1, y):
            return False
    return True


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--compare", metavar="kiln")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.compare:
        compare(options.compare)
    else:
        write_scripts(Path(__file__).resolve().parent.parent / "torch")
