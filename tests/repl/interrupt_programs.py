"""What interrupts.py stops: each entry takes long, after what its setup has made."""

from dataclasses import dataclass


@dataclass
class Program:
    name: str
    entry: str
    setup: str = ""
    after: float = 0.15  # seconds from the entry to the earliest Ctrl-C
    in_suite: bool = False

    def is_of_scripts(self):
        """Not a command of the prompt."""
        return not self.entry.startswith(":")


TEXT = 'text = "abcdefghij" * 20000000'
TEXTS = "texts = [str(i * 7919 % 10000019) for i in range(3000000)]"
NUMBERS = "numbers = [float(i * 7919 % 10000019) for i in range(5000000)]"
MIXED = "mixed = [i * 7919 % 1000003 if i % 2 == 0 else i * 0.5 for i in range(200000)]"
MATRIX = "seed(1); a = randn(3000, 3000)"
SYMMETRIC = MATRIX + "; s = a @ a.T + eye(3000) * 3000"
LARGE = "x = rand(200000000)"
# What is not fused with what comes before it makes kernels of their own.
LONG_FUNCTION = ("x = rand(64, 64)\nfn g(x) {\n" +
                 "".join(f"  x = (x * {k}).sin() + x.{'cumsum(0)' if k % 3 == 0 else 'exp()'}\n" for k in range(1, 4000)) +
                 "  return x\n}")
WIDE_FUNCTION = ("x = rand(64, 64)\nfn g(x) {\n" + "".join(f"  x = (x * {k}).sin() + x.exp()\n" for k in range(1, 4000)) +
                 "  return x\n}")

