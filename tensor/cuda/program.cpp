#include "tensor/cuda/program.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "tensor/cuda/compile.h"
#include "tensor/cuda/kernel_headers.h"
#include "tensor/error.h"

namespace kiln::cuda {
namespace {

// What is loaded on one card.
struct Module {
  std::mutex mutex;  // of compiling and loading it
  ModuleHandle handle = nullptr;
  std::map<std::string, FunctionHandle> functions;
};

struct Programs {
  std::mutex mutex;
  std::map<std::pair<int, std::string>, std::shared_ptr<Module>> modules;  // by card and text
  CodeStore store;
};
// Never destroyed: the driver ends before static variables do.
Programs& programs() {
  static auto* const all = new Programs;
  return *all;
}

// All that decides the code.
std::string key_of(const std::string& text, int capability) {
  std::string key = fmt::format("cuda {} sm_{}", to_string(nvrtc().version), capability);
  for (const std::string& each : compile_options(capability)) key += " " + each;
  for (std::size_t i = 0; i < kKernelHeaderCount; ++i) key += std::string("\n") + kKernelHeaders[i].text;
  return key + "\n" + text;
}

CodeStore store() {
  const std::lock_guard lock(programs().mutex);
  return programs().store;
}

Result load(Module& module, const std::string& code) {
  return driver().api.cuModuleLoadDataEx(&module.handle, code.data(), 0, nullptr, nullptr);
}

// Code that was kept may be of no use to this driver: then it is made anew.
void make(Context& context, Module& module, const std::string& text) {
  const int capability = context.card().capability;
  const CodeStore kept = store();
  const std::string key = kept.find ? key_of(text, capability) : "";
  if (kept.find) {
    const std::optional<std::string> code = kept.find(key);
    if (code && load(module, *code) == kSuccess) return;
  }
  const std::string code = compiled(text, capability, CodeForm::Cubin);
  context.check("cuModuleLoadDataEx", load(module, code));
  if (kept.keep) kept.keep(key, code);
}

std::shared_ptr<Module> module_of(Context& context, const std::string& text) {
  std::shared_ptr<Module> module;
  {
    const std::lock_guard lock(programs().mutex);
    std::shared_ptr<Module>& place = programs().modules[{context.device().index, text}];
    if (place == nullptr) place = std::make_shared<Module>();
    module = place;
  }
  const std::lock_guard lock(module->mutex);
  if (module->handle == nullptr) make(context, *module, text);
  return module;
}

}  // namespace

FunctionHandle function_of(Context& context, const std::string& text, const std::string& name) {
  const std::shared_ptr<Module> module = module_of(context, text);
  const std::lock_guard lock(module->mutex);
  FunctionHandle& function = module->functions[name];
  if (function == nullptr)
    context.check("cuModuleGetFunction",
                  driver().api.cuModuleGetFunction(&function, module->handle, name.c_str()));
  return function;
}

void compile_for_cards_in_use(const std::string& text) {
  for (std::size_t index = 0; index < kMostCards; ++index) {
    const Device device{Device::Kind::Cuda, static_cast<std::int8_t>(index)};
    if (Context::made_for(device) != nullptr) module_of(Context::of(device), text);
  }
}

std::string ptx_of(const std::string& text, int capability) {
  return compiled(text, capability, CodeForm::Ptx);
}

void use_code_store(CodeStore given) {
  const std::lock_guard lock(programs().mutex);
  programs().store = std::move(given);
}

}  // namespace kiln::cuda
