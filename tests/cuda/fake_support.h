// Owns calling the fake libraries as the product does, in a process of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor/cuda/api.h"
#include "tests/cuda/child.h"

namespace kiln::testing {

// Gives what is written where it does not hold.
#define KILN_MUST(...) \
  if (!(__VA_ARGS__)) return #__VA_ARGS__;

// Runs f with the driver's table in a process of its own; f gives "" where all is right, else what is not.
std::string with_driver(const Variables& variables,
                        const std::function<std::string(const cuda::DriverApi&)>& f);
// The same with the context of the first card.
std::string with_context(const Variables& variables,
                         const std::function<std::string(const cuda::DriverApi&)>& f);

// The three libraries, with the context of the first card. A call that fails where it must not
// throws.
struct Cuda {
  cuda::DriverApi api;
  cuda::NvrtcApi nvrtc;
  cuda::CublasLtApi cublaslt;

  struct Program {
    cuda::NvrtcResult result;
    std::string log, code;
  };
  Program compile(const std::string& text, const std::vector<std::string>& more_options = {},
                  const std::vector<std::pair<std::string, std::string>>& headers = {}) const;
  // The kernel `name` of a text that compiles.
  cuda::FunctionHandle kernel(const std::string& text, const std::string& name = "f") const;

  // Memory of the card with these elements.
  template <class T>
  cuda::Address on_card(const std::vector<T>& elements) const {
    return bytes_on_card(elements.data(), elements.size() * sizeof(T));
  }
  // What is there once the work so far is done.
  template <class T>
  std::vector<T> read(cuda::Address address, std::size_t count) const {
    std::vector<T> elements(count);
    read_bytes(elements.data(), address, count * sizeof(T));
    return elements;
  }

  struct Sizes {
    unsigned blocks = 1, threads = 1, shared = 0;
    cuda::StreamHandle stream = nullptr;
  };
  template <class... T>
  cuda::Result launch(cuda::FunctionHandle f, Sizes sizes, T... values) const {
    void* pointers[] = {static_cast<void*>(&values)..., nullptr};
    return api.cuLaunchKernel(f, sizes.blocks, 1, 1, sizes.threads, 1, 1, sizes.shared, sizes.stream,
                              pointers, nullptr);
  }
  // What the work gives in the end.
  template <class... T>
  cuda::Result run(cuda::FunctionHandle f, Sizes sizes, T... values) const {
    const cuda::Result result = launch(f, sizes, values...);
    return result == cuda::kSuccess ? api.cuStreamSynchronize(sizes.stream) : result;
  }

 private:
  cuda::Address bytes_on_card(const void* bytes, std::size_t count) const;
  void read_bytes(void* to, cuda::Address address, std::size_t count) const;
};
std::string with_cuda(const Variables& variables, const std::function<std::string(const Cuda&)>& f);

// What f writes to stderr.
std::string stderr_of(const std::function<void()>& f);

}  // namespace kiln::testing
