#include "interpreter/capture/stages.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "interpreter/capture/compiled.h"
#include "interpreter/capture/flow/report.h"
#include "interpreter/capture/hot.h"
#include "interpreter/capture/loops.h"
#include "interpreter/capture/own_pass.h"
#include "interpreter/values/hooked_call.h"
#include "interpreter/vm/impl.h"
#include "jit/passes/run_recipe.h"
#include "jit/pipeline/fused_text.h"
#include "tensor/backend.h"

namespace kiln::interp {
namespace {

bool is_compiling = true;

using capture::Compiled;
using capture::Entry;
using capture::Place;

const Code* code_of(const Value& function) {
  const Value* f = &called_by(function);
  if (f->is(Tag::Method)) f = &f->as<Method>().function;
  while (f->is(Tag::Instance)) {
    const Value* call = called_of(f->as<Instance>());
    if (call == nullptr) return nullptr;
    f = call;
  }
  return f->is(Tag::Function) ? f->as<Function>().code : nullptr;
}

const Compiled* compiled_of(const Value& function) {
  const Code* code = code_of(function);
  return code == nullptr ? nullptr : code->compiled.get();
}

// The compiled code of a function; for `none`, all hot code at top level.
std::vector<const Code*> compiled_code(Interpreter& interpreter, const Value& function) {
  if (const Code* code = code_of(function))
    return code->compiled ? std::vector{code} : std::vector<const Code*>();
  std::vector<const Code*> all;
  if (!function.is_none()) return all;
  for (const auto& code : interpreter.impl().vm.hot()) {
    if (code->name.empty()) all.push_back(code.get());
  }
  return all;
}

std::string place_text(const Code& code, std::size_t pc) {
  const lang::Span span = code.span(pc);
  if (span.file == nullptr) return code.name;
  return fmt::format("{}:{}", span.file->name(), span.file->locate(span.begin).line);
}

template <class F>
void each_entry(const Compiled& compiled, F&& f) {
  for (const auto& [where, place] : compiled.places) {
    for (const auto& entry : place->entries) f(*entry);
    for (const auto& entry : place->unrolled) f(*entry);
  }
}

}  // namespace

std::vector<EntryInfo> entries_of(Interpreter& interpreter, const Value& function) {
  std::vector<EntryInfo> infos;
  for (const Code* code : compiled_code(interpreter, function)) {
    each_entry(*code->compiled, [&](const Entry& entry) {
      jit::Graph captured = entry.with_guards();
      infos.push_back({place_text(*entry.frames[0].first, entry.frames[0].second), captured.guards,
                       entry.hits, static_cast<std::int64_t>(entry.code_bytes()), captured});
    });
  }
  return infos;
}

namespace {

// The tops of loops that are compiled by iterations, or as a whole.
std::set<std::size_t> compiled_loops(const Compiled& compiled) {
  std::set<std::size_t> tops(compiled.loops.begin(), compiled.loops.end());
  for (const auto& [top, place] : compiled.flows) tops.insert(top);
  return tops;
}

std::string loop_place(const Code& code, std::size_t top) {
  return place_text(code, code.loops().at(top)->end - 1);
}

void add_loops(const Code& code, std::vector<HotLoop>& into) {
  for (const std::size_t top : compiled_loops(*code.compiled)) {
    const capture::Loop loop = *code.loops().at(top);
    HotLoop hot;
    hot.place = loop_place(code, top);
    for (const auto& [where, place] : code.compiled->places) {
      if (where.first != &code || !loop.contains(where.second)) continue;
      for (const auto* entries : {&place->unrolled, &place->entries}) {
        hot.entries += static_cast<std::int64_t>(entries->size());
        for (const auto& entry : *entries) hot.code_bytes += static_cast<std::int64_t>(entry->code_bytes());
      }
      if (where.second == top) hot.iterations = place->reached;
    }
    const std::vector<std::size_t>& loops = code.compiled->loops;
    hot.by_trips = std::count(loops.begin(), loops.end(), top) > 0;
    hot.was_left = !code.is_marked(top);
    if (const auto flows = code.compiled->flows.find(top); flows != code.compiled->flows.end())
      capture::add_flows(*flows->second, hot);
    if (hot.entries == 0 && !hot.forms.empty()) hot.by_trips = false;
    into.push_back(std::move(hot));
  }
  capture::add_loop_nodes(*code.compiled, into);
}

}  // namespace

std::vector<FlowInfo> flows_of(Interpreter& interpreter, const Value& function) {
  std::vector<FlowInfo> infos;
  for (const Code* code : compiled_code(interpreter, function)) {
    for (const auto& [top, place] : code->compiled->flows) {
      for (FlowInfo& each : capture::infos_of(*place, loop_place(*code, top)))
        infos.push_back(std::move(each));
    }
  }
  return infos;
}

namespace {

void add_note(CompileInfo& info, const std::string& note) {
  if (!note.empty() && std::count(info.notes.begin(), info.notes.end(), note) == 0)
    info.notes.push_back(note);
}

// Notes places whose graphs are not worth kernels yet.
void add_waiting(const Compiled& compiled, CompileInfo& info) {
  for (const auto& [where, place] : compiled.places) {
    const std::string where_text = place_text(*where.first, where.second);
    if (!place->given_up.empty())
      add_note(info, fmt::format("it is the interpreter's again at {}: {}", where_text, place->given_up));
    if (place->reached >= place->due || place->entries.empty()) continue;
    add_note(info,
             place->due == capture::kNever
                 ? fmt::format(
                       "its graph at {} is the interpreter's: few ops on few elements take less time there",
                       where_text)
                 : fmt::format(
                       "its graph at {} is the interpreter's until its kernels are worth compiling: it came "
                       "there {} of {} times",
                       where_text, place->reached, place->due));
  }
}

void add_info(const Code& code, CompileInfo& info) {
  const Compiled& compiled = *code.compiled;
  each_entry(compiled, [&](const Entry& entry) {
    ++info.entries;
    info.graphs += entry.captured.nodes.empty() ? 0 : 1;
    add_note(info, entry.note);
    if (!entry.note_of_calls) return;
    std::istringstream lines(entry.note_of_calls());
    for (std::string line; std::getline(lines, line);) add_note(info, line);
  });
  add_waiting(compiled, info);
  if (const auto& stop = compiled.too_long)
    add_note(info, fmt::format("capture gave it up at {}:{}: {}", stop->file, stop->line, stop->reason));
  info.compiles += compiled.compiles;
  info.hits += compiled.hits;
  for (const capture::Stop& each : compiled.breaks)
    info.breaks.push_back({each.reason, each.file, each.line});
  info.recompiles.insert(info.recompiles.end(), compiled.recompiles.begin(), compiled.recompiles.end());
  add_loops(code, info.loops);
}

}  // namespace

CompileInfo compile_info_of(Interpreter& interpreter, const Value& function) {
  CompileInfo info;
  for (const Code* code : compiled_code(interpreter, function)) add_info(*code, info);
  return info;
}

bool compiling() { return is_compiling; }
void set_compiling(bool on) { is_compiling = on; }

void reset_compiled(Interpreter& interpreter, const Value& function) {
  const Code* code = code_of(function);
  if (code != nullptr && code->compiled) capture::reset(*code->compiled);
  if (function.is_none()) capture::reset_all();
  if (code != nullptr || function.is_none()) interpreter.impl().vm.cool_down(code);
}

namespace {

bool ends_at(const Entry& entry, const capture::Stop& stop) {
  return entry.break_reason == stop.reason && entry.break_file == stop.file && entry.break_line == stop.line;
}

// The graphs and breaks of a call in their order; a break at which no entry ends is a part of its own.
std::vector<CapturedGraph> in_stretches(const Compiled& compiled) {
  std::vector<CapturedGraph> parts;
  auto next = compiled.in_order.begin();
  const auto end = compiled.in_order.end();
  const auto take_until = [&](auto last) {
    for (; next != last; ++next) {
      const Entry& entry = **next;
      if (entry.captured.nodes.empty() && entry.break_reason.empty()) continue;
      jit::Graph captured = entry.with_guards();
      parts.push_back({captured, captured.guards, entry.break_reason, entry.break_file, entry.break_line,
                       entry.recorded, 1, entry.given, entry.generator, entry.taped, entry.differentiated});
    }
  };
  for (const capture::Stop& stop : compiled.breaks) {
    const auto found = std::find_if(next, end, [&](const Entry* each) { return ends_at(*each, stop); });
    if (found != end) {
      take_until(found + 1);
    } else {
      parts.push_back({{}, {}, stop.reason, stop.file, stop.line, {}, 1, {}, {}, true, false});
    }
  }
  take_until(end);
  return parts;
}

}  // namespace

namespace {

std::function<jit::Graph(jit::Graph)> edit_by(Interpreter& interpreter, const std::vector<OwnPass>& passes) {
  if (passes.empty()) return {};
  return [&interpreter, passes](jit::Graph graph) {
    for (const OwnPass& each : passes) graph = capture::run_own(interpreter, each, graph);
    return graph;
  };
}

}  // namespace

// Calls a copy of the function that has no entries.
std::vector<CapturedGraph> capture_call(Interpreter& interpreter, const Value& function,
                                        std::span<const Value> positional,
                                        std::span<const std::pair<std::string_view, Value>> named,
                                        Value& result) {
  capture::CompileOptions options;
  options.backend = capture::kAsCaptured;
  if (const Compiled* before = compiled_of(function)) options.dynamic = before->options.dynamic;
  const Value f = capture::recompiled(interpreter, function, options);
  std::vector<NamedArgument> with_names;
  for (const auto& [name, value] : named) with_names.push_back({name, value});
  {
    struct Compiling {
      bool before = std::exchange(is_compiling, true);
      ~Compiling() { is_compiling = before; }
    } asked_for;
    result = interpreter.call(f, positional, with_names);
  }
  std::vector<CapturedGraph> parts = in_stretches(*compiled_of(f));
  const Compiled* const before = compiled_of(function);
  for (CapturedGraph& each : parts) {
    if (before == nullptr) break;
    each.memory_budget = before->options.memory_budget;
    each.edit = edit_by(interpreter, before->options.own_passes);
  }
  return parts;
}

namespace {

std::string outcome_text(std::int64_t entries, std::int64_t calls, const std::vector<capture::Stop>& breaks) {
  if (entries > 0) return fmt::format("compiled, {} entr{}", entries, entries == 1 ? "y" : "ies");
  if (calls == 0) return "not called since";
  return "not compiled: " + (breaks.empty() ? "it runs no tensor ops" : breaks.front().reason);
}

std::string loop_outcome(const HotLoop& loop, const std::vector<capture::Stop>& breaks) {
  if (!loop.forms.empty()) return "runs as " + loop.forms.front();
  if (loop.was_left) return "then left to the interpreter";
  return outcome_text(loop.entries, loop.iterations, breaks);
}

}  // namespace

std::vector<HotFunction> hot_functions(Interpreter& interpreter) {
  std::vector<HotFunction> all;
  for (const auto& code : interpreter.impl().vm.hot()) {
    const Compiled& compiled = *code->compiled;
    std::vector<HotLoop> loops;
    add_loops(*code, loops);
    if (compiled.from_start) {
      std::int64_t entries = 0, bytes = 0;
      each_entry(compiled, [&](const Entry& each) {
        ++entries;
        bytes += static_cast<std::int64_t>(each.code_bytes());
      });
      for (const HotLoop& each : loops) {
        entries -= each.entries;
        bytes -= each.code_bytes;
      }
      all.push_back({code->name, place_text(*code, 0), compiled.calls, false, bytes,
                     outcome_text(entries, compiled.calls, compiled.breaks)});
    }
    for (HotLoop& each : loops) {
      if (!each.by_trips && each.forms.empty()) continue;
      all.push_back({code->name.empty() ? "a loop" : "a loop of " + code->name, std::move(each.place),
                     each.iterations, true, each.code_bytes + each.flow_bytes,
                     loop_outcome(each, compiled.breaks)});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const HotFunction& a, const HotFunction& b) { return a.calls > b.calls; });
  return all;
}

namespace {

jit::Graph before_kernels(const jit::Graph& captured) {
  return run_recipe(jit::recipes::kFewerSteps, run_recipe(jit::recipes::kWithoutWrites, captured));
}

// The reasons why values go through memory between kernels of the entries, each once.
std::vector<std::string> apart_in(const Compiled& compiled) {
  std::vector<std::string> sentences;
  if (compiled.options.backend != "fused") return sentences;
  for (const Entry* entry : compiled.in_order) {
    for (std::string& each : jit::why_not_fused(before_kernels(entry->captured))) {
      if (std::find(sentences.begin(), sentences.end(), each) == sentences.end())
        sentences.push_back(std::move(each));
    }
  }
  return sentences;
}

// The ops of the entries that the host computes for another device, each once.
std::vector<std::string> on_host_in(const Compiled& compiled) {
  std::vector<std::string> sentences;
  for (const Entry* entry : compiled.in_order) {
    const jit::Graph graph = before_kernels(entry->captured);
    for (const jit::Node& node : graph.nodes) {
      if (node.op == nullptr || node.outputs.empty()) continue;
      const Device device = graph.values[static_cast<std::size_t>(node.outputs[0])].type.device;
      const std::string_view reason = why_on_host(*node.op, device);
      if (reason.empty()) continue;
      std::string sentence = fmt::format("operands of {} go from {} to the host, and results come back: {}",
                                         node.op->name(), to_string(device), reason);
      if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end())
        sentences.push_back(std::move(sentence));
    }
  }
  return sentences;
}

}  // namespace

