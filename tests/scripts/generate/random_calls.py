"""Random calls of ops: arguments of every dtype, size and layout, as expressions that mean the same in Kiln and Python.

`Draw` gives one call at a time, as (expression in x and y, [(sizes, dtype) of each]). The same seed gives the same calls.
"""
import math
import random
import re
from pathlib import Path

FLOATS = ["f32", "f64", "f16", "bf16"]
INTEGERS = ["u8", "i8", "i16", "i32", "i64"]
DTYPES = FLOATS + INTEGERS + ["bool"]
NUMBERS = ["2", "3", "-1", "0.5", "1.5", "0", "true", "-2.5"]
UNARY = """neg abs sign sqrt rsqrt square exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh
asinh acosh atanh erf erfc erfinv i0 sigmoid log_sigmoid relu gelu silu softplus elu leaky_relu floor ceil round trunc frac reciprocal
isnan isinf isfinite nan_to_num logical_not bitwise_not lgamma digamma""".split()
BINARY = """add sub mul div floor_div remainder fmod pow maximum minimum max min atan2 hypot eq ne lt le gt ge logical_and
logical_or logical_xor bitwise_and bitwise_or bitwise_xor copysign nextafter gcd lcm""".split()
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "==", "<", ">=", "&", "|", "^"]
EQUATIONS = [("ij,jk->ik", "ab", "bc"), ("ij,ij->", "ab", "ab"), ("i,j->ij", "a", "b"), ("ii,i->i", "aa", "a"),
             ("ij,kj->ik", "ab", "cb"), ("...i,...i->...", "cab", "ab")]
# Ops whose result is random, or whose size follows from elements.
NOT_DRAWN = {"empty", "empty_like", "new_empty", "rand", "randn", "rand_like", "randn_like", "uniform", "normal_functional", "randint",
             "randperm", "bernoulli", "poisson", "multinomial", "dropout", "unique", "nonzero", "masked_select", "slice"}


def tensor(sizes, dtype, pick):
    """A contiguous tensor of these sizes, its elements a function of their number."""
    count = math.prod(sizes)
    if dtype == "bool":
        line = f"(arange({count}) * {pick([3, 7, 5])} % {pick([2, 3, 4])} == 0)"
    elif dtype in INTEGERS:
        less = 0 if dtype == "u8" else pick([0, 5])
        line = f"((arange({count}) * {pick([3, 7, 37])} % {pick([11, 101])}) - {less}).to({dtype})"
    else:
        step, phase, scale = pick([0.37, 1.7, 2.9]), pick([0, 1, 2]), pick([1, 2, 4])
        line = f"((arange({count}, dtype=f64) * {step} + {phase}).sin() * {scale}).to({dtype})"
    return f"{line}.reshape({sizes})"


