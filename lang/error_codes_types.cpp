// Error codes of values of a wrong type.
#include <array>

#include "lang/error_code_rows.h"

namespace kiln::lang {
namespace {

constexpr std::array<ErrorCode, 19> kTypesCodes{{
    {"K0300", "TypeError", "", "a value of the wrong type",
     "A value has a type that does not fit here, in a way that has no page of its own. The message "
     "names what is expected.",
     R"(throw TypeError("give a list"))", "sorted([2, 1])"},
    {"K0301", "TypeError", "`*` does not work on * and *\nunary * does not work on*",
     "an operator between values that it does not join",
     "An operator joins numbers and tensors with each other, texts with texts, lists with lists. "
     "`str(x)` and f-strings make text of a value, `int(x)` and `float(x)` a number of a text.",
     R"("epoch " + 3)", R"(f"epoch {3}")"},
    {"K0302", "TypeError", "`*` needs *, which was not given\n`*` needs *, which were not given",
     "a call without a required argument",
     "Parameters without a default must be given, by place or by name. `?f` shows the signature.",
     R"(fn area(width, height) = width * height
area(2))",
     R"(fn area(width, height) = width * height
area(2, 3))"},
    {"K0303", "TypeError",
     "`*` takes at most * argument*, got *\n`*` takes no arguments, got *\n* takes at most * argument* by "
     "position, got *\n* is one argument, got several numbers",
     "a call with too many arguments",
     "More arguments were given than there are parameters. Parameters behind a `*` in the "
     "signature are given by name.",
     R"(fn square(x) = x * x
square(2, 3))",
     R"(fn square(x) = x * x
square(2))"},
    {"K0304", "TypeError", "`*` has no parameter `*`*\n* has no argument `*`*\n`*` has no field `*`",
     "an argument with a name that is no parameter",
     "The function has no parameter of this name. `?f` shows the names; `dim` is what NumPy calls "
     "`axis`.",
     R"(fn train(epochs) = epochs
train(epoch=3))",
     R"(fn train(epochs) = epochs
train(epochs=3))"},
    {"K0305", "TypeError", "`*` got `*` twice", "an argument that is given twice",
     "A parameter is given by place or by name, not both.",
     R"(fn f(a, b = 0) = a
f(1, a=2))",
     R"(fn f(a, b = 0) = a
f(1, b=2))"},
    {"K0306", "TypeError", "* cannot be called", "a value that cannot be called",
     "Called are functions, types, structs and instances with a method `call`. A product needs its "
     "`*`, and a name that was assigned a number is no function any more.",
     R"(x = 3
x(2))",
     R"(x = 3
x * 2)"},
    {"K0307", "TypeError", "* cannot be iterated\n`*` takes an iterable, not*", "a value without items",
     "Gone through are lists, tuples, dicts, sets, texts, ranges, files, generators and tensors. "
     "Numbers up to n are `range(n)`.",
     "for i in 3 { print(i) }", "for i in range(3) { print(i) }"},
    {"K0308", "TypeError", "cannot unpack * into * names", "a value that cannot be taken apart",
     "Several targets take the items of a list, tuple or other iterable; this value has none.", "a, b = 3",
     "a, b = (3, 4)"},
    {"K0309", "TypeError", "parameter `*` of * must be*, got*\nthe result of * must be*, gave*",
     "a value that its annotation does not allow",
     "A parameter or result with a type takes values of that type only; an int is not taken as a "
     "float.",
     R"(fn repeat(times: int) = times
repeat(2.5))",
     R"(fn repeat(times: int) = times
repeat(2))"},
    {"K0310", "TypeError", "* must be *, got *\n* must be *, it is *\n* must be *, is *",
     "an argument of the wrong type",
     "The function takes another type here. The message names the parameter, what it takes and "
     "what it got.",
     R"(zeros(2, 3).sum(dim="rows"))", "zeros(2, 3).sum(dim=0)"},
    {"K0311", "TypeError", "*cannot be a key of a dict or an item of a set*\na set tells tensors apart*",
     "a key that can change",
     "Keys of a dict and items of a set are found by their value, so they must be ones that stay: "
     "text, numbers, tuples of these. A list may be made a tuple.",
     R"(d = {[1, 2]: "a"})", R"(d = {(1, 2): "a"})"},
    {"K0312", "TypeError", "a * cannot be changed", "a text or tuple that cannot be changed",
     "Texts and tuples stay as they are. Make a new one, or use a list.",
     R"(pair = (1, 2)
pair[0] = 3)",
     R"(pair = [1, 2]
pair[0] = 3)"},
    {"K0313", "TypeError", "a chain of comparisons does not work elementwise*",
     "a chain of comparisons of tensors",
     "`a < x < b` asks twice and joins the answers by `and`, which needs one truth. Elements are "
     "joined by `&`, with each comparison in parentheses.",
     R"(x = tensor([1, 5])
0 < x < 3)",
     R"(x = tensor([1, 5])
(0 < x) & (x < 3))"},
    {"K0314", "TypeError", "*is indexed by*\n*cannot be indexed", "an index of the wrong type",
     "Lists and texts are indexed by ints and slices, tensors also by tensors. `int(x)` makes an "
     "int of a float.",
     R"(xs = [1, 2, 3]
xs[len(xs) / 3])",
     R"(xs = [1, 2, 3]
xs[len(xs) // 3])"},
    {"K0315", "TypeError", "*cannot be used by `with`*\n*cannot be used by *: it has no method*",
     "a value that `with` cannot enter",
     "`with` needs a value with the methods `enter` and `exit`: a file, a scope such as "
     "`no_grad()`, or a struct of yours.",
     R"(with 3 { print("in") })", R"(with no_grad() { print("in") })"},
    {"K0316", "TypeError", "an optimizer takes a list of parameters*",
     "an optimizer without a list of parameters",
     "An optimizer is given the tensors that it changes: `model.parameters()`, or a list.",
     R"(import nn
import optim
optim.SGD(nn.Linear(2, 1), lr=0.1))",
     R"(import nn
import optim
optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1))"},
    {"K0317", "TypeError", "tensor: cannot make a tensor of*\ntensor: item * is *, not a number",
     "data that makes no tensor", "`tensor` takes numbers, lists of numbers nested evenly, and tensors.",
     R"(tensor(["a", "b"]))", "tensor([1, 2])"},
    {"K0318", "TypeError",
     "*a complex number is no real number\n*takes real numbers, got c*\n*a gradient is that of a real number",
     "a complex number where a real one is needed",
     "Complex numbers have no order and are no floats. `z.real`, `z.imag` and `abs(z)` are real numbers.",
     "float(3 + 4j)", "abs(3 + 4j)"},
}};

}  // namespace

std::span<const ErrorCode> types_codes() { return kTypesCodes; }

}  // namespace kiln::lang
