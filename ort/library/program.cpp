#include "ort/library/program.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace kiln::ort {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<kiln_ort_program>> programs;
  std::map<std::string, std::shared_ptr<kiln_ort_program>> functions;
};

// It is never destroyed: capsules may be released while the process ends.
Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

}  // namespace

void register_function(const std::string& name, const std::shared_ptr<kiln_ort_program>& program) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> one(all.mutex);
  const auto [at, is_new] = all.functions.try_emplace(name, program);
  if (!is_new && at->second != program)
    throw std::runtime_error("two programs have a function " + name +
                             ", and the runtime tells functions apart "
                             "by name: stop one of them first");
}

std::shared_ptr<kiln_ort_program> program_of(const std::string& name) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> one(all.mutex);
  const auto at = all.functions.find(name);
  if (at != all.functions.end()) return at->second;
  throw std::runtime_error("no program has " + name + ": load the model with kiln_ort.load");
}

void keep_program(std::shared_ptr<kiln_ort_program> program) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> one(all.mutex);
  all.programs.push_back(std::move(program));
}

std::shared_ptr<kiln_ort_program> kept_program(kiln_ort_program* program) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> one(all.mutex);
  for (const auto& each : all.programs) {
    if (each.get() == program) return each;
  }
  throw std::runtime_error("the program was stopped");
}

void forget_program(kiln_ort_program* program) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> one(all.mutex);
  const auto is_it = [program](const auto& each) { return each.get() == program; };
  std::erase_if(all.functions, [&](const auto& each) { return is_it(each.second); });
  std::erase_if(all.programs, is_it);
}

}  // namespace kiln::ort