PROGRAMS = [
    # The machine and functions of the host.
    Program("loop", "while true { }"),
    Program("sum of a range", "sum(range(1 << 50))"),
    Program("list of a range", "x = list(range(1 << 40));"),
    Program("sort of floats", "while true { sorted(numbers) };", NUMBERS),
    Program("sort of texts", "while true { texts.copy().sort() };", TEXTS),
    Program("sort of mixed numbers", "while true { sorted(mixed * 10) };", MIXED, in_suite=True),
    Program("list times a number", "while true { [1, 2.5] * 100000000 };"),
    Program("list comparison", "while true { a == b };", "a = list(range(20000000)); b = list(range(20000000))"),
    Program("list index", "while true { a.count(-1) };", "a = [[i] for i in range(5000000)]"),
    Program("nested lists compared", "while true { a == b };",
            "a = [[[i], i] for i in range(2000000)]; b = [[[i], i] for i in range(2000000)]"),
    Program("list reversed", "while true { a.reverse(); a[::-1]; a + a };", "a = list(range(20000000))"),
    Program("list to tensor", "while true { tensor(numbers) };", NUMBERS),
    Program("tensor to list", "while true { x.tolist() };", "x = rand(10000000)"),
    Program("dict of many", "while true { {k: 1 for k in texts} };", TEXTS),
    Program("dict update", "while true { d2 = {}; d2.update(d); d2 == d };", TEXTS + "; d = {k: 1 for k in texts}"),
    Program("set of many", "while true { set(numbers) | set(texts) };", NUMBERS + "\n" + TEXTS),
    Program("deepcopy", "while true { deepcopy(a) };", "a = [[i, [i]] for i in range(1000000)]"),
    Program("cycles freed", "while true { x = [[]]; for i in range(3000000) { b = [x]; b.append(b) } };", ""),
    # Texts.
    Program("join", 'while true { ",".join(texts) };', TEXTS),
    Program("split", 'while true { text.split("e") };', TEXT),
    Program("split of space", 'while true { words.split() };', 'words = "ab c " * 20000000'),
    Program("replace", 'while true { text.replace("cd", "xyz") };', TEXT),
    Program("text times a number", 'while true { "ab" * 1000000000 };'),
    Program("find", 'text.count("ijk");', TEXT + "\ntext = text * 10"),
    Program("upper", "while true { text.upper() };", TEXT),
    Program("strip and title", 'while true { spaces.strip(); text.title(); text.swapcase() };', TEXT + '\nspaces = " " * 100000000'),
    Program("reverse of a text", "while true { text[::-1] };", TEXT),
    Program("list of a text", "while true { list(text) };", TEXT),
    Program("text of a list", "while true { str(numbers) };", NUMBERS),
    Program("padding", "while true { text.rjust(280000000) };", TEXT),
    Program("comparison of texts", "while true { text == other; text < other };", TEXT + '\nother = text + "a"'),
    Program("pattern", 're.findall("(a|b|ab)*c", text);', "import re\n" + TEXT),
    Program("pattern that explodes", 'while true { try { re.search("(a+a+)+b", t) } catch err { } };',
            'import re\nt = "a" * 100000'),
    Program("search of a long text", 'while true { re.search("x.*y", text) };', "import re\n" + TEXT),
    Program("json out", "while true { json.dumps(a) };", "import json\na = [{\"k\": i, \"v\": [i, str(i)]} for i in range(1000000)]"),
    Program("json in", "while true { json.loads(t) };", "import json\nt = json.dumps([{\"k\": i, \"v\": [i, 1.5]} for i in range(1000000)])"),
    Program("itertools", "list(itertools.permutations(range(30)));", "import itertools"),
    # Waiting.
    Program("sleep", "sleep(100)"),
    Program("input", "input()"),
    Program("command", 'run("sleep 100")'),
    Program("command that ignores it", "run(\"trap '' INT; sleep 5; sleep 5\")"),
    # Linear algebra.
    Program("svd", "while true { svd(a) };", "a = randn(1500, 1500)", in_suite=True),
    Program("svd values", "while true { svdvals(a) };", MATRIX, after=0.5),
    Program("eigh", "eigh(s);", SYMMETRIC, after=0.5),
    Program("eigvalsh", "while true { eigvalsh(s) };", SYMMETRIC, after=0.5),
    Program("qr", "while true { qr(a) };", MATRIX),
    Program("cholesky", "while true { cholesky(s) };", SYMMETRIC),
    Program("solve", "while true { solve(a, a) };", MATRIX),
    Program("inverse", "while true { inv(a) };", MATRIX),
    Program("det", "while true { det(a) };", MATRIX),
    Program("triangular", "while true { solve_triangular(a.tril(), a, upper=false) };", MATRIX),
    Program("lstsq", "while true { lstsq(a, a) };", MATRIX),
    Program("pinv", "pinv(a);", MATRIX, after=0.5),
    Program("svd of many", "svd(a);", "a = randn(200, 300, 300)", after=0.4),
    Program("matrix_exp", "while true { matrix_exp(a * 0.001) };", MATRIX),
    # Ops.
    Program("matmul", "a @ a;", "a = rand(8000, 8000)", after=0.3),
    Program("matmul of ints", "a @ a;", "a = randint(0, 9, (2000, 2000))", after=0.3),
    Program("matmul f64", "a @ a;", "a = rand(6000, 6000, dtype=f64)", after=0.3),
    Program("matmul f16", "a @ a;", "a = rand(4000, 4000).to(f16)", after=0.3),
    Program("vector product", "while true { a @ v };", "a = rand(20000, 20000); v = rand(20000)"),
    Program("batched matmul", "while true { a @ a };", "a = rand(20000, 64, 64)"),
    Program("einsum", 'einsum("ij,jk,kl->il", a, a, a);', "a = rand(6000, 6000)", after=0.3),
    Program("cumsum", "while true { x.cumsum(0) };", LARGE),
    Program("cumsum of columns", "while true { x.cumsum(0) };", "x = rand(20000, 10000)"),
    Program("cumprod", "while true { x.cumprod(0) };", LARGE),
    Program("cummax", "while true { x.cummax(0) };", LARGE),
    Program("logcumsumexp", "while true { x.logcumsumexp(0) };", LARGE),
    Program("sort", "while true { x.sort() };", LARGE),
    Program("argsort stable", "while true { x.argsort(descending=true) };", LARGE),
    Program("sort of columns", "while true { x.sort(0) };", "x = rand(100000, 1000)"),
    Program("sort of short rows", "while true { x.sort() };", "x = rand(20000, 1000)", in_suite=True),
    Program("topk", "while true { x.topk(1000000) };", LARGE),
    Program("kthvalue and median", "while true { x.median() };", LARGE),
    Program("unique", "while true { x.unique() };", LARGE),
    Program("unique of ints", "while true { unique(x) };", "x = randint(0, 1000000, (100000000,))"),
    Program("nonzero", "while true { (x > 0.5).nonzero() };", LARGE),
    Program("mask", "while true { x[x > 0.5] };", LARGE),
    Program("gather", "while true { x[i] };", "x = rand(50000000); i = randint(0, 50000000, (50000000,))"),
    Program("scatter", "while true { zeros(50000000).scatter_add(0, i, x) };",
            "x = rand(50000000); i = randint(0, 50000000, (50000000,))"),
    Program("scatter to one place", "while true { zeros(10).scatter_add(0, i, x) };",
            "x = rand(50000000); i = zeros(50000000, dtype=i64)"),
    Program("write in place", "while true { x.index_add_(0, i, x) };",
            "x = rand(30000000); i = randint(0, 30000000, (30000000,))"),
    Program("add in place", "while true { x += 1 };", LARGE),
    Program("sum", "while true { x.sum() };", LARGE),
    Program("sum of columns", "while true { x.sum(0) };", "x = rand(200000, 1000)"),
    Program("argmax", "while true { x.argmax(); x.max(); x.std() };", LARGE),
    Program("exp", "while true { x.exp() };", LARGE),
    Program("transposed copy", "while true { x.T.contiguous() };", "x = rand(14000, 14000)"),
    Program("cat and flip", "while true { cat([x, x]).flip(0) };", LARGE),
    Program("softmax of a row", "while true { x.softmax(0) };", LARGE),
    Program("conv2d", "conv2d(x, w, padding=2);", "x = rand(64, 64, 224, 224); w = rand(64, 64, 5, 5)", after=0.4),
    Program("conv2d backward", "conv2d(x, w, padding=2).sum().backward();",
            "x = rand(16, 64, 224, 224).requires_grad_(); w = rand(64, 64, 5, 5).requires_grad_()", after=0.4),
    Program("conv1d long", "conv1d(x, w);", "x = rand(1, 64, 1000000); w = rand(64, 64, 9)", after=0.4),
    Program("conv f64", "conv2d(x, w);", "x = rand(16, 32, 128, 128, dtype=f64); w = rand(32, 32, 5, 5, dtype=f64)", after=0.3),
    Program("conv transpose", "conv_transpose2d(x, w);", "x = rand(32, 64, 128, 128); w = rand(64, 64, 5, 5)", after=0.4),
    Program("max pool", "while true { max_pool2d(x, 3) };", "x = rand(64, 64, 128, 128)"),
    Program("randn", "while true { randn(200000000) };"),
    Program("randperm", "while true { randperm(100000000) };"),
    Program("multinomial", "while true { multinomial(p, 1000000, replacement=true) };", "p = rand(1000000)"),
    Program("multinomial without", "while true { multinomial(p, 1000000) };", "p = rand(2000000)"),
    Program("attention", "scaled_dot_product_attention(q, q, q);", "q = rand(8, 16, 2048, 64)", after=0.3),
    Program("batch norm", "while true { batch_norm(x, m, v, training=true) };", "m = zeros(64); v = ones(64); x = rand(64, 64, 128, 128)"),
    Program("cdist", "cdist(x, x);", "x = rand(20000, 64)", after=0.3),
    # Files.
    Program("save npy", 'while true { save("x.npy", x) };', LARGE),
    Program("load npy", 'while true { load("x.npy") };', 'save("x.npy", rand(200000000))'),
    Program("save npz", 'while true { save("x.npz", {a: x}) };'.replace("{a: x}", '{"a": x}'), LARGE),
    Program("safetensors", 'while true { save("x.safetensors", {"a": x}); load("x.safetensors") };', LARGE),
    Program("save csv", 'save("x.csv", x);', "x = rand(1000000, 10)"),
    Program("load csv", 'while true { load("x.csv") };', 'save("x.csv", rand(500000, 10))'),
    Program("save png", 'while true { save("x.png", x) };', "x = rand(3, 4000, 4000)"),
    Program("load png", 'while true { load("x.png") };', 'save("x.png", rand(3, 4000, 4000))'),
    Program("save ppm", 'while true { save("x.ppm", x); load("x.ppm") };', "x = rand(3, 6000, 6000)"),
    Program("read a text file", 'while true { open("t").read() };', 'f = open("t", "w"); f.write("abcdefgh\\n" * 30000000); f.close()'),
    Program("lines of a file", 'while true { open("t").lines() };', 'f = open("t", "w"); f.write("abcdefgh\\n" * 10000000); f.close()'),
    # Printing.
    Program("print of a list", "print(numbers)", NUMBERS),
    Program("endless print", "while true { print(\"a line\") }", in_suite=True),
    Program("print of a tensor", "print(x.tolist())", "x = rand(3000, 1000)"),
    Program("nested copies", "while true { b = deepcopy(a); b == a };",
            "fn nest(n) = [] if n == 0 else [nest(n - 1), nest(n - 1)]\na = nest(17)"),
    # The compiler.
    Program("capture", "jit(g)(x);", LONG_FUNCTION, after=0.1),
    Program("compilation", "jit(g)(x);", LONG_FUNCTION, after=0.6, in_suite=True),
    Program("compilation of kernels", "jit(g)(x);", LONG_FUNCTION, after=3.0),
    Program("compilation of a wide kernel", "jit(g)(x);", WIDE_FUNCTION, after=1.0),
    Program("compilation behind the program", "f = jit(g); f(x); f(x);", LONG_FUNCTION, after=1.5),
    Program("compilation of a gradient", "jit(grad(x => g(x).sum()))(x);", LONG_FUNCTION, after=1.0),
    Program("gradient of a long chain", "jit(grad(g))(x);",
            "x = rand(64)\ng = fn(x) { for k in range(100000) { x = x.sin() * x }; return x.sum() }", after=0.5),
    Program("grad op by op", "grad(g)(x);", "x = rand(64)\ng = fn(x) { for k in range(3000000) { x = x.sin() * x }; return x.sum() }", after=0.3),
    Program("hessian", "hessian(f)(x);", "x = rand(20000)\nf = x => (x.sin() * x.cumsum(0)).sum()", after=0.3),
    # Commands.
    Program(":kernels", ":kernels g(a)", "a = rand(3000, 3000)\ng = a => (a @ a).relu() @ a", after=0.4),
    Program(":timeit", ":timeit a @ a", "a = rand(2000, 2000)", after=0.4),
    Program(":timeit of two", ":timeit a @ a | a + a", "a = rand(2000, 2000)", after=0.4),
    Program(":timeit small", ":timeit a + a", "a = rand(8)", after=0.2),
    Program(":profile", ":profile f(a)", "a = rand(1000, 1000)\nfn f(a) { for k in range(1000) { a = a @ a / 1000 }; return a }", after=0.4),
    Program(":time", ":time f(a)", "a = rand(1000, 1000)\nfn f(a) { for k in range(1000) { a = a @ a / 1000 }; return a }", after=0.4),
    Program(":stages", ":stages full g(x)", LONG_FUNCTION, after=0.5),
    Program(":functional", ":functional g(x)", LONG_FUNCTION, after=0.5),
    Program(":html", ":html g(x) page.html", LONG_FUNCTION, after=0.5),
    Program(":nan", ":nan g(a)", "a = rand(1000, 1000)\ng = fn(a) { for k in range(1000) { a = a @ a / 1000 }; return a }", after=0.4),
    Program(":asm", ":asm g(x)", LONG_FUNCTION, after=0.5),
    Program(":who", ":who", "for i in range(10) { }\na = [[i] for i in range(3000000)]", after=0.1),
    Program(":mem", ":mem", "a = [zeros(1) for i in range(1000000)]", after=0.1),
]
