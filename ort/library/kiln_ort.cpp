#include "ort/library/kiln_ort.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "ort/library/program.h"
#include "ort/library/python_abi.h"
#include "ort/library/runner.h"

namespace kiln::ort {
namespace {

// What `work` gives; `failed`, and the error's text, where it throws.
template <class Result, class Work>
Result guarded(char** error, Result failed, const Work& work) {
  try {
    return work();
  } catch (const std::exception& problem) {
    if (error != nullptr) *error = strdup(problem.what());
    return failed;
  }
}

// The program stands beside this library.
std::string own_executable() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&kiln_ort_start), &info) == 0 || info.dli_fname == nullptr)
    return "kiln_functions";
  const std::string file = info.dli_fname;
  return file.substr(0, file.rfind('/') + 1) + "kiln_functions";
}

// An object that tells the number of a constant, and that is there as long as the process: models refer to it
// by address.
std::int64_t address_of_constant(std::uint64_t number) {
  PyObject* const capsule = PyCapsule_New(reinterpret_cast<void*>(number + 1), kConstantName, nullptr);
  if (capsule == nullptr) throw std::bad_alloc();
  return reinterpret_cast<std::int64_t>(capsule);
}

std::unique_ptr<kiln_ort_model> load(const std::shared_ptr<kiln_ort_program>& program, const char* file) {
  const std::string told = program->process.ask(Writer().put(Request::Model).text(file));
  Reader answer(told);
  const auto first = answer.get<std::uint64_t>(), count = answer.get<std::uint64_t>();
  auto model = std::make_unique<kiln_ort_model>();
  model->functions.resize(answer.get<std::uint64_t>());
  for (auto& each : model->functions) {
    each.name = answer.text();
    each.infers_shape = answer.get<bool>();
  }
  for (const auto& each : model->functions) register_function(each.name, program);
  Writer addresses;
  addresses.put(Request::Addresses);
  for (std::uint64_t k = 0; k < count; ++k) addresses.put(address_of_constant(first + k));
  const std::string made = program->process.ask(addresses);
  model->bytes = Reader(made).text();
  return model;
}

}  // namespace
}  // namespace kiln::ort

using namespace kiln::ort;

kiln_ort_program* kiln_ort_start(const char* file, const char* executable, char** error) {
  return guarded<kiln_ort_program*>(error, nullptr, [&] {
    auto program =
        std::make_shared<kiln_ort_program>(executable != nullptr ? executable : own_executable(), file);
    kiln_ort_program* const handle = program.get();
    keep_program(std::move(program));
    return handle;
  });
}

void kiln_ort_stop(kiln_ort_program* program) { forget_program(program); }

kiln_ort_model* kiln_ort_load(kiln_ort_program* program, const char* file, char** error) {
  return guarded<kiln_ort_model*>(error, nullptr,
                                  [&] { return load(kept_program(program), file).release(); });
}

const char* kiln_ort_bytes(const kiln_ort_model* model, size_t* count) {
  *count = model->bytes.size();
  return model->bytes.data();
}
size_t kiln_ort_function_count(const kiln_ort_model* model) { return model->functions.size(); }
const char* kiln_ort_function(const kiln_ort_model* model, size_t index) {
  return model->functions.at(index).name.c_str();
}
int kiln_ort_infers_shape(const kiln_ort_model* model, size_t index) {
  return model->functions.at(index).infers_shape ? 1 : 0;
}
void kiln_ort_free_model(kiln_ort_model* model) { delete model; }

int64_t kiln_ort_live(kiln_ort_program* program, char** error) {
  return guarded<int64_t>(error, -1, [&] {
    const std::string told = kept_program(program)->process.ask(Writer().put(Request::Live));
    return static_cast<int64_t>(Reader(told).get<std::uint64_t>());
  });
}

char* kiln_ort_shapes(kiln_ort_program* program, const char* request, size_t size, size_t* count,
                      char** error) {
  return guarded<char*>(error, nullptr, [&] {
    const std::string told =
        kept_program(program)->process.ask(Writer().put(Request::Shapes).raw({request, size}));
    auto* const copy = static_cast<char*>(std::malloc(told.size()));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, told.data(), *count = told.size());
    return copy;
  });
}

size_t kiln_ort_forward_runner() { return reinterpret_cast<size_t>(&run_forward); }
size_t kiln_ort_backward_runner() { return reinterpret_cast<size_t>(&run_backward); }
void kiln_ort_free(char* text) { std::free(text); }
