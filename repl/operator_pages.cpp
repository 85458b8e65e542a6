// Pages of the operators.
#include <array>

#include "repl/symbol_pages.h"

namespace kiln::repl {
namespace {

constexpr std::array<Symbol, 16> kPages{{
    {"+", "x + y   +x",
     "Sum of numbers and tensors, element by element, where sizes of 1 are stretched; joins texts, lists and "
     "tuples.\n>>> tensor([1, 2]) + 10\ni64[2] cpu 16 B\n[11, 12]\n>>> \"a\" + \"b\", [1] + [2]\n('ab', [1, "
     "2])"},
    {"-", "x - y   -x",
     "Difference; of sets what the first has alone. With one operand the negative.\n"
     ">>> 7 - 10, (-tensor([1, -2])).tolist()\n(-3, [-1, 2])\n>>> {1, 2} - {2}\n{1}"},
    {"*", "x * y   f(*xs)   first, *rest = xs",
     "Product of elements; `@` is that of matrices. Repeats a text or a list. Before an argument it spreads "
     "items over the call, in a list over the list, before a target it takes the rest.\n"
     ">>> tensor([1, 2]) * tensor([3, 4])\ni64[2] cpu 16 B\n[3, 8]\n>>> \"ab\" * 2\n'abab'\n"
     ">>> first, *rest = [1, 2, 3]\n>>> max(*rest)\n3"},
    {"**", "x ** y   f(**options)",
     "Power, which binds tighter than a minus before it, and from right to left. Before an argument it gives "
     "a "
     "dict as keyword arguments, in braces it adds a dict.\n"
     ">>> 2 ** 10, -2 ** 2, 2 ** -1\n(1024, -4, 0.5)\n>>> {**{\"a\": 1}, \"b\": 2}\n{'a': 1, 'b': 2}"},
    {"@", "A @ B   @decorator",
     "Product of matrices, of the last two dimensions; those before them are a batch. The inner sizes must "
     "be "
     "equal. Before a function it is a decorator: `@jit fn f(x) = …` is `f = jit(f)`.\n"
     ">>> (ones(2, 3) @ ones(3, 4)).shape\n(2, 4)\n>>> (ones(3) @ ones(3)).item()\n3.0\n"
     ">>> @jit fn double(x) = 2 * x\n>>> double(tensor(4)).item()\n8"},
    {"/", "x / y", "Quotient, a float also of ints. `//` rounds down.\n>>> 7 / 2, 6 / 2\n(3.5, 3.0)"},
    {"//\n%", "x // y   x % y",
     "Quotient rounded down and what remains, which has the sign of y: x == (x // y) * y + x % y.\n"
     ">>> 7 // 2, 7 % 2, -7 // 2, -7 % 2\n(3, 1, -4, 1)\n>>> divmod(-7, 2)\n(-4, 1)"},
    {"==\n!=", "x == y   x != y",
     "Whether values are equal; of tensors the answer for each element. `equal(x, y)` asks whether two "
     "tensors "
     "are, `allclose(x, y)` whether they nearly are.\n"
     ">>> [1, 2] == [1, 2], 1 == 1.0\n(true, true)\n>>> tensor([1, 2]) == tensor([1, 3])\nbool[2] cpu 2 B\n[ "
     "true, "
     "false]"},
    {"<\n<=\n>\n>=", "x < y   a < x <= b",
     "Order of numbers, texts, lists and tuples; of sets whether one is part of the other; of tensors the "
     "answer "
     "for each element. A chain asks for each pair: of tensors write `(a < x) & (x < b)`.\n"
     ">>> 1 < 2 <= 2, \"a\" < \"b\", {1} < {1, 2}\n(true, true, true)\n"
     ">>> tensor([1, 5]) > 2\nbool[2] cpu 2 B\n[false,  true]"},
    {"&", "x & y",
     "Bits that both have, elements that are true in both, items of both sets. It binds tighter "
     "than comparisons, so that these need parentheses.\n"
     ">>> 6 & 3, {1, 2} & {2, 3}\n(2, {2})\n>>> x = tensor([1, 2, 9])\n>>> x[(x > 1) & (x < "
     "5)].tolist()\n[2]"},
    {"|", "x | y",
     "Bits that either has, elements true in either, items of both sets together, a dict with the entries of "
     "another; in patterns an alternative.\n"
     ">>> 6 | 3, {1} | {2}, {\"a\": 1} | {\"b\": 2}\n(7, {1, 2}, {'a': 1, 'b': 2})"},
    {"^", "x ^ y",
     "Bits that one alone has, items of one set alone. A power is `**`.\n>>> 6 ^ 3, {1, 2} ^ {2, 3}\n(5, {1, "
     "3})"},
    {"~", "~x",
     "Turns bits over, and the truth of the elements of a bool tensor.\n>>> ~5\n-6\n"
     ">>> ~tensor([true, false])\nbool[2] cpu 2 B\n[false,  true]"},
    {"<<\n>>", "x << n   x >> n",
     "Bits moved up or down: times, or divided by, 2 ** n.\n>>> 5 << 2, 20 >> 2\n(20, 5)"},
    {"+=\n-=\n*=\n/=\n//=\n%=\n@=\n**=\n&=\n|=\n^=\n<<=\n>>=", "x += y",
     "Computes with the variable's value and assigns the result. A tensor and a list are changed in place, "
     "so "
     "that views and other names see it; `x = x + y` makes a new one.\n"
     ">>> x = zeros(2)\n>>> y = x\n>>> y += 1\n>>> x.tolist()\n[1.0, 1.0]"},
    {"=", "x = e   a, b = e   f(name=e)",
     "Assigns; several targets take the items of what is assigned. In a call it gives an argument by its "
     "name, "
     "after a parameter its default, and in `fn f(x) = e` the function's value.\n"
     ">>> a, b = 1, 2\n>>> a, b = b, a\n>>> a, b\n(2, 1)"},
}};

}  // namespace

std::span<const Symbol> operator_pages() { return kPages; }

}  // namespace kiln::repl
