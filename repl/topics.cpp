#include "repl/topics.h"

#include <array>

namespace kiln::repl {
namespace {

constexpr std::string_view kLanguage = R"(A statement ends at a newline or `;`. Blocks are in braces.

kiln> fn area(width, height = 1.0) { return width * height }
kiln> area(2, height=3.5)
7.0
kiln> square = x => x ** 2
kiln> [square(i) for i in range(5) if i != 2]
[0, 1, 9, 16]
kiln> total = 0
kiln> for i, word in enumerate(["a", "bc"]) { total += i * len(word) }
kiln> f"total {total:.2f}"
'total 2.00'
kiln> if total > 1 { print("large") } else { print("small") }
large

`x.f(a)` is a method or field f of x when there is one, else the call f(x, a).

kiln> [3, 1, 2].sorted().len()
3

Structs have fields and methods; `init` makes an instance, `call` makes it callable.

kiln> struct Point { x; y = 0  fn norm(self) = (self.x ** 2 + self.y ** 2) ** 0.5 }
kiln> Point(3, 4).norm()
5.0
)";

constexpr std::string_view kTensors = R"(A tensor prints as one summary line and its values.

kiln> x = tensor([[1.0, 2.0], [3.0, 4.0]])
kiln> x
f32[2, 2] cpu 16 B
[[1., 2.],
 [3., 4.]]
kiln> x.shape, x.dtype
((2, 2), f32)
kiln> x @ x + 1
kiln> x.sum(dim=0)

Slices are views: writing through them changes x. Masks and integer tensors pick copies.

kiln> x[:, 1] = 0
kiln> x[x > 2]
kiln> x[0].is_view()
true

Ops that end in `_` write in place.

kiln> x.mul_(10);
kiln> x.sum().item()
40.0
)";

constexpr std::string_view kGradients =
    R"(A tensor that requires a gradient records what is done with it; `backward` fills `grad`.

kiln> w = tensor([1.0, 2.0]).requires_grad_()
kiln> loss = (w * w).sum()
kiln> loss.backward()
kiln> w.grad
kiln> with no_grad() { w.sub_(0.1 * w.grad) }
kiln> grads((w ** 3).sum(), [w])
)";

constexpr std::string_view kModules =
    R"(`import` finds modules of the standard library by name and files by path.

kiln> import nn
kiln> model = nn.Linear(4, 2)
kiln> model(zeros(3, 4)).shape
(3, 2)
kiln> from nn import Linear
kiln> ?nn
)";

constexpr std::string_view kErrors =
    R"(An error shows the place, a caret under each operand, and at most one suggestion that works.
Every variable keeps its value. `:bt` shows the last error again, `:bt full` with every call, and
`:explain` tells what its code means, with an example.

kiln> try { [1, 2][5] } catch err { print(err.kind) }
IndexError
kiln> fn half(x) { assert x % 2 == 0, "x must be even"; return x // 2 }
kiln> half(10)
5
)";

constexpr std::string_view kKeys = R"(  Enter          runs a complete entry, else begins a new line of it
  Alt-Enter      begins a new line in any case
  Tab            completes names, fields, keyword arguments, files in strings and commands
  Right, End     at the end of the line take the grey hint from history
  Up, Down       move within an entry, then through the history of what begins as typed
  Ctrl-R         searches history backwards
  Ctrl-L         clears the terminal, but for the entry
  Ctrl-C         clears the entry; while a program runs, stops it
  Ctrl-D         on an empty line leaves

Keys follow readline: emacs by default, vi with `set editing-mode vi` in ~/.inputrc.
A pasted transcript with `kiln 18> `, `kiln> ` or `>>> ` prompts runs as if typed. `:set numbers off` leaves
the number of the entry out of the prompt.
~/.config/kiln/init.kiln runs first, after the settings that `:set` kept, unless `--no-init` is given.
)";

constexpr std::string_view kValues =
    R"(`_` is the value that was printed last, and `_18` that of entry 18, the number in the prompt: the value
itself and no copy, so that what was changed since is seen.

kiln> x = tensor([1.0, 2.0])
kiln> x * 2
f32[2] cpu 8 B
[2., 4.]
kiln> _ + 1
f32[2] cpu 8 B
[3., 5.]

They keep their memory, so they are kept for the last 200 values alone, and only while these hold at most
64 MiB together. The newest is kept in any case. A value with the history of a gradient, and one that holds a
function with variables of its own, an iterator or a file, is kept until the next one: give what you need a
name. `:show 18` shows an entry again, `:mem` what holds memory, `:reset` forgets all.
)";

constexpr std::array<Topic, 7> kTopics{{
    {"language", "values, functions, structs, control flow", kLanguage},
    {"tensors", "making, indexing, changing tensors", kTensors},
    {"gradients", "backward, grads, no_grad", kGradients},
    {"modules", "import and the standard library", kModules},
    {"errors", "reading an error, catching one", kErrors},
    {"values", "`_` and `_18`: the values of earlier entries", kValues},
    {"keys", "editing at the prompt", kKeys},
}};

}  // namespace

std::span<const Topic> topics() { return kTopics; }

}  // namespace kiln::repl
