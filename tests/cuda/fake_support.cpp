#include "tests/cuda/fake_support.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

namespace kiln::testing {
namespace {

using namespace kiln::cuda;

template <class Api>
void open(Api& api, const char* file) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  if (const std::string lacking = fill(api, library); !lacking.empty())
    throw std::runtime_error("it lacks " + lacking);
}

void must_succeed(const char* what, int result) {
  if (result != 0) throw std::runtime_error(std::string(what) + " gave " + std::to_string(result));
}

void start(const DriverApi& api) {
  ContextHandle context = nullptr;
  must_succeed("cuInit", api.cuInit(0));
  must_succeed("cuDevicePrimaryCtxRetain", api.cuDevicePrimaryCtxRetain(&context, 0));
  must_succeed("cuCtxSetCurrent", api.cuCtxSetCurrent(context));
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> all;
  for (const std::string& text : texts) all.push_back(text.c_str());
  return all;
}

}  // namespace

std::string with_driver(const Variables& variables, const std::function<std::string(const DriverApi&)>& f) {
  return in_child(variables, [&] {
    DriverApi api;
    open(api, KILN_FAKE_CUDA);
    return f(api);
  });
}

std::string with_context(const Variables& variables, const std::function<std::string(const DriverApi&)>& f) {
  return with_driver(variables, [&](const DriverApi& api) {
    start(api);
    return f(api);
  });
}

std::string with_cuda(const Variables& variables, const std::function<std::string(const Cuda&)>& f) {
  return in_child(variables, [&] {
    Cuda cuda;
    open(cuda.api, KILN_FAKE_CUDA);
    open(cuda.nvrtc, KILN_FAKE_NVRTC);
    open(cuda.cublaslt, KILN_FAKE_CUBLASLT);
    start(cuda.api);
    return f(cuda);
  });
}

Cuda::Program Cuda::compile(const std::string& text, const std::vector<std::string>& more_options,
                            const std::vector<std::pair<std::string, std::string>>& headers) const {
  std::vector<std::string> options = {"--gpu-architecture=sm_90", "--fmad=false", "-std=c++20",
                                      "-default-device", "--minimal"};
  options.insert(options.end(), more_options.begin(), more_options.end());
  std::vector<std::string> names, texts;
  for (const auto& [name, header] : headers) {
    names.push_back(name);
    texts.push_back(header);
  }
  NvrtcProgram program = nullptr;
  must_succeed("nvrtcCreateProgram",
               nvrtc.nvrtcCreateProgram(&program, text.c_str(), "test.cu", static_cast<int>(headers.size()),
                                        pointers(texts).data(), pointers(names).data()));
  Program compiled;
  compiled.result =
      nvrtc.nvrtcCompileProgram(program, static_cast<int>(options.size()), pointers(options).data());
  std::size_t bytes = 0;
  must_succeed("nvrtcGetProgramLogSize", nvrtc.nvrtcGetProgramLogSize(program, &bytes));
  compiled.log.resize(bytes);
  must_succeed("nvrtcGetProgramLog", nvrtc.nvrtcGetProgramLog(program, compiled.log.data()));
  compiled.log.pop_back();
  if (compiled.result == kNvrtcSuccess) {
    must_succeed("nvrtcGetCUBINSize", nvrtc.nvrtcGetCUBINSize(program, &bytes));
    compiled.code.resize(bytes);
    if (bytes > 0) must_succeed("nvrtcGetCUBIN", nvrtc.nvrtcGetCUBIN(program, compiled.code.data()));
  }
  must_succeed("nvrtcDestroyProgram", nvrtc.nvrtcDestroyProgram(&program));
  return compiled;
}

FunctionHandle Cuda::kernel(const std::string& text, const std::string& name) const {
  const Program program = compile(text);
  if (program.result != kNvrtcSuccess) throw std::runtime_error(program.log);
  ModuleHandle module = nullptr;
  FunctionHandle function = nullptr;
  must_succeed("cuModuleLoadDataEx",
               api.cuModuleLoadDataEx(&module, program.code.data(), 0, nullptr, nullptr));
  must_succeed("cuModuleGetFunction", api.cuModuleGetFunction(&function, module, name.c_str()));
  return function;
}

Address Cuda::bytes_on_card(const void* bytes, std::size_t count) const {
  Address address = 0;
  must_succeed("cuMemAlloc_v2", api.cuMemAlloc_v2(&address, count));
  must_succeed("cuMemcpyHtoDAsync_v2", api.cuMemcpyHtoDAsync_v2(address, bytes, count, nullptr));
  must_succeed("cuCtxSynchronize", api.cuCtxSynchronize());
  return address;
}

void Cuda::read_bytes(void* to, Address address, std::size_t count) const {
  must_succeed("cuCtxSynchronize", api.cuCtxSynchronize());
  must_succeed("cuMemcpyDtoHAsync_v2", api.cuMemcpyDtoHAsync_v2(to, address, count, nullptr));
  must_succeed("cuCtxSynchronize", api.cuCtxSynchronize());
}

std::string stderr_of(const std::function<void()>& f) {
  std::FILE* const file = std::tmpfile();
  const int before = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  f();
  dup2(before, STDERR_FILENO);
  close(before);
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

}  // namespace kiln::testing
