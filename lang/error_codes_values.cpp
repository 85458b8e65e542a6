// Error codes of values that do not fit.
#include <array>

#include "lang/error_code_rows.h"

namespace kiln::lang {
namespace {

constexpr std::array<ErrorCode, 15> kValuesCodes{{
    {"K0400", "ValueError", "", "a value that does not fit",
     "The type is right and the value is not, in a way that has no page of its own. The message "
     "says what is allowed.",
     R"(throw ValueError("no rows"))", "range(0, 10, 2)"},
    {"K0401", "ValueError", "division by zero", "a division by zero",
     "Ints cannot be divided by 0. Floats and tensors of floats give `inf` or `nan` instead where "
     "they are tensors.",
     R"(total = 0
10 // total)",
     R"(total = 4
10 // total)"},
    {"K0402", "ValueError", "cannot unpack * into * names*\ncannot unpack *: at least*",
     "another number of items than targets",
     "As many items as targets are needed. `*rest` among the targets takes what is left over.",
     "a, b = (1, 2, 3)", "a, *b = (1, 2, 3)"},
    {"K0403", "ValueError", "a tensor of * elements, *, is neither true nor false",
     "a condition of many elements",
     "A condition needs one truth, and a tensor has one for each element. `.all()` and `.any()` "
     "make one of them, `where` chooses element by element.",
     R"(x = tensor([1, -1])
if x > 0 { print("positive") })",
     R"(x = tensor([1, -1])
if (x > 0).any() { print("positive") })"},
    {"K0404", "ValueError", "*is not an int in base*\n*is not a float*\n*is not an int\n*is not a number",
     "a text that is no number", "`int` and `float` read texts that are numbers and nothing else.",
     R"(int("12x"))", R"(int("12"))"},
    {"K0405", "ValueError", "only a tensor of one element is a number*", "a number of many elements",
     "`item`, `float` and `int` take a tensor of one element. `tolist` gives all, `mean` or `sum` "
     "make one of many.",
     "tensor([1.0, 2.0]).item()", "tensor([1.0, 2.0]).sum().item()"},
    {"K0406", "ValueError", "* changed its size while a loop went over it",
     "a dict or set that changes under a loop",
     "While a loop goes through a dict or a set, nothing may be added or taken out. Go through a "
     "list of its keys.",
     R"(d = {"a": 1}
for key in d { d[key + "2"] = 1 })",
     R"(d = {"a": 1}
for key in list(d) { d[key + "2"] = 1 })"},
    {"K0407", "ValueError", "inside vmap * differs from example to example*",
     "a value that vmap cannot look into",
     "Inside `vmap` a tensor stands for all examples at once, so it has no one truth and no one "
     "number. `where` chooses for each example.",
     "vmap(x => x if x > 0 else -x)(tensor([1.0, -1.0]))",
     "vmap(x => where(x > 0, x, -x))(tensor([1.0, -1.0]))"},
    {"K0408", "ValueError", "format type * does not fit*\ninvalid format*",
     "a format that does not fit the value",
     "After the colon of a field stands a format: `.2f` for floats, `d` and `,` for ints, `>10` "
     "for a width.",
     R"(f"{2.5:d}")", R"(f"{2.5:.1f}")"},
    {"K0409", "ValueError",
     "* reduction must be*\n* knows no * \"*\"\n*cannot be \"*\"*\n*must be one of*\n* is \"*\", not "
     "\"*\"\n*mode must be*",
     "a word that the parameter does not know",
     "The parameter takes one of a few words. Tab in the text lists them.",
     R"(mse_loss(zeros(2), ones(2), reduction="avg"))", R"(mse_loss(zeros(2), ones(2), reduction="mean"))"},
    {"K0410", "ValueError", "*the function must return one element*\n*the function must return*",
     "a gradient of many numbers",
     "`grad` takes a function that gives one number. `jacrev` gives the derivatives of all, and "
     "`.sum()` makes one of many.",
     "grad(x => x * 2)(tensor([1.0, 2.0]))", "grad(x => (x * 2).sum())(tensor([1.0, 2.0]))"},
    {"K0411", "ValueError", "*share memory, so a write to one would change others\n*storage*",
     "a write or a view that storages do not allow",
     "The tensor shares memory with others, or with itself, so that this write would change what "
     "it should not. `clone()` makes memory of its own.",
     R"(x = zeros(1, 3).expand(2, 3)
x.add_(1))",
     R"(x = zeros(1, 3).expand(2, 3).clone()
x.add_(1))"},
    {"K0412", "ValueError", "modules import each other in a ring*", "modules that import each other",
     "A module is read to its end before its names are known, so two cannot need each other. Put "
     "what both need into a third.",
     R"(with open("/tmp/kiln-ring.kiln", "w") as f { f.write("import \"/tmp/kiln-ring.kiln\" as me") }
import "/tmp/kiln-ring.kiln" as ring)",
     "import nn"},
    {"K0413", "ValueError", "*singular*\n*positive-definite*", "a matrix without the factorization asked for",
     "The matrix has no inverse, or is not positive-definite. Adding a small multiple of `eye(n)` "
     "often helps; `pinv` and `lstsq` work for any matrix.",
     "inv(zeros(2, 2))", "inv(eye(2))"},
    {"K0414", "ValueError",
     "*must not be negative*\n*must be positive*\n*must be at least*\n*must be between*\n*must be from*",
     "a number outside of its range",
     "The number is too small or too large. The message says what is allowed.",
     R"(import optim
optim.SGD([ones(1).requires_grad_()], lr=-1.0))",
     R"(import optim
optim.SGD([ones(1).requires_grad_()], lr=0.1))"},
}};

}  // namespace

std::span<const ErrorCode> values_codes() { return kValuesCodes; }

}  // namespace kiln::lang
