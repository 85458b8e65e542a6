#include "interpreter/capture/stages.h"

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/capture/compiled.h"
#include "interpreter/capture/hot.h"
#include "interpreter/impl.h"
#include "jit/fused_text.h"
#include "jit/pipeline.h"

namespace kiln::interp {
namespace {

using capture::Compiled;
using capture::Entry;
using capture::Place;

const Code* code_of(const Value& function) {
  const Value* f = &function;
  if (f->is(Tag::Method)) f = &f->as<Method>().function;
  if (f->is(Tag::Instance)) {
    const Value* call = f->as<Instance>().struct_type().method("call");
    if (call != nullptr) f = call;
  }
  return f->is(Tag::Function) ? f->as<Function>().code : nullptr;
}

const Compiled* compiled_of(const Value& function) {
  const Code* code = code_of(function);
  return code == nullptr ? nullptr : code->compiled.get();
}

std::string place_text(const Entry& entry) {
  const auto [code, place] = entry.frames.front();
  const lang::Span span = code->span(place);
  if (span.file == nullptr) return code->name;
  return fmt::format("{}:{}", span.file->name(), span.file->locate(span.begin).line);
}

template <class F>
void each_entry(const Compiled& compiled, F&& f) {
  for (const auto& [where, place] : compiled.places) {
    for (const auto& entry : place.entries) f(*entry);
  }
}

}  // namespace

std::vector<EntryInfo> entries_of(Interpreter&, const Value& function) {
  std::vector<EntryInfo> infos;
  const Compiled* compiled = compiled_of(function);
  if (compiled == nullptr) return infos;
  each_entry(*compiled, [&](const Entry& entry) {
    infos.push_back({place_text(entry), entry.captured.guards, entry.hits, entry.captured});
  });
  return infos;
}

CompileInfo compile_info_of(Interpreter&, const Value& function) {
  CompileInfo info;
  const Compiled* compiled = compiled_of(function);
  if (compiled == nullptr) return info;
  each_entry(*compiled, [&](const Entry& entry) {
    ++info.entries;
    info.graphs += entry.captured.nodes.empty() ? 0 : 1;
    if (!entry.note.empty() && std::count(info.notes.begin(), info.notes.end(), entry.note) == 0)
      info.notes.push_back(entry.note);
  });
  info.compiles = compiled->compiles;
  info.hits = compiled->hits;
  for (const capture::Stop& each : compiled->breaks)
    info.breaks.push_back({each.reason, each.file, each.line});
  info.recompiles = compiled->recompiles;
  return info;
}

namespace {

bool ends_at(const Entry& entry, const capture::Stop& stop) {
  return entry.break_reason == stop.reason && entry.break_file == stop.file && entry.break_line == stop.line;
}

// Entries and breaks are in the order in which they came about; a break that no entry ends at stands alone.
std::vector<CapturedGraph> in_stretches(const Compiled& compiled) {
  std::vector<CapturedGraph> parts;
  auto next = compiled.in_order.begin();
  const auto end = compiled.in_order.end();
  const auto take_until = [&](auto last) {
    for (; next != last; ++next) {
      const Entry& entry = **next;
      if (entry.captured.nodes.empty() && entry.break_reason.empty()) continue;
      parts.push_back({entry.captured, entry.captured.guards, entry.break_reason, entry.break_file,
                       entry.break_line, entry.recorded, 1});
    }
  };
  for (const capture::Stop& stop : compiled.breaks) {
    const auto found = std::find_if(next, end, [&](const Entry* each) { return ends_at(*each, stop); });
    if (found != end) {
      take_until(found + 1);
    } else {
      parts.push_back({{}, {}, stop.reason, stop.file, stop.line, {}, 1});
    }
  }
  take_until(end);
  return parts;
}

}  // namespace

// A copy of the function without what was compiled before, called once.
std::vector<CapturedGraph> capture_call(Interpreter& interpreter, const Value& function,
                                        std::span<const Value> positional,
                                        std::span<const std::pair<std::string_view, Value>> named) {
  capture::CompileOptions options;
  options.backend = capture::kAsCaptured;
  const Value f = capture::recompiled(interpreter, function, options);
  std::vector<NamedArgument> with_names;
  for (const auto& [name, value] : named) with_names.push_back({name, value});
  interpreter.call(f, positional, with_names);
  std::vector<CapturedGraph> parts = in_stretches(*compiled_of(f));
  if (const Compiled* before = compiled_of(function)) {
    for (CapturedGraph& each : parts) each.memory_budget = before->options.memory_budget;
  }
  return parts;
}

std::vector<HotFunction> hot_functions(Interpreter& interpreter) {
  std::vector<HotFunction> functions;
  for (const auto& code : interpreter.impl().vm.hot()) {
    HotFunction hot;
    hot.name = code->name;
    const lang::Span span = code->span(0);
    if (span.file != nullptr)
      hot.place = fmt::format("{}:{}", span.file->name(), span.file->locate(span.begin).line);
    std::int64_t entries = 0;
    if (code->compiled) {
      each_entry(*code->compiled, [&](const Entry&) { ++entries; });
      hot.calls = code->compiled->calls;
    }
    const std::vector<capture::Stop>* breaks = code->compiled ? &code->compiled->breaks : nullptr;
    if (entries > 0) {
      hot.outcome = fmt::format("compiled, {} entr{}", entries, entries == 1 ? "y" : "ies");
    } else if (breaks != nullptr && !breaks->empty()) {
      hot.outcome = "not compiled: " + breaks->front().reason;
    } else {
      hot.outcome = hot.calls == 0 ? "not called since" : "not compiled: it runs no tensor ops";
    }
    functions.push_back(std::move(hot));
  }
  std::stable_sort(functions.begin(), functions.end(),
                   [](const HotFunction& a, const HotFunction& b) { return a.calls > b.calls; });
  return functions;
}

namespace {

// Why values go through memory between kernels, in any of the entries; each reason once.
std::vector<std::string> apart_in(const Compiled& compiled) {
  std::vector<std::string> sentences;
  if (compiled.options.backend != "fused") return sentences;
  for (const Entry* entry : compiled.in_order) {
    for (std::string& each : jit::why_not_fused(jit::run_pipeline(entry->captured, false).back().graph)) {
      if (std::find(sentences.begin(), sentences.end(), each) == sentences.end())
        sentences.push_back(std::move(each));
    }
  }
  return sentences;
}

}  // namespace

std::string why(Interpreter& interpreter, const Value& function) {
  const Code* code = code_of(function);
  if (code == nullptr) return "it is no function of the program";
  if (code->never_compiled) return "it is marked @eager, and is never compiled";
  const CompileInfo info = compile_info_of(interpreter, function);
  if (info.compiles == 0 && info.breaks.empty())
    return "it was not compiled: it has not been called often enough";
  std::string text = fmt::format("{} {}, {} hit{}", info.entries, info.entries == 1 ? "entry" : "entries",
                                 info.hits, info.hits == 1 ? "" : "s");
  for (const GraphBreak& each : info.breaks)
    text += fmt::format("\nit breaks at {}:{}: {}", each.file, each.line, each.reason);
  for (const std::string& each : info.notes) text += "\n" + each;
  for (const Recompile& each : info.recompiles)
    text += fmt::format("\nit was compiled again: {} was {}, is {}", each.guard, each.was, each.now);
  for (const std::string& each : apart_in(*compiled_of(function))) text += "\n" + each;
  return text;
}

}  // namespace kiln::interp
