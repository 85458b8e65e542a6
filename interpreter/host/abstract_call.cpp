#include "interpreter/host/abstract_call.h"

#include <fmt/format.h>

#include "interpreter/check/heap.h"
#include "interpreter/check/types_only.h"
#include "interpreter/host/pytree.h"
#include "interpreter/interpreter.h"
#include "interpreter/shadow.h"
#include "interpreter/values/unknown.h"
#include "interpreter/vm/impl.h"
#include "tensor/autograd.h"

namespace kiln::interp::host {
namespace {

Value without_elements(const Value& tree) {
  return map_tensors(tree, [](const kiln::Tensor& x) {
    return Value(kiln::Tensor::without_elements(x.sizes(), x.dtype(), x.device()));
  });
}

// Puts back what the program held, and leaves the calls that were cut.
class Undone {
 public:
  Undone(Interpreter& interpreter, const Value& f)
      : vm_(interpreter.impl().vm), frame_(vm_.frame()), heap_(roots(interpreter, f), prelude(interpreter)) {}
  ~Undone() {
    if (vm_.frame() > frame_) vm_.leave_frames(frame_ + 1);
    heap_.put_back();
  }
  Undone(const Undone&) = delete;
  Undone& operator=(const Undone&) = delete;

 private:
  static std::vector<Value> roots(Interpreter& interpreter, const Value& f) {
    std::vector<Value> roots = check::values_in_use(interpreter.impl().vm);
    roots.push_back(interpreter.impl().main);
    roots.push_back(f);
    return roots;
  }
  static const Object* prelude(Interpreter& interpreter) { return interpreter.impl().prelude.object(); }

  Vm& vm_;
  Frame* frame_;
  check::Heap heap_;
};

}  // namespace

Value call_without_elements(Interpreter& interpreter, const Value& f, std::span<const Value> positional,
                            std::span<const std::pair<std::string_view, Value>> named) {
  const shadow::Check silent;
  const check::TypesOnly types(check::Elements::Kept);
  const kiln::GradMode off(false);
  std::vector<Value> given;
  for (const Value& each : positional) given.push_back(without_elements(each));
  std::vector<NamedArgument> by_name;
  for (const auto& [name, value] : named) by_name.push_back({name, without_elements(value)});
  const Undone undone(interpreter, f);
  try {
    // A copy: what the program holds in the result is put back, too.
    return map_tensors(interpreter.call(f, given, by_name), [](const kiln::Tensor& x) { return Value(x); });
  } catch (const Unknowable& unknowable) {
    raise("CaptureError", "what this call gives is not known without running it: " + unknowable.reason);
  }
}

}  // namespace kiln::interp::host
