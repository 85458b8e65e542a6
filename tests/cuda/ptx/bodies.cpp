// Compares the bodies of elementwise rows as NVRTC compiles them with the ops on the CPU, to the bit. In two
// steps, between which check_bodies.py makes a library of each program:
//
//   cuda_bodies sources folder     writes the programs in CUDA C++: 0.cu, 1.cu, …
//   cuda_bodies compare folder     opens 0.so, 1.so, … and compares; shows each row and dtype that differs
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "tensor/host_view.h"
#include "tensor/ops/pointwise.h"
#include "tensor/ops/scalar.h"
#include "tests/cuda/fake/shim/abi.h"
#include "tests/cuda/ptx/inputs.h"
#include "tests/cuda/ptx/kernels.h"
#include "tests/tensor/tensors.h"

namespace kiln::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKernelsPerProgram = 36;
constexpr unsigned kThreadsPerBlock = 256;

// A kernel of a library that translate.py made, which runs the thread at the library's place.
struct Thread {
  void (*run)(void* const* arguments) = nullptr;
  KilnFakePlace* place = nullptr;
};

std::vector<std::vector<BodyKernel>> programs() {
  std::vector<std::vector<BodyKernel>> result;
  for (BodyKernel& kernel : body_kernels()) {
    if (result.empty() || result.back().size() == kKernelsPerProgram) result.emplace_back();
    result.back().push_back(std::move(kernel));
  }
  return result;
}

// ---- What the kernel gives ----

struct Computed {
  Tensor result;
  std::vector<unsigned char> bad;
};

void run_threads(Thread thread, long long count, void* const* arguments) {
  const auto blocks = static_cast<unsigned>((count + kThreadsPerBlock - 1) / kThreadsPerBlock);
  for (unsigned block = 0; block < blocks; ++block) {
    for (unsigned i = 0; i < kThreadsPerBlock; ++i) {
      *thread.place = {{i, 0, 0}, {block, 0, 0}, {kThreadsPerBlock, 1, 1}, {blocks, 1, 1}};
      thread.run(arguments);
    }
  }
}

Computed run_kernel(const BodyKernel& kernel, Thread thread, const std::vector<Tensor>& inputs,
                    Params params) {
  long long count = inputs[0].numel().hint();
  Computed computed{Tensor::empty(inputs[0].sizes(), kernel.result),
                    std::vector<unsigned char>(static_cast<std::size_t>(count), 2)};
  std::vector<HostView> views;
  for (const Tensor& input : inputs) views.emplace_back(input);
  const WritableHostView result(computed.result);
  std::memset(result.bytes(), 0x77, result.byte_count());
  std::vector<const void*> pointers;
  for (const HostView& view : views) pointers.push_back(view.bytes());
  pointers.push_back(result.bytes());
  pointers.push_back(computed.bad.data());
  std::vector<void*> arguments;
  for (const void*& pointer : pointers) arguments.push_back(static_cast<void*>(&pointer));
  arguments.push_back(&count);
  arguments.push_back(&params);
  run_threads(thread, count, arguments.data());
  return computed;
}

// ---- What the op gives ----

Tensor rows_of(const Tensor& x, std::span<const std::size_t> rows) {
  const Tensor result = Tensor::empty(Dims{static_cast<std::int64_t>(rows.size())}, x.dtype());
  const HostView from(x);
  const WritableHostView to(result);
  const std::size_t size = size_of(x.dtype());
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::memcpy(to.bytes() + i * size, from.bytes() + rows[i] * size, size);
  return result;
}

// None where the op says that an element is bad.
std::optional<Tensor> run_op(const Op& op, const Attrs& attrs, const std::vector<Tensor>& inputs,
                             std::span<const std::size_t> rows) {
  std::vector<Tensor> chosen;
  for (const Tensor& input : inputs) chosen.push_back(rows_of(input, rows));
  try {
    return run_eager(op, chosen, attrs)[0];
  } catch (const OpError& error) {
    if (error.kind() != ErrorKind::Value) throw;
    return std::nullopt;
  }
}

// ---- Comparison ----

std::string text_of_row(const std::vector<Tensor>& inputs, std::size_t row) {
  std::string text;
  for (const Tensor& input : inputs)
    text += fmt::format("{}{:a}", text.empty() ? "" : ", ",
                        static_cast<double>(element(input, static_cast<std::int64_t>(row))));
  return text;
}

