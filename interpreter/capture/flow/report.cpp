#include "interpreter/capture/flow/report.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "jit/graph/loop.h"

namespace kiln::interp::capture {
namespace {

void add_exit(std::vector<LoopExit>& exits, const std::string& reason, std::int64_t count) {
  const auto known =
      std::find_if(exits.begin(), exits.end(), [&](const LoopExit& each) { return each.reason == reason; });
  if (known == exits.end()) {
    exits.push_back({reason, count});
  } else {
    known->count += count;
  }
}

constexpr std::string_view kNodeForm = "one node of its graph";

// The one at the place, which may be new.
HotLoop& loop_at(std::string place, std::vector<HotLoop>& loops) {
  const auto known =
      std::find_if(loops.begin(), loops.end(), [&](const HotLoop& each) { return each.place == place; });
  if (known != loops.end()) return *known;
  HotLoop made;
  made.place = std::move(place);
  made.by_trips = false;
  loops.push_back(std::move(made));
  return loops.back();
}

std::string times(std::int64_t count) { return count == 1 ? "once" : fmt::format("{} times", count); }

}  // namespace

void add_flows(const FlowPlace& place, HotLoop& loop) {
  for (const auto& entry : place.entries) {
    if (std::count(loop.forms.begin(), loop.forms.end(), entry->form) == 0) loop.forms.push_back(entry->form);
    loop.runs += entry->runs;
    loop.iterations += entry->trips;
    if (entry->differentiated) {
      loop.kept_bytes += entry->kept_bytes;
      loop.kept_iterations += entry->trips;
      for (const auto& [reason, count] : entry->differentiated->left_to_tape())
        add_exit(loop.op_by_op, reason, count);
    }
    loop.flow_bytes += static_cast<std::int64_t>(entry->code_bytes);
    for (std::size_t k = 0; k < entry->exits.size(); ++k) {
      if (entry->exits[k] > 0) add_exit(loop.exits, entry->loop.graph->exits[k].reason, entry->exits[k]);
    }
  }
  loop.is_pending = loop.is_pending || place.pending != nullptr;
  const std::string& reason = place.given_up.empty() ? place.latest_reason : place.given_up;
  if (loop.no_flow.empty()) loop.no_flow = reason;
  if (place.in_gradient) add_flows(*place.in_gradient, loop);
}

void add_loop_nodes(const Compiled& compiled, std::vector<HotLoop>& loops) {
  std::set<const jit::LoopTally*> seen;
  for (const Entry* entry : compiled.in_order) {
    for (const jit::Node& node : entry->captured.nodes) {
      const jit::LoopFunction* const function = node.is_constant() ? nullptr : jit::loop_function(*node.op);
      if (function == nullptr || !seen.insert(function->tally.get()).second) continue;
      HotLoop& loop = loop_at(fmt::format("{}:{}", node.place.file.get(), node.place.line), loops);
      if (std::count(loop.forms.begin(), loop.forms.end(), kNodeForm) == 0)
        loop.forms.emplace_back(kNodeForm);
      loop.runs += function->tally->runs;
      loop.iterations += function->tally->iterations;
    }
  }
}

std::vector<FlowInfo> infos_of(const FlowPlace& place, const std::string& where) {
  std::vector<FlowInfo> infos;
  for (const auto& entry : place.entries) {
    FlowInfo info;
    info.place = where;
    info.form = entry->form;
    for (const Guard& each : entry->loop.guards)
      info.guards.push_back(each.text(entry->loop.sources, entry->loop.exprs));
    info.runs = entry->runs;
    info.trips = entry->trips;
    info.code_bytes = static_cast<std::int64_t>(entry->code_bytes);
    info.text = jit::to_string(*entry->loop.graph);
    infos.push_back(std::move(info));
  }
  if (place.in_gradient) {
    for (FlowInfo& each : infos_of(*place.in_gradient, where)) infos.push_back(std::move(each));
  }
  return infos;
}

std::vector<std::string> flow_sentences(const HotLoop& loop) {
  std::vector<std::string> sentences;
  for (const std::string& form : loop.forms)
    sentences.push_back(fmt::format("its loop at {} runs as {}: {}, {} trips", loop.place, form,
                                    times(loop.runs), loop.iterations));
  if (loop.kept_iterations > 0)
    sentences.push_back(fmt::format("  it kept {} bytes for backward, {} an iteration", loop.kept_bytes,
                                    loop.kept_bytes / loop.kept_iterations));
  for (const LoopExit& each : loop.op_by_op)
    sentences.push_back(
        fmt::format("  it went back op by op on the tape {}: {}", times(each.count), each.reason));
  for (const LoopExit& each : loop.exits)
    sentences.push_back(fmt::format("  it left {} because {}", times(each.count), each.reason));
  if (loop.is_pending)
    sentences.push_back(fmt::format("its loop at {} is being made to machine code", loop.place));
  if (!loop.no_flow.empty())
    sentences.push_back(
        fmt::format("its loop at {} does not run as machine code: {}", loop.place, loop.no_flow));
  return sentences;
}

}  // namespace kiln::interp::capture
