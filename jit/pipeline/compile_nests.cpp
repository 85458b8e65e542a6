#include "jit/pipeline/compile_nests.h"

#include <algorithm>
#include <map>

#include "jit/loops/code_key.h"
#include "jit/pipeline/code_cache.h"
#include "tensor/detached_call.h"
#include "tensor/error.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"
#include "tensor/timeline.h"

namespace kiln::jit {
namespace {

using Module = std::span<const ScheduledNest>;
using LoadedModule = std::shared_ptr<const LoadedCode>;

// Empty when code is not kept.
std::string key_on_disk(const Target& target, Module nests) {
  if (has_code_store()) return code_key(nests, "", target.processor());
  if (code_cache_bytes() == 0) return "";
  const std::string compiler = target.compiler();
  return compiler.empty() ? "" : code_key(nests, compiler, target.processor());
}

// Null when there is none on disk with a function for each nest.
LoadedModule kept_code(const Target& target, const std::string& key, std::size_t nests) {
  if (key.empty()) return nullptr;
  const timeline::Span span(timeline::Kind::Compile, "code kept on disk");
  const std::optional<std::string> object = cached_code(key);
  if (!object) return nullptr;
  try {
    LoadedModule code = target.load(*object);
    for (std::size_t i = 0; i < nests; ++i) static_cast<void>(code->function(i));
    return code;
  } catch (const InternalError&) {  // what it needs is not here
    return nullptr;
  }
}

std::size_t lines_of(const LoopNest& nest) {
  return nest.body.size() + nest.stores.size() + nest.reductions.size() + nest.columns.size();
}
std::size_t lines_of(Module nests) {
  std::size_t lines = 0;
  for (const ScheduledNest& each : nests) lines += lines_of(*each.nest);
  return lines;
}

// Copies of the nests of a module, for a thread that may outlive them.
struct OwnNests {
  explicit OwnNests(Module of) {
    for (const ScheduledNest& each : of) {
      nests.push_back(*each.nest);
      schedules.push_back(*each.schedule);
    }
    for (std::size_t k = 0; k < nests.size(); ++k) module.push_back({&nests[k], &schedules[k]});
  }
  std::vector<LoopNest> nests;
  std::vector<NestSchedule> schedules;
  std::vector<ScheduledNest> module;
};

// Of a module that takes the compiler seconds, on a thread that Ctrl-C leaves behind.
std::string emitted_detached(const Target& target, Module nests) {
  const auto own = std::make_shared<const OwnNests>(nests);
  const auto object = std::make_shared<std::string>();
  run_detached([&target, own, object] { *object = target.emit(own->module, Product::Object, {}); });
  return std::move(*object);
}

LoadedModule made_code(const Target& target, Module nests, const std::string& key) {
  const timeline::Span span(timeline::Kind::Compile, "code of kernels");
  constexpr std::size_t kLong = 200;  // lines, some 50 ms
  const std::string object =
      lines_of(nests) > kLong ? emitted_detached(target, nests) : target.emit(nests, Product::Object, {});
  if (!key.empty()) keep_code(key, object);
  return target.load(object);
}

// The first nest, and those that join it.
Module joined_from(Module nests) {
  std::size_t count = 1;
  while (count < nests.size() && nests[count].schedule->joins) ++count;
  return nests.first(count);
}

// Neighbours together, about as much for each thread.
std::vector<Module> modules_of(const Target& target, Module nests) {
  const std::size_t all = lines_of(nests);
  const auto threads = static_cast<std::size_t>(num_threads());
  const std::size_t most = has_code_store() ? 0 : std::min(target.lines_at_once, ceil_divide(all, threads));
  std::vector<Module> modules;
  std::size_t begin = 0, lines = 0;
  for (std::size_t k = 0; k < nests.size(); ++k) {
    lines += lines_of(*nests[k].nest);
    const bool is_last = k + 1 == nests.size();
    if (!is_last && (lines < most || nests[k + 1].schedule->joins)) continue;
    modules.push_back(nests.subspan(begin, k + 1 - begin));
    begin = k + 1;
    lines = 0;
  }
  return modules;
}

// Nests that are all different.
CompiledNests compile_all(const Target& target, Module nests) {
  const std::vector<Module> modules = modules_of(target, nests);
  Codes code(modules.size());
  std::vector<std::string> keys;
  std::vector<std::size_t> missing;
  for (std::size_t k = 0; k < modules.size(); ++k) {
    keys.push_back(key_on_disk(target, modules[k]));
    code[k] = kept_code(target, keys[k], modules[k].size());
    if (code[k] == nullptr) missing.push_back(k);
  }
  std::size_t kernels = 0;
  for (const std::size_t k : missing) kernels += modules[k].size();
  const timeline::Parts progress(static_cast<int>(kernels));
  parallel_for(static_cast<std::int64_t>(missing.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (const std::size_t k :
         std::span(missing).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))) {
      check_interrupt();
      code[k] = made_code(target, modules[k], keys[k]);
      progress.are_done(static_cast<int>(modules[k].size()));
    }
  });
  CompiledNests made;
  for (std::size_t k = 0; k < modules.size(); ++k) {
    for (std::size_t i = 0; i < modules[k].size(); ++i) made.functions.push_back(code[k]->function(i));
  }
  made.code = std::make_shared<const Codes>(std::move(code));
  return made;
}

}  // namespace

CompiledNests compile_nests(const Target& target, std::span<const ScheduledNest> nests) {
  std::map<std::string, std::size_t> known;  // where among the distinct ones equal nests begin
  std::vector<ScheduledNest> distinct;
  std::vector<std::size_t> code_of;
  for (std::size_t begin = 0; begin < nests.size();) {
    const Module unit = joined_from(nests.subspan(begin));
    const auto [found, is_new] = known.try_emplace(code_key(unit, "", ""), distinct.size());
    if (is_new) distinct.insert(distinct.end(), unit.begin(), unit.end());
    for (std::size_t k = 0; k < unit.size(); ++k) code_of.push_back(found->second + k);
    begin += unit.size();
  }
  CompiledNests compiled = compile_all(target, distinct);
  std::vector<void*> functions;
  for (const std::size_t code : code_of) functions.push_back(compiled.functions[code]);
  compiled.functions = std::move(functions);
  return compiled;
}

}  // namespace kiln::jit