namespace {

// How a loop is compiled by iterations; empty where it is not.
std::string trips_sentence(const HotLoop& loop) {
  const bool runs_whole = !loop.forms.empty() && loop.entries == 0;
  if (!loop.by_trips || runs_whole) return "";
  if (loop.was_left)
    return fmt::format("its loop at {} was left to the interpreter after {} trips", loop.place,
                       loop.iterations);
  return fmt::format("its loop at {} is compiled by trips: {} of them, {} {}", loop.place, loop.iterations,
                     loop.entries, loop.entries == 1 ? "entry" : "entries");
}

}  // namespace

namespace {

// The first ones, each on a line behind an end of line, and how many there are beside them.
std::string recompile_sentences(const std::vector<Recompile>& recompiles) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t k = 0; k < std::min(recompiles.size(), kShown); ++k) {
    const Recompile& each = recompiles[k];
    text += fmt::format("\nit was compiled again: {} was {}, is {}", each.guard, each.was, each.now);
  }
  if (recompiles.size() > kShown)
    text += fmt::format("\nand {} more times, which `compile_info(f).recompiles` lists",
                        recompiles.size() - kShown);
  return text;
}

}  // namespace

std::string why(Interpreter& interpreter, const Value& function) {
  const Code* code = code_of(function);
  if (code == nullptr && !function.is_none()) return "it is no function of the program";
  if (!is_compiling) return "nothing is compiled until `set_compile(true)`, or the end of no_compile";
  if (code != nullptr && code->never_compiled) return "it is marked @eager, and is never compiled";
  const CompileInfo info = compile_info_of(interpreter, function);
  if (info.compiles == 0 && info.breaks.empty() && info.loops.empty() && info.notes.empty()) {
    return function.is_none() ? "nothing at top level was compiled: no loop has run long enough"
                              : "it was not compiled: it has not been called often enough";
  }
  std::string text = fmt::format("{} {}, {} hit{}", info.entries, info.entries == 1 ? "entry" : "entries",
                                 info.hits, info.hits == 1 ? "" : "s");
  for (const HotLoop& each : info.loops) {
    for (const std::string& sentence : capture::flow_sentences(each)) text += "\n" + sentence;
    if (const std::string sentence = trips_sentence(each); !sentence.empty()) text += "\n" + sentence;
  }
  for (const Code* each : compiled_code(interpreter, function))
    for (const auto& [place, reason] : each->compiled->declined_loops)
      text += fmt::format("\nits loop at {} is no node of its graph: {}", place, reason);
  for (const GraphBreak& each : info.breaks)
    text += fmt::format("\nit breaks at {}:{}: {}", each.file, each.line, each.reason);
  for (const std::string& each : info.notes) text += "\n" + each;
  text += recompile_sentences(info.recompiles);
  for (const Code* each : compiled_code(interpreter, function)) {
    for (const std::string& sentence : apart_in(*each->compiled)) text += "\n" + sentence;
    for (const std::string& sentence : on_host_in(*each->compiled)) text += "\n" + sentence;
  }
  return text;
}

}  // namespace kiln::interp
