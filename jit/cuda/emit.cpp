#include "jit/cuda/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "jit/passes/target.h"
#include "tensor/compute.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {
namespace {

std::string number_text(double value) {
  if (std::isfinite(value)) return fmt::format("{:a}", value);
  return fmt::format("__builtin_bit_cast(double, {:#x}ULL)", std::bit_cast<std::uint64_t>(value));
}
// The least integer has no literal of its own.
std::string number_text(long long value) {
  return fmt::format("static_cast<long long>({:#x}ULL)", static_cast<std::uint64_t>(value));
}

// What is not as in every other application.
std::string params_text(const Params& params) {
  std::string values, numbers;
  for (int i = 0; i < 4; ++i) {
    const char* const comma = i == 0 ? "" : ", ";
    values += comma + number_text(params.v[i]);
    numbers += comma + number_text(params.n[i]);
  }
  std::string text;
  const auto all = [](const auto& of) {
    return std::all_of(std::begin(of), std::end(of),
                       [](auto each) { return std::bit_cast<std::uint64_t>(each) == 0; });
  };
  if (!all(params.v)) text += fmt::format(".v = {{{}}}, ", values);
  if (!all(params.n)) text += fmt::format(".n = {{{}}}, ", numbers);
  text += fmt::format(".largest = {}, .bits = {}", number_text(params.largest), params.bits);
  return params.integers == 0 ? text : text + fmt::format(", .integers = {}U", params.integers);
}

std::string constant_text(const Instruction& step) {
  const auto bits = static_cast<std::uint64_t>(step.bits);
  switch (step.dtype) {
    case DType::Bool:
      return bits != 0 ? "true" : "false";
    case DType::F64:
      return number_text(std::bit_cast<double>(bits));
    case DType::F32:
      return fmt::format("__builtin_bit_cast(float, {:#x}U)", static_cast<std::uint32_t>(bits));
    case DType::F16:
    case DType::BF16:
      return fmt::format("{}{{{:#x}}}", cuda_element(step.dtype), static_cast<std::uint16_t>(bits));
    default:
      return fmt::format("static_cast<{}>({:#x}ULL)", cuda_element(step.dtype), bits);
  }
}

class Emitter {
 public:
  Emitter(const LoopNest& nest, std::string symbol, bool marks)
      : nest_(nest), symbol_(std::move(symbol)), marks_(marks) {}

  std::string run() {
    line(0, "extern \"C\" __global__ void __launch_bounds__(256) {}(const Arguments<{}, {}, {}> given) {{",
         symbol_, operands(), nest_.reductions.size() + slots_of(nest_), nest_.numbers.size());
    line(1, "[[maybe_unused]] unsigned unused = 0;");
    if (fails()) line(1, "unsigned long long failed = 0;");
    nest_.row_rank > 0 ? rows() : elements();
    if (fails()) line(1, "if (failed != 0) refuse(given, __ffsll(failed) - 1);");
    line(0, "}}");
    return std::move(text_);
  }

 private:
  template <class... Arguments>
  void line(int depth, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') +
             fmt::format(text, std::forward<Arguments>(arguments)...) + "\n";
  }
  void mark(std::size_t of) {
    if (marks_) text_ += fmt::format("{}{}\n", kMark, of);
  }

  // Operands by number: loads, stores, where reductions go, results of earlier passes.
  std::size_t operands() const { return operands_of(nest_); }
  std::size_t store_operand(std::size_t k) const { return nest_.loads.size() + k; }
  std::size_t reduction_operand(std::size_t k) const { return operands() + k; }
  std::size_t slot_operand(std::size_t k) const { return operands() + nest_.reductions.size() + k; }

  bool fails() const {
    return std::any_of(nest_.body.begin(), nest_.body.end(),
                       [](const Instruction& each) { return each.failure >= 0; });
  }

  // One thread for each element.
  void elements() {
    instructions(1, "0", true);
    line(1, "for (Count i = first_thread(); i < given.length; i += all_threads()) {{");
    line(2, "Count at[{}];", operands());
    line(2, "places_at(given.inner, given.length, i, at);");
    instructions(2, "at", false);
    for (std::size_t k = 0; k < nest_.stores.size(); ++k) store(2, k, "at");
    line(1, "}}");
  }

  // One warp for each block of a row. Its lanes are those of the fixed order.
  void rows() {
    line(1, "const int lane = threadIdx.x % kLanes;");
    line(1, "const Count blocks = given.rows * given.blocks;");
    line(1, "for (Count unit = first_thread() / kLanes; unit < blocks; unit += all_threads() / kLanes) {{");
    line(2, "const Count row = unit / given.blocks, first = unit % given.blocks * kBlock;");
    line(2, "const Count end = given.length < first + kBlock ? given.length : first + kBlock;");
    line(2, "Count start[{0}], at[{0}];", operands());
    line(2, "places_at(given.outer, given.rows, row, start);");
    instructions(2, "start", true);
    for (std::size_t k = 0; k < nest_.reductions.size(); ++k) {
      line(2, "{0} total{1} = {2}::identity<{0}>();", cuda_element(nest_.reductions[k].accumulator), k,
           cuda_combine(nest_.reductions[k].combine));
    }
    loop_over_row();
    for (std::size_t k = 0; k < nest_.stores.size(); ++k) {
      if (!nest_.stores[k].per_row) continue;
      line(2, "if (first == 0 && lane == 0) {{");
      store(3, k, "start");
      line(2, "}}");
    }
    for (std::size_t k = 0; k < nest_.reductions.size(); ++k) finish(k);
    line(1, "}}");
  }

