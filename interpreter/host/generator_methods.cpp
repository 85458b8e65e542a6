// Methods of iterators that are generators: close send throw.
#include <fmt/format.h>

#include "interpreter/vm/arguments.h"
#include "interpreter/vm/generator.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/tables.h"

namespace kiln::interp {
namespace {

using Args = std::span<Value>;

Generator& generator_of(const Value& self, std::string_view method) {
  const Iterator& iterator = self.as<Iterator>();
  if (iterator.generator == nullptr) {
    raise("TypeError",
          fmt::format("{}: only generators can, this is an iterator of `{}`", method, iterator.name),
          "a generator is the call of a function with `yield`");
  }
  return *iterator.generator;
}

Value close(Interpreter& interpreter, Args a) {
  generator_of(a[0], "close").close(interpreter.impl().vm);
  return {};
}

Value send(Interpreter& interpreter, Args a) {
  Value item;
  if (generator_of(a[0], "send").next(interpreter.impl().vm, a[1], item)) return item;
  raise("ValueError", "send: the generator has ended");
}

Value throw_into(Interpreter& interpreter, Args a) {
  Value item;
  if (generator_of(a[0], "throw").throw_into(interpreter.impl().vm, a[1], item)) return item;
  raise("ValueError", "throw: the generator has ended");
}

constexpr NativeDef kGeneratorMethodsMethods[] = {
    {"close(self)",
     "Ends a generator where it stands: what a `finally` or a `with` around its `yield` has to do is done "
     "now.\n"
     ">>> fn letters() { try { yield \"a\"; yield \"b\" } finally { print(\"done\") } }\n"
     ">>> it = letters()\n>>> next(it)\n'a'\n>>> it.close()\ndone\n>>> list(it)\n[]",
     close},
    {"send(self, value)",
     "The next value of a generator, whose `x = yield e` gets this one. It must have come to a `yield`, by "
     "`next`.\n"
     ">>> fn total() { sum = 0; while true { x = yield sum; sum += x } }\n"
     ">>> it = total()\n>>> next(it)\n0\n>>> it.send(3); it.send(4)\n7",
     send},
    {"throw(self, error)",
     "The next value of a generator at whose `yield` this error is thrown, as `throw` does it.\n"
     ">>> fn careful() { while true { try { yield 1 } catch e { yield e.message } } }\n"
     ">>> it = careful()\n>>> next(it)\n1\n>>> it.throw(\"no\")\n'no'",
     throw_into},
};

}  // namespace

std::span<const NativeDef> generator_methods() { return kGeneratorMethodsMethods; }

}  // namespace kiln::interp
