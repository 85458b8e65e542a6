#include "interpreter/host/abstract_call.h"

#include "interpreter/capture/stages.h"
#include "interpreter/host/pytree.h"
#include "interpreter/interpreter.h"
#include "jit/graph/trace.h"
#include "tensor/autograd.h"
#include "tensor/op.h"
#include "tensor/symbolic_run.h"
#include "tensor/view.h"

namespace kiln::interp::host {
namespace {

// Rules of types in the place of kernels.
class Types final : public kiln::StandIn {
 public:
  kiln::Tensors run(const kiln::Op& op, kiln::Inputs inputs, const kiln::Attrs& attrs) override {
    if (op.view != nullptr) return kiln::apply_view(op, inputs[0], attrs);
    if (op.call != nullptr) return op.call(op, inputs, attrs);
    return kiln::jit::results_without_elements(op, inputs, attrs);
  }
  // Only elements would change.
  void write(const kiln::Op&, kiln::Inputs, const kiln::Attrs&) override {}
};

Value without_elements(const Value& tree) {
  return map_tensors(tree, [](const kiln::Tensor& x) {
    return Value(kiln::Tensor::without_elements(x.sizes(), x.dtype(), x.device()));
  });
}

class NothingCompiled {
 public:
  NothingCompiled() { set_compiling(false); }
  ~NothingCompiled() { set_compiling(before_); }
  NothingCompiled(const NothingCompiled&) = delete;
  NothingCompiled& operator=(const NothingCompiled&) = delete;

 private:
  bool before_ = compiling();
};

}  // namespace

Value call_without_elements(Interpreter& interpreter, const Value& f, std::span<const Value> positional,
                            std::span<const std::pair<std::string_view, Value>> named) {
  Types types;
  const kiln::SymbolicRun run(&types);
  const kiln::GradMode off(false);
  const NothingCompiled interpreted;
  std::vector<Value> given;
  for (const Value& each : positional) given.push_back(without_elements(each));
  std::vector<NamedArgument> by_name;
  for (const auto& [name, value] : named) by_name.push_back({name, without_elements(value)});
  return interpreter.call(f, given, by_name);
}

}  // namespace kiln::interp::host
