#include "jit/cpu/target.h"

#include <fmt/format.h>

#include "jit/cpu/compiler.h"
#include "jit/cpu/kernel.h"
#include "jit/cpu/kernel_notes.h"
#include "jit/cpu/object.h"
#include "jit/cpu/schedule.h"

namespace kiln::jit {
namespace {

constexpr KernelLimits kLimits{
    .work = 2048,             // up to here an addition takes no longer than in short kernels
    .values = 24,             // the places of tensors fit the registers
    .kept_bytes = 32 * 1024,  // of a near cache
    // Larger products do not stay in a near cache until the next node reads them.
    .epilogue_bytes = 1 << 20,
    // Fewer elements stay in cache from their computation to a sum down the columns, and the eager sum has
    // less to set up.
    .column_elements = 1 << 20,
    .short_row = kInterleavedRow,
    .few_rows = 8,
    // Zen 4, f64: stencils of 5 loads and 5 additions, and what reads them, with and without the value
    // between.
    .passing = {.near_bytes = 512 * 1024, .near = 8, .far_bytes = 16 << 20, .far = 16, .memory = 60},
};

// Setting a module of LLVM up costs as much as compiling one or two nests does.
constexpr std::size_t kLinesOfModule = 256;

// Every row of the op table has a body in bitcode or an eager kernel to call. Gather loads are read by
// cpu::GatherReader, from tensors of the result's dtype.
std::string why_not(const Graph& graph, const Node& node) {
  if (node.op->lowering.as<lowering::Gather>() == nullptr) return "";
  const Type& result = graph.values[static_cast<std::size_t>(node.outputs[0])].type;
  for (const Operand& each : node.operands) {
    if (each.is_number()) return fmt::format("{} of a number", node.op->name());
    if (!each.is_value()) continue;
    const Type& type = graph.values[static_cast<std::size_t>(each.value)].type;
    const bool is_index = is_integer(type.dtype) && node.op->may_fail();
    if (type.is_number || (type.dtype != result.dtype && !is_index))
      return fmt::format("{} converts what it reads", node.op->name());
  }
  return "";
}

std::shared_ptr<const LoadedCode> load(std::string_view object) { return Code::load(object); }

}  // namespace

const Target& cpu_target() {
  static constexpr Target kTarget{
      .name = "cpu",
      .limits = kLimits,
      .lines_at_once = kLinesOfModule,
      .source_comment = ";",
      .assembly_comment = "#",
      .why_not = why_not,
      .schedule = schedule_for_cpu,
      .emit = emit_with_llvm,
      .load = load,
      .launch = make_kernel,
      .compiler = llvm_build,
      .processor = llvm_processor,
      .note = note_kernels,
  };
  return kTarget;
}

}  // namespace kiln::jit
