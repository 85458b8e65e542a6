// Pages of the keywords.
#include <array>

#include "repl/symbol_pages.h"

namespace kiln::repl {
namespace {

constexpr std::array<Symbol, 26> kPages{{
    {"fn", "fn name(x, y = 1) { … }   fn name(x) = e   fn(x) = e",
     "Makes a function. After `=` stands the expression that it gives; in a block `return` says so. "
     "Parameters "
     "may have defaults and types, `x: f32[n, d]`, which are checked at each call. Without a name it is an "
     "expression; `x => e` is short for that.\n"
     ">>> fn area(width, height = 1.0) = width * height\n>>> area(2, height=3.5)\n7.0"},
    {"return", "return e",
     "Ends the function and gives a value, or none. Several values are a tuple.\n"
     ">>> fn ends(xs) { return xs[0], xs[-1] }\n>>> first, last = ends([1, 2, 3])\n>>> last\n3"},
    {"if\nelse\nelse if", "if condition { … } else if condition { … } else { … }   a if condition else b",
     "Runs the first block whose condition is true. Within an expression it chooses a value. A tensor is a "
     "condition when it has one element; `where(mask, a, b)` chooses element by element.\n"
     ">>> x = -3\n>>> if x < 0 { print(\"negative\") } else { print(\"not negative\") }\nnegative\n"
     ">>> 0 if x < 0 else x\n0"},
    {"for", "for x in xs { … }   [e for x in xs if condition]",
     "Runs a block for each item of a list, range, dict, text, file, generator, or for each x[i] of a "
     "tensor. "
     "In brackets it makes a list, in braces a dict or a set.\n"
     ">>> total = 0\n>>> for i, x in enumerate([5, 7]) { total += i * x }\n>>> total\n7\n"
     ">>> [n * n for n in range(4) if n != 2]\n[0, 1, 9]"},
    {"in\nnot in", "x in xs   x not in xs",
     "Whether a list, tuple, set or range has an item, a dict a key, a text another text in it. In `for x in "
     "xs` "
     "it stands before what is gone through.\n"
     ">>> 2 in [1, 2], \"a\" in {\"a\": 1}, \"cat\" not in \"concatenate\"\n(true, true, false)"},
    {"while", "while condition { … }",
     "Runs a block as long as a condition is true. `break` leaves it.\n"
     ">>> n = 20\n>>> while n > 3 { n = n // 2 }\n>>> n\n2"},
    {"break", "break",
     "Leaves the innermost loop.\n>>> for i in range(10) { if i * i > 20 { break } }\n>>> i\n5"},
    {"continue", "continue",
     "Goes on with the next item of the innermost loop.\n"
     ">>> for i in range(4) { if i % 2 == 0 { continue }; print(i) }\n1\n3"},
    {"import", "import module   import \"path/file.kiln\" as name   from module import a, b",
     "Makes a module known by its name, or with `from` some of its names. Modules of the standard library "
     "are "
     "`nn`, `optim`, `data` and others; a text is the path of a file, from the folder of the importing one.\n"
     ">>> import nn\n>>> nn.Linear(4, 2)(zeros(3, 4)).shape\n(3, 2)"},
    {"from", "from module import a, b as c",
     "Makes names of a module known without the module's.\n"
     ">>> from nn import Linear\n>>> Linear(4, 2)(zeros(3, 4)).shape\n(3, 2)"},
    {"as", "import m as n   with e as x { … }   case p as x { … }",
     "Gives another name to a module or what is imported from one, and a name to what `with` enters and to "
     "what "
     "a pattern fits.\n>>> import optim as o\n>>> o.SGD([ones(2).requires_grad_()], lr=0.1).lr\n0.1"},
    {"struct", "struct Name { field; field = default  fn method(self) { … } }",
     "Makes a type with fields and methods. `Name(…)` sets the fields in order, or calls the method `init`. "
     "A "
     "method `call` makes instances callable, and tensors in fields are parameters of the model.\n"
     ">>> struct Point { x; y = 0  fn norm(self) = (self.x ** 2 + self.y ** 2) ** 0.5 }\n"
     ">>> Point(3, y=4).norm()\n5.0"},
    {"autograd", "autograd Name { fn forward(ctx, …) { … }  fn backward(ctx, g) { … } }",
     "Makes a function with a derivative of its own. `forward` keeps in `ctx` what `backward` needs; "
     "`backward` "
     "gives a gradient for each argument.\n"
     ">>> autograd Double { fn forward(ctx, x) = 2 * x  fn backward(ctx, g) = 10 * g }\n"
     ">>> grad(x => Double(x))(1.0).item()\n10.0"},
    {"with", "with scope { … }   with open(path) as file { … }",
     "Enters a scope, runs the block and leaves the scope, also after an error: a file is closed, gradients "
     "are "
     "recorded again.\n"
     ">>> w = ones(1).requires_grad_()\n>>> with no_grad() { y = w * 2 }\n>>> y.requires_grad\nfalse"},
    {"try\ncatch", "try { … } catch e { … }",
     "Runs a block; an error in it is given to the second block, where `e.kind`, `e.message` and `e.code` "
     "tell "
     "what it is. `throw e` passes it on.\n"
     ">>> try { [1, 2][5] } catch e { print(e.kind) }\nIndexError"},
    {"finally", "try { … } finally { … }",
     "Runs its block at the end in any case: after an error, a `return` or a `break`, too.\n"
     ">>> fn f() { try { return 1 } finally { print(\"left\") } }\n>>> f()\nleft\n1"},
    {"throw", "throw ValueError(\"…\")   throw \"…\"",
     "Ends with an error. A kind of error takes a message and a help; a text alone will do.\n"
     ">>> try { throw ValueError(\"no rows\", help=\"add one\") } catch e { print(e.message) }\nno rows"},
    {"assert", "assert condition, \"message\"",
     "An AssertionError when the condition is false.\n"
     ">>> fn half(n) { assert n % 2 == 0, \"n must be even\"; return n // 2 }\n>>> half(10)\n5"},
    {"match\ncase", "match e { case pattern { … }  case a | b { … }  case _ { … } }",
     "Runs the block of the first pattern that the value fits: a value, a list or dict of patterns, a struct "
     "with its fields, alternatives, or a name, which gets what stands there. `_` fits anything, and `if` "
     "after a "
     "pattern asks for more.\n"
     ">>> fn area(shape) { match shape { case [\"square\", a] { return a * a }\n"
     "...   case [\"box\", a, b] if a > 0 { return a * b }\n...   case _ { return 0 } } }\n"
     ">>> area([\"box\", 2, 3])\n6"},
    {"yield", "yield e",
     "Makes the function a generator: a call gives an iterator, and the body runs from one `yield` to the "
     "next "
     "as values are asked for.\n"
     ">>> fn countdown(n) { while n > 0 { yield n; n -= 1 } }\n>>> list(countdown(3))\n[3, 2, 1]"},
    {"del", "del d[key]   del name",
     "Takes a key out of a dict, an item out of a list, or forgets a variable.\n"
     ">>> d = {\"a\": 1, \"b\": 2}\n>>> del d[\"a\"]\n>>> d\n{'b': 2}"},
    {"nonlocal", "nonlocal name",
     "Assignments in this function change the variable outside, instead of making one of its own.\n"
     ">>> fn counter() { n = 0; fn next_one() { nonlocal n; n += 1; return n }; return next_one }\n>>> tick "
     "= counter()\n>>> tick(), tick()\n(1, 2)"},
    {"not\nand\nor", "not a   a and b   a or b",
     "Truth of values. `and` and `or` give one of their operands, and look at the second only where the "
     "first "
     "does not decide. Elements of tensors are combined by `&`, `|` and `~`.\n"
     ">>> not [], 0 or \"default\", 1 and 2\n(true, 'default', 2)\n"
     ">>> (tensor([1, 5]) > 2) & (tensor([3, 4]) > 1)\nbool[2] cpu 2 B\n[false,  true]"},
    {"is\nis not", "a is b   x is none",
     "Whether two values are the same object; `x is none` asks for none. `==` compares what they hold.\n"
     ">>> a = [1]\n>>> a is a, a is [1], a == [1]\n(true, false, true)"},
    {"true\nfalse", "true   false",
     "The two truths. As numbers they are 1 and 0, and a tensor of them has the dtype `bool`.\n"
     ">>> true + true, sum([x > 1 for x in [1, 2, 3]])\n(2, 2)"},
    {"none", "none",
     "No value: what a function without `return` gives. `x is none` asks for it. As an index it adds a "
     "dimension.\n>>> ones(3)[none].shape\n(1, 3)"},
}};

}  // namespace

std::span<const Symbol> keyword_pages() { return kPages; }

}  // namespace kiln::repl
