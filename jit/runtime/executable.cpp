#include "jit/runtime/executable.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/graph/collectives.h"
#include "jit/graph/evaluate.h"
#include "jit/loops/kernel_op.h"
#include "jit/runtime/call.h"
#include "jit/shape_rules.h"

namespace kiln::jit {
namespace {

constexpr std::size_t kRemembered = 1024;  // tuples of symbol values, as many as a loop may have trips

std::uint64_t hash_of(const SymbolValues& symbols) {
  std::uint64_t hash = 0;
  for (const auto& [symbol, value] : symbols)
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15U;
  return hash;
}

// Where the graph computes, if it computes at one device beside the host.
std::unique_ptr<RepeatedCall> repeated_call(const Graph& graph) {
  const auto there = std::ranges::find_if(
      graph.values, [](const Value& each) { return !each.type.is_number && !is_on_host(each.type.device); });
  return there == graph.values.end() ? nullptr : backend_of(there->type.device).repeated_call();
}

}  // namespace

Executable::Executable(Graph graph, bool takes_arguments)
    : graph_(std::move(graph)),
      program_(make_program(graph_, takes_arguments)),
      has_collectives_(has_collectives(graph_)),
      bound_(program_) {
  refuse_without_code(graph_);
  at_hints_ = std::make_shared<const Specialization>(specialize(graph_.hints));
  latest_ = at_hints_;
}

std::shared_ptr<const Executable> Executable::make(Graph graph) {
  return std::shared_ptr<const Executable>(new Executable(std::move(graph), false));
}
std::shared_ptr<const Executable> Executable::make_taking(Graph graph) {
  return std::shared_ptr<const Executable>(new Executable(std::move(graph), true));
}

Specialization Executable::specialize(const SymbolValues& symbols) const {
  Specialization made;
  made.symbols = symbols;
  made.misfit = check_shapes(graph_, symbols);
  if (!made.misfit.empty()) return made;
  const bool shares = at_hints_ && at_hints_->misfit.empty();
  for (std::size_t k = 0; k < program_.applications.size(); ++k) {
    const Program::Application& each = program_.applications[k];
    if (shares && !has_symbols(each.attrs)) {
      made.attrs.push_back(at_hints_->attrs[k]);
    } else {
      made.own.push_back(std::make_unique<const Attrs>(evaluate(*each.op, each.attrs, symbols)));
      made.attrs.push_back(made.own.back().get());
    }
  }
  for (const Type& type : program_.bases) made.bases.push_back(evaluate(type.sizes, symbols));
  for (const Program::Prebuilt& each : program_.prebuilt) {
    made.prebuilt.push_back(each.operand.is_number() ? number_tensor(each.operand.number, symbols)
                                                     : each.constant);
  }
  made.repeated = repeated_call(graph_);
  return made;
}

Executable::Shared Executable::specialized(const SymbolValues& symbols) const {
  if (graph_.hints.empty()) return at_hints_;
  const std::lock_guard lock(mutex_);
  if (latest_->symbols == symbols) return latest_;
  Shared& found = known_[hash_of(symbols)];
  if (!found || found->symbols != symbols)
    found = std::make_shared<const Specialization>(specialize(symbols));
  latest_ = found;
  if (known_.size() > kRemembered) known_.clear();
  return latest_;
}

std::string Executable::misfit(const SymbolValues& symbols) const { return specialized(symbols)->misfit; }

Tensors Executable::run(Inputs arguments, const SymbolValues& symbols, Progress* progress) const {
  Progress ignored;
  return run(arguments, nullptr, symbols, progress != nullptr ? *progress : ignored);
}

namespace {

// The interpreter does not do such a call again, so the error says where it comes from.
Tensors run_with_ranks(Call& call, const Progress& progress) {
  try {
    return call.run();
  } catch (const OpError& error) {
    if (progress.node == nullptr || progress.node->place.file.empty()) throw;
    const Place& place = progress.node->place;
    throw OpError(error.kind(), error.message(), {},
                  fmt::format("{}{}compiled code came to it at {}:{}:{}", error.help(),
                              error.help().empty() ? "" : "; ", place.file.get(), place.line, place.column));
  }
}

}  // namespace

Tensors Executable::run_taking(Tensors arguments, const SymbolValues& symbols) const {
  Progress ignored;
  return run(arguments, &arguments, symbols, ignored);
}

Tensors Executable::run(Inputs arguments, Tensors* taken, const SymbolValues& symbols,
                        Progress& progress) const {
  const Shared known = specialized(symbols);
  if (!known->misfit.empty()) throw OpError(ErrorKind::Capture, known->misfit);
  if (!program_.bases.empty()) check_bases(arguments);
  const BoundPrograms::Use bound = bound_.find(graph_, program_, *known, arguments);
  Call call(program_, *known, arguments, progress, bound.program());
  if (taken != nullptr) taken->clear();  // the call has them
  if (has_collectives_) return run_with_ranks(call, progress);
  if (known->repeated == nullptr) return call.run();
  Tensors results;
  known->repeated->run([&] { results = call.run(); });
  return results;
}

}  // namespace kiln::jit