class Draw:
    def __init__(self, seed, signatures=()):
        self.random = random.Random(seed)
        self.pick = self.random.choice
        self.signatures = list(signatures)
        self.families = [self.unary, self.binary, self.reduction, self.along, self.shape_op, self.indexing, self.several,
                         self.layer]

    def chance(self, p):
        return self.random.random() < p

    # ---- Arguments ----

    def sizes(self):
        some = [1, 2, 3, 4, 5]
        return [self.pick([0] + some) if self.chance(0.25) else self.pick(some) for _ in range(self.pick([0, 1, 1, 2, 2, 3, 3, 4]))]

    def broadcasting(self, sizes):
        """Sizes that broadcast to these."""
        found = [1 if self.chance(0.25) else s for s in sizes]
        return found[self.random.randrange(len(found)):] if found and self.chance(0.25) else found

    def laid_out(self, sizes, dtype):
        """A tensor of these sizes that may be permuted, strided, a part of another one or expanded."""
        if not sizes or self.chance(0.5):
            return tensor(sizes, dtype, self.pick)
        kind, dim, wider = self.random.randrange(4), self.random.randrange(len(sizes)), list(sizes)
        before = ":, " * dim
        if kind == 0:
            order = self.random.sample(range(len(sizes)), len(sizes))
            return tensor([sizes[i] for i in order], dtype, self.pick) + f".permute({[order.index(i) for i in range(len(order))]})"
        if kind == 1:
            step = self.pick([2, 3])
            wider[dim] *= step
            return tensor(wider, dtype, self.pick) + f"[{before}::{step}]"
        if kind == 2:
            wider[dim] += 2
            return tensor(wider, dtype, self.pick) + f"[{before}1:-1]"
        wider[dim] = 1
        return tensor(wider, dtype, self.pick) + f".expand({sizes})"

    def dim(self, sizes, wrong=0.06):
        count = max(1, len(sizes))
        return self.pick([count, -count - 1]) if self.chance(wrong) else self.random.randrange(-count, count)

    def dims(self, sizes):
        if not sizes or self.chance(0.4):
            return self.dim(sizes)
        chosen = self.random.sample(range(len(sizes)), self.random.randint(1, len(sizes)))
        return "(" + ", ".join(str(d if self.chance(0.5) else d - len(sizes)) for d in chosen) + ",)"

    def flag(self):
        return self.pick(["true", "false"])

    def index(self, size, sizes):
        return f"(arange({math.prod(sizes)}) * {self.pick([3, 5, 7])} % {max(1, size)}).reshape({sizes})"

    # ---- Families of calls ----

    def unary(self, dtype, sizes):
        return f"{self.pick(UNARY)}(x)", [(sizes, dtype)]

    def binary(self, dtype, sizes):
        if self.chance(0.2):
            return f"{self.pick(BINARY)}(x, {self.pick(NUMBERS)})", [(sizes, dtype)]
        other = (self.broadcasting(sizes), self.pick([dtype, dtype, self.pick(DTYPES)]))
        call = f"x {self.pick(OPERATORS)} y" if self.chance(0.3) else f"{self.pick(BINARY)}(x, y)"
        return call, [(sizes, dtype), other]

    def reduction(self, dtype, sizes):
        op = self.pick("sum mean prod amax amin any all count_nonzero argmax argmin max min var std logsumexp norm".split())
        one = op in ("argmax", "argmin", "max", "min", "prod")
        along = f", dim={self.dim(sizes) if one else self.dims(sizes)}"
        kept = "" if op == "count_nonzero" else f", keepdim={self.flag()}"
        more = f", {self.pick(['2', '1', 'inf', '-inf', '0', '3', '1.5'])}" if op == "norm" else ""
        if op == "logsumexp" or self.chance(0.7):
            more += along + kept
        if op in ("var", "std"):
            more += self.pick(["", ", correction=0"])
        if op in ("sum", "mean", "prod") and self.chance(0.2):
            more += f", dtype={self.pick(DTYPES)}"
        return f"{op}(x{more})", [(sizes, dtype)]

    def along(self, dtype, sizes):
        dim, order = self.dim(sizes), f"descending={self.flag()}, stable=true"
        return self.pick([f"{op}(x, dim={dim})" for op in ["softmax", "log_softmax", "cumsum", "cumprod", "squeeze", "unsqueeze",
                                                           "unbind", "diff", "logcumsumexp", "cummax", "cummin"]] + [
            f"sort(x, dim={dim}, {order})", f"argsort(x, dim={dim}, {order})", f"roll(x, {self.random.randrange(-4, 5)}, {dim})",
            f"flip(x, [{dim}])", f"topk(x, {self.random.randrange(4)}, dim={dim}, largest={self.flag()})[0]"]), [(sizes, dtype)]

    def shape_op(self, dtype, sizes):
        dim, other, some = self.dim(sizes), self.dim(sizes), self.random.randrange
        margins = [some(-1, 3) for _ in range(2 * self.random.randint(1, max(1, len(sizes))))]
        times = [some(1, 3) for _ in range(len(sizes) + some(2))]
        return self.pick([
            f"x.flatten({dim}, {other})", f"x.transpose({dim}, {other})", f"x.movedim({dim}, {other})",
            f"x.narrow({dim}, {some(-2, 3)}, {some(3)})", f"x.select({dim}, {some(-4, 4)})",
            f"x.diagonal({some(-3, 3)}, {dim}, {other})", f"x.split({self.pick(['2', '1', '[1, 2]'])}, {dim})",
            f"x.chunk({some(1, 5)}, {dim})", f"x.unfold({dim}, {some(1, 4)}, {some(1, 3)})", f"tril(x, {some(-3, 4)})",
            f"triu(x, {some(-3, 4)})", f"pad(x, {margins})", f"pad(x, {margins}, value=2)", f"x.repeat({times})",
            f"repeat_interleave(x, {some(3)}, dim={dim})", f"diag(x, {some(-2, 3)})", f"diag_embed(x, {some(-2, 3)})"]), [(sizes, dtype)]

    def indexing(self, dtype, sizes):
        sizes = sizes or [3]
        dim = self.dim(sizes, 0)
        size, less = sizes[dim], [max(0, s - self.random.randrange(2)) for s in sizes]
        index, few = self.index(size, less), self.random.randrange(5)
        rows = list(sizes)
        rows[dim] = few
        reduce = self.pick(["sum", "prod", "mean", "amax", "amin"])
        mixed = [self.pick([":", "1:", "::2", ":-1", "0", "-1"] + ([self.index(s, [2]), "[0, -1]"] if s else [])) for s in sizes]
        return self.pick([
            (f"gather(x, {dim}, {index})", []), (f"scatter(x, {dim}, {index}, y)", [(less, dtype)]),
            (f"scatter_add(x, {dim}, {index}, y)", [(less, dtype)]),
            (f"scatter_reduce(x, {dim}, {index}, y, \"{reduce}\", include_self={self.flag()})", [(less, dtype)]),
            (f"index_select(x, {dim}, {self.index(size, [few])})", []),
            (f"index_add(x, {dim}, {self.index(size, [few])}, y, alpha={self.pick([1, 2])})", [(rows, dtype)]),
            (f"index_fill(x, {dim}, {self.index(size, [2])}, {self.pick(NUMBERS)})", []),
            (f"take_along_dim(x, {index}, {dim})", []), ("x[x > 0]", []), (f"x[..., {self.random.randrange(-3, 3)}]", []),
            (f"x[{self.index(sizes[0], self.pick([[2], [2, 2], [0], []]))}]", []), (f"x[{', '.join(mixed)}]", [])], ), [(sizes, dtype)]

    def several(self, dtype, sizes):
        other, dim = self.pick([dtype, dtype, self.pick(DTYPES)]), self.dim(sizes)
        a, b, c = (self.pick([0, 1, 2, 3, 4]) for _ in range(3))
        batch = self.pick([[], [], [2], [2, 1], [3, 2]])
        equation, left, right = self.pick(EQUATIONS)
        named = {"a": 2, "b": 3, "c": 4}
        return self.pick([
            (f"cat([x, y], dim={dim})", [(sizes, dtype), (sizes, other)]),
            (f"stack([x, y], dim={dim})", [(sizes, dtype), (sizes, other)]),
            ("where(x > 0, x, y)", [(sizes, dtype), (self.broadcasting(sizes), other)]),
            (f"lerp(x, y, {self.pick(['0.5', '0.2', '2.0'])})", [(sizes, dtype), (self.broadcasting(sizes), dtype)]),
            (f"clamp(x, {self.pick(['-1', '0', 'min=0', 'max=1', 'max=y', 'y'])})", [(sizes, dtype), (self.broadcasting(sizes), dtype)]),
            (f"masked_fill(x, y > 0, {self.pick(NUMBERS)})", [(sizes, dtype), (self.broadcasting(sizes), other)]),
            (f"x.{self.pick(['add_', 'mul_', 'sub_', 'div_', 'copy_', 'pow_', 'remainder_'])}(y)", [(sizes, dtype), (self.broadcasting(sizes), other)]),
            ("x @ y", [(batch + self.pick([[a, b], [b]]), dtype), (self.pick([batch, []]) + self.pick([[b, c], [b]]), dtype)]),
            (f'einsum("{equation}", x, y)', [([named[k] for k in left], dtype), ([named[k] for k in right], dtype)])])

    def layer(self, dtype, _):
        dtype = dtype if dtype in FLOATS else "f32"
        n, c, h, w = self.pick([1, 2]), self.pick([2, 4]), self.pick([3, 5, 6]), self.pick([3, 4, 7])
        groups, stride, padding, kernel = self.pick([1, 2]), self.pick([1, 2]), self.pick([0, 1]), self.pick([1, 2, 3])
        image, pooled = [([n, c, h, w], dtype)], f"{self.pick([2, 3])}, stride={stride}, padding={padding}"
        return self.pick([
            (f"conv2d(x, y, stride={stride}, padding={padding}, dilation={self.pick([1, 2])}, groups={groups})",
             image + [([4, c // groups, kernel, 2], dtype)]),
            (f"conv1d(x, y, stride={stride}, padding={padding})", [([n, c, w], dtype), ([3, c, kernel], dtype)]),
            (f"conv_transpose2d(x, y, stride={stride}, padding={padding}, groups={groups})", image + [([c, 3, 2, kernel], dtype)]),
            (f"max_pool2d(x, {pooled})", image), (f"avg_pool2d(x, {pooled}, ceil_mode={self.flag()}, count_include_pad={self.flag()})", image),
            (f"adaptive_avg_pool2d(x, {self.pick(['1', '(2, 3)', '4'])})", image), (f"layer_norm(x, [{w}])", [([n, h, w], dtype)]),
            (f"group_norm(x, {groups})", image),
            (f"scaled_dot_product_attention(x, y, y, is_causal={self.flag()})", [([n, 2, h, 4], dtype)] * 2),
            (f"mse_loss(x, y, reduction=\"{self.pick(['mean', 'sum', 'none'])}\")", [([h, w], dtype)] * 2)])

    # ---- Calls by signature: right or wrong ----

    def by_signature(self):
        """A call of any op with arguments of the kinds that its signature names."""
        while True:
            name, parameters = self.pick(self.signatures)
            sizes = self.sizes() if self.chance(0.5) else [self.pick([2, 3, 4]) for _ in range(self.pick([1, 2, 2, 3, 4]))]
            dtype = self.pick(["f64", "f32", "f16", "bf16", "i64", "i32", "u8", "bool"])
            arguments, operands, named = [], [], False
            for parameter in parameters:
                if parameter == "*":
                    named = True
                    continue
                argument, given = self.argument(parameter, sizes, dtype, operands)
                named = named or argument is None
                if argument is not None:
                    arguments.append(f"{given}={argument}" if named else argument)
            if operands:
                return f"{name}({', '.join(arguments)})", operands[:2]

    def argument(self, parameter, sizes, dtype, operands):
        """Its text, or none where it is left out, and the parameter's name."""
        name, rest = (part.strip() for part in parameter.split(":", 1))
        kind, _, default = rest.partition(" = ")
        if kind.startswith("device") or ((default or kind.endswith("?")) and self.chance(0.5)):
            return None, name
        words, kind = re.findall(r'"[^"]*"', kind), kind.rstrip("?")
        if kind.startswith("bool["):  # this form is meant where it is that
            return kind[5:-1], name
        if kind == "tensor":
            if operands and self.chance(0.1):
                return self.pick(NUMBERS), name
            of = "i64" if name in ("index", "indices", "target", "repeats") else "bool" if name in ("mask", "condition") else dtype
            operands.append((sizes if self.chance(0.6) else self.broadcasting(sizes), of))
            return "xy"[len(operands) - 1] if len(operands) < 3 else tensor(*operands[-1], self.pick), name
        if kind == "tensors":
            operands += [(sizes, dtype)] * (2 - len(operands))
            return "[x, y]", name
        kinds = {"dims": self.dims(sizes), "index": self.dim(sizes), "int": self.pick([0, 1, 2, 3, -1]), "bool": self.flag(),
                 "ints": self.pick([sizes, [-1], [2, 3], list(range(len(sizes)))]), "dtype": self.pick(DTYPES),
                 "str": '"ij,jk->ik"' if name == "equation" else default or '"mean"'}
        return self.pick(words) if words else str(kinds.get(kind, self.pick(["2.0", "0.5", "1", "3", "-1.5"]))), name

    def call(self):
        if self.signatures:
            return self.by_signature()
        made, operands = self.pick(self.families)(self.pick(DTYPES), self.sizes()), None
        if isinstance(made[0], tuple):  # operands beside x
            (made, more), first = made
            return made, first + more
        return made


def signatures(documentation):
    """Those of docs/ops.md, as (name, parameters)."""
    found = []
    for line in Path(documentation).read_text().splitlines():
        match = re.fullmatch(r"`([a-z_0-9]+)\((.*?)\)(?: -> .*)?`", line)
        if match and match[1] not in NOT_DRAWN:
            parameters = re.split(r", (?![^\[(]*[\])])", match[2])
            if all(":" in each or each == "*" for each in parameters):
                found.append((match[1], parameters))
    return found