// The first row that differs, and how many do; nothing where none does.
std::string differences(const std::vector<Tensor>& inputs, const Tensor& by_op, const Tensor& by_kernel,
                        std::span<const std::size_t> rows) {
  const HostView a(by_op), b(by_kernel);
  const std::size_t size = size_of(by_op.dtype());
  std::size_t count = 0;
  std::string first;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::memcmp(a.bytes() + i * size, b.bytes() + rows[i] * size, size) == 0) continue;
    const auto x = static_cast<double>(element(by_op, static_cast<std::int64_t>(i)));
    const auto y = static_cast<double>(element(by_kernel, static_cast<std::int64_t>(rows[i])));
    if (is_float(by_op.dtype()) && std::isnan(x) && std::isnan(y)) continue;
    if (count++ == 0)
      first = fmt::format("of ({}) {:a} by the op, {:a} by PTX", text_of_row(inputs, rows[i]), x, y);
  }
  return count == 0 ? "" : fmt::format("{} of {} elements differ: {}", count, rows.size(), first);
}

// What the kernel calls bad the op refuses, and nothing else.
std::string compare(const BodyKernel& kernel, Thread thread, const Attrs& attrs,
                    const std::vector<Tensor>& inputs) {
  const Op& op = *kernel.op;
  const Computed computed = run_kernel(kernel, thread, inputs, pointwise_params(op, attrs, kernel.dtype));
  std::vector<std::size_t> good, bad;
  for (std::size_t row = 0; row < computed.bad.size(); ++row) {
    if (computed.bad[row] > 1) return "the kernel left elements out";
    (computed.bad[row] == 0 ? good : bad).push_back(row);
  }
  constexpr std::size_t kTried = 20;
  for (std::size_t i = 0; i < bad.size(); i += bad.size() / kTried + 1) {
    if (run_op(op, attrs, inputs, std::span(bad).subspan(i, 1)))
      return fmt::format("({}) is bad by PTX, not by the op", text_of_row(inputs, bad[i]));
  }
  const std::optional<Tensor> by_op = run_op(op, attrs, inputs, good);
  if (!by_op) return "an element is bad by the op, none of these by PTX";
  if (by_op->dtype() != kernel.result) return "the op gives another dtype";
  return differences(inputs, *by_op, computed.result, good);
}

// How many rows and dtypes there are, and which of them differ.
struct Report {
  std::set<std::string> compared, different;
  std::set<int> rows;
  std::size_t kernels = 0, applications = 0, elements = 0;
};

Thread thread_of(void* library, const std::string& kernel) {
  const auto* const opened = static_cast<const KilnFakeLibrary*>(dlsym(library, "kiln_fake_library"));
  return {reinterpret_cast<void (*)(void* const*)>(dlsym(library, kernel.c_str())), opened->place};
}

void compare_kernel(const BodyKernel& kernel, void* library, Report& report) {
  const std::string what = fmt::format("{} of {}", kernel.row, name(kernel.dtype));
  const auto fail = [&](const std::string& why) {
    fmt::print("{}{}: {}\n", what, kernel.is_guarded ? ", guarded" : "", why);
    report.different.insert(what);
  };
  report.compared.insert(what);
  report.rows.insert(kernel.op->pointwise->row);
  ++report.kernels;
  const Thread thread = thread_of(library, kernel.name);
  if (thread.run == nullptr) return fail("there is no such kernel");
  const std::vector<Tensor> inputs = inputs_of(*kernel.op, kernel.dtype);
  for (const Attrs& attrs : kernel.attrs) {
    ++report.applications;
    report.elements += static_cast<std::size_t>(inputs[0].numel().hint());
    const std::string why = compare(kernel, thread, attrs, inputs);
    if (!why.empty()) return fail(why);
  }
}

int write_sources(const fs::path& folder) {
  std::size_t index = 0;
  for (const std::vector<BodyKernel>& program : programs()) {
    std::ofstream file(folder / fmt::format("{}.cu", index++));
    file << program_of(program);
    if (!file.flush()) return 1;
  }
  return 0;
}

int compare_all(const fs::path& folder) {
  Report report;
  std::size_t index = 0;
  for (const std::vector<BodyKernel>& program : programs()) {
    void* const library = dlopen((folder / fmt::format("{}.so", index++)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      fmt::print("{}\n", dlerror());
      return 1;
    }
    for (const BodyKernel& kernel : program) compare_kernel(kernel, library, report);
  }
  fmt::print(
      "{} of {} rows and dtypes are equal to the bit: {} rows, {} kernels, {} applications to {} elements\n",
      report.compared.size() - report.different.size(), report.compared.size(), report.rows.size(),
      report.kernels, report.applications, report.elements);
  const std::size_t left_out = std::size_t{kRowCount} - report.rows.size();
  if (left_out > 0) fmt::print("{} rows are in no kernel\n", left_out);
  return report.different.empty() && left_out == 0 ? 0 : 1;
}

}  // namespace
}  // namespace kiln::testing

int main(int argc, char** argv) {
  const std::string step = argc == 3 ? argv[1] : "";
  if (step == "sources") return kiln::testing::write_sources(argv[2]);
  if (step == "compare") return kiln::testing::compare_all(argv[2]);
  std::fputs("usage: cuda_bodies sources|compare folder\n", stderr);
  return 2;
}
