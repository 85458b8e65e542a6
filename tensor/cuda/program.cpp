#include "tensor/cuda/program.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "tensor/code_store.h"
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
};
// Never destroyed: the driver ends before static variables do.
Programs& programs() {
  static auto* const all = new Programs;
  return *all;
}

// A sum over the headers that programs include, in place of their text, which is long. Two sums of FNV-1a
// with different starts.
std::string digest_of_headers() {
  std::uint64_t first = 0xcbf29ce484222325U, second = 0x84222325cbf29ce4U;
  const auto add = [&](unsigned value) {
    first = (first ^ value) * 0x100000001b3U;
    second = (second ^ (value + 0x9e37U)) * 0x100000001b3U;
  };
  for (std::size_t i = 0; i < kKernelHeaderCount; ++i) {
    for (const char* const text : {kKernelHeaders[i].name, kKernelHeaders[i].text}) {
      for (const char* at = text; *at != 0; ++at) add(static_cast<unsigned char>(*at));
      add(256);  // an end: two texts are not one
    }
  }
  return fmt::format("{:016x}{:016x}", first, second);
}

// All that decides the code.
std::string key_of(const std::string& text, int capability) {
  static const std::string headers = digest_of_headers();
  std::string key = fmt::format("cuda {} sm_{} {}", to_string(nvrtc().version), capability, headers);
  for (const std::string& each : compile_options(capability)) key += " " + each;
  return key + "\n" + text;
}

Result load(Module& module, const std::string& code) {
  return driver().api.cuModuleLoadDataEx(&module.handle, code.data(), 0, nullptr, nullptr);
}

// Code that was kept may be of no use to this driver: then it is made anew.
void make(Context& context, Module& module, const std::string& text) {
  const int capability = context.card().capability;
  const CodeStore kept = code_store();
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

}  // namespace kiln::cuda
