#include "jit/same_code.h"

#include <cstring>
#include <map>

namespace kiln::jit {
namespace {

// What the emitter reads of a nest, as bytes one after the other.
class Key {
 public:
  template <class T>
  Key& operator<<(const T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

void add(Key& key, const Instruction& step) {
  key << step.kind << step.dtype << step.invariant << step.index << step.bits << step.op << step.compute
      << step.failure << step.operands.size();
  for (const double each : step.params.v) key << each;
  key << step.params.largest << step.params.bits;
  for (const Register each : step.operands) key << each;
}

}  // namespace

std::string code_key(const LoopNest& nest) {
  Key key;
  key << (nest.row_rank > 0) << nest.loads.size() << nest.body.size() << nest.stores.size();
  for (const Load& each : nest.loads) key << each.dtype << each.invariant;
  for (const Instruction& each : nest.body) add(key, each);
  for (const Store& each : nest.stores) key << each.value << each.dtype << each.per_row;
  for (const Reduction& each : nest.reductions)
    key << each.value << each.combine << each.accumulator << each.slot;
  return key.take();
}

CompiledKernels compile_each_once(std::span<const LoopNest> nests) {
  std::map<std::string, std::size_t> known;
  std::vector<LoopNest> distinct;
  std::vector<std::size_t> code_of;
  for (const LoopNest& each : nests) {
    const auto [found, is_new] = known.try_emplace(code_key(each), distinct.size());
    if (is_new) distinct.push_back(each);
    code_of.push_back(found->second);
  }
  CompiledKernels compiled = compile(distinct);
  std::vector<KernelFn> functions;
  for (const std::size_t code : code_of) functions.push_back(compiled.functions[code]);
  compiled.functions = std::move(functions);
  return compiled;
}

}  // namespace kiln::jit
