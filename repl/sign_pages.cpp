// Pages of brackets and other signs.
#include <array>

#include "repl/symbol_pages.h"

namespace kiln::repl {
namespace {

constexpr std::array<Symbol, 13> kPages{{
    {"(\n)", "(e)   f(x, name=y)   (a, b)   ()",
     "Groups an expression, calls a function, makes a tuple: of one item with a comma, `(1,)`.\n"
     ">>> (1 + 2) * 3, max(4, 5)\n(9, 5)\n>>> (1,)\n(1,)"},
    {"[\n]", "[a, b]   xs[i]   x[i, a:b, ..., none]   x[mask]",
     "Makes a list, or takes what stands at an index: of lists and texts an item, of dicts what a key has, "
     "of "
     "tensors a view. In an index of a tensor `a:b:step` is a slice, `none` a new dimension, `...` all "
     "dimensions between; a bool tensor or one of ints picks copies.\n"
     ">>> x = arange(6).reshape(2, 3)\n>>> x[1, 0].item(), x[:, 1].tolist(), x[x > 3].tolist()\n(3, [1, 4], "
     "[4, "
     "5])\n>>> x[..., none].shape\n(2, 3, 1)"},
    {"{\n}", "if c { … }   {\"key\": value}   {1, 2}",
     "A block of statements, or a dict of pairs, or a set of values. `{}` is an empty dict.\n"
     ">>> {\"a\": 1}[\"a\"], len({1, 1, 2})\n(1, 2)\n>>> {n: n * n for n in range(3)}\n{0: 0, 1: 1, 2: 4}"},
    {":", "x[a:b:step]   {key: value}   fn f(x: f32[n])",
     "Stands between the bounds of a slice, a key and its value, a parameter and its type. At the beginning "
     "of an "
     "entry it begins a command: `:help` lists them.\n"
     ">>> \"abcdef\"[1:4], [1, 2, 3, 4][::2]\n('bcd', [1, 3])"},
    {"=>", "x => e   (x, y) => e",
     "A function in short: parameters to the left, the value to the right.\n"
     ">>> sorted([\"bb\", \"a\"], key=s => s.len())\n['a', 'bb']"},
    {"->", "fn f(x: f32[n]) -> f32[n] { … }",
     "The type that a function gives, which is checked when it returns.\n"
     ">>> fn double(x: f32[n]) -> f32[n] { return 2 * x }\n>>> double(ones(2)).tolist()\n[2.0, 2.0]"},
    {".", "x.field   x.method(y)   module.name",
     "A field, a method or a name of a module. `x.f(y)` is also the call f(x, y) where x has no f of its "
     "own.\n"
     ">>> ones(2, 3).shape, [3, 1].sorted()\n((2, 3), [1, 3])"},
    {"...", "x[..., 0]",
     "In an index: all dimensions that the others leave.\n>>> ones(2, 3, 4)[..., 0].shape\n(2, 3)"},
    {",", "a, b   f(x, y)",
     "Stands between items; without brackets it makes a tuple.\n>>> pair = 1, 2\n>>> pair\n(1, 2)"},
    {";", "a; b",
     "Ends a statement on the same line. At the end of an entry the value is not printed.\n"
     ">>> x = 1; y = 2\n>>> x + y;\n>>> x + y\n3"},
    {"#\n##", "# a comment   ## documentation",
     "The rest of the line is a comment. Lines with `##` above a function, a struct or at the top of a file "
     "are "
     "its documentation, which `?name` shows.\n>>> 1 + 1  # two\n2"},
    {"\"\n'\nf\"", "\"text\"   'text'   f\"{e:.2f}\"   \"\"\"lines\"\"\"",
     "A text. In one with an f before it, braces hold expressions, with a format after a colon and `=` for "
     "the "
     "expression's own text.\n>>> x = 2.5\n>>> f\"{x:.2f} and {x=}\"\n'2.50 and x=2.5'"},
    {"_", "_   for _ in xs",
     "The last value at the prompt; in a pattern or as a target what is not needed.\n"
     ">>> for _ in range(2) { print(\"again\") }\nagain\nagain"},
}};

}  // namespace

std::span<const Symbol> sign_pages() { return kPages; }

}  // namespace kiln::repl