  void loop_over_row() {
    const bool stores = std::any_of(nest_.stores.begin(), nest_.stores.end(),
                                    [](const Store& each) { return !each.per_row; });
    if (!stores && nest_.reductions.empty()) return;
    line(2, "for (Count i = first + lane; i < end; i += kLanes) {{");
    line(3, "places_at(given.inner, given.length, i, at);");
    line(3, "for (int k = 0; k < {}; ++k) at[k] += start[k];", operands());
    instructions(3, "at", false);
    for (std::size_t k = 0; k < nest_.stores.size(); ++k) {
      if (!nest_.stores[k].per_row) store(3, k, "at");
    }
    for (std::size_t k = 0; k < nest_.reductions.size(); ++k) {
      const Reduction& each = nest_.reductions[k];
      mark(reduction_line(nest_, k));
      line(3, "total{0} = {1}::combine(total{0}, {2});", k, cuda_combine(each.combine),
           in(each.value, compute_of(each.accumulator)));
    }
    line(2, "}}");
  }

  void finish(std::size_t k) {
    mark(reduction_line(nest_, k));
    line(2, "total{0} = fold<{1}>(total{0});", k, cuda_combine(nest_.reductions[k].combine));
    line(2, "if (lane == 0) put(given.data[{}], unit, total{});", reduction_operand(k), k);
  }

  // Those that are the same for all elements, or for those of a row; or those that are not.
  void instructions(int depth, std::string_view places, bool invariant) {
    for (std::size_t i = 0; i < nest_.body.size(); ++i) {
      if (nest_.body[i].invariant == invariant) instruction(depth, i, places);
    }
  }

  void store(int depth, std::size_t k, std::string_view places) {
    mark(store_line(nest_, k));
    line(depth, "put(given.data[{0}], {1}[{0}], r{2});", store_operand(k), places, nest_.stores[k].value);
  }

  void instruction(int depth, std::size_t index, std::string_view places) {
    const Instruction& step = nest_.body[index];
    if (step.kind == Instruction::Kind::Apply && step.failure >= 0) {
      mark(index);
      line(depth, "unsigned bad{} = 0;", index);
    }
    mark(index);
    line(depth, "const {} r{} = {};", cuda_element(step.dtype), index, value(step, index, places));
    if (step.failure >= 0) line(depth, "if (bad{} != 0) failed |= 1ULL << {};", index, step.failure);
  }

  std::string value(const Instruction& step, std::size_t index, std::string_view places) const {
    switch (step.kind) {
      case Instruction::Kind::Read:
        return places == "0"
                   ? fmt::format("element<{}>(given.data[{}], 0)", cuda_element(step.dtype), step.index)
                   : fmt::format("element<{0}>(given.data[{1}], {2}[{1}])", cuda_element(step.dtype),
                                 step.index, places);
      case Instruction::Kind::Constant:
        return constant_text(step);
      case Instruction::Kind::Symbol:
        return fmt::format("given.numbers[{}]", step.index);
      case Instruction::Kind::Reduced:
        return fmt::format("element<{}>(given.data[{}], row)", cuda_element(step.dtype),
                           slot_operand(static_cast<std::size_t>(step.index)));
      case Instruction::Kind::Apply:
        return apply(step, index);
      case Instruction::Kind::Convert:
        break;
    }
    const Register from = step.operands[0];
    return fmt::format("scalar::convert<{}>({})", cuda_element(step.dtype),
                       in(from, compute_of(dtype(from))));
  }

  std::string apply(const Instruction& step, std::size_t index) const {
    const Pointwise& row = *step.op->pointwise;
    std::string operands;
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      const Register from = step.operands[k];
      operands +=
          (static_cast<int>(k) == row.mask ? fmt::format("r{}", from) : in(from, step.compute)) + ", ";
    }
    return fmt::format("scalar::convert<{}>(scalar::{}::apply({}Params{{{}}}, {}))", cuda_element(step.dtype),
                       cuda::row_name(row.row), operands, params_text(step.params),
                       step.failure >= 0 ? fmt::format("bad{}", index) : "unused");
  }

  // A register as the arithmetic reads it.
  std::string in(Register from, Compute compute) const {
    const std::string wide = fmt::format("scalar::widen(r{})", from);
    return compute_of(dtype(from)) == compute
               ? wide
               : fmt::format("scalar::convert<{}>({})", cuda::compute_name(compute), wide);
  }
  DType dtype(Register r) const { return nest_.body[static_cast<std::size_t>(r)].dtype; }

  const LoopNest& nest_;
  std::string symbol_;
  bool marks_;
  std::string text_;
};

}  // namespace

const char* cuda_element(DType dtype) { return cuda::element_name(dtype); }
const char* cuda_combine(cpu::Combine combine) { return cuda::combine_name(combine); }

std::size_t operands_of(const LoopNest& nest) {
  return std::max<std::size_t>(1, nest.loads.size() + nest.stores.size());
}

std::size_t slots_of(const LoopNest& nest) {
  int most = -1;
  for (const Instruction& each : nest.body)
    if (each.kind == Instruction::Kind::Reduced) most = std::max(most, each.index);
  return static_cast<std::size_t>(most + 1);
}

std::string cuda_text(std::span<const ScheduledNest> nests, bool marks) {
  std::string text =
      "#include \"tensor/cuda/kernels/nest.cuh\"\n\nusing namespace kiln;\nusing namespace kiln::cuda;\n";
  for (std::size_t k = 0; k < nests.size(); ++k)
    text += "\n" + Emitter(*nests[k].nest, kernel_symbol(k), marks).run();
  return text;
}

}  // namespace kiln::jit
