#include "tests/dist/controllers.h"

#include <cstring>
#include <exception>
#include <stdexcept>
#include <thread>

#include "tensor/host_view.h"

namespace kiln::testing {

void expect(bool holds, const char* condition) {
  if (!holds) throw std::runtime_error(std::string("this does not hold: ") + condition);
}

void on_controllers(int n, const dist::Controller::Options& options,
                    const std::function<void(dist::Controller&, int rank)>& body) {
  std::vector<std::unique_ptr<dist::Controller>> controllers;
  for (auto& transport : dist::make_thread_transports(n))
    controllers.push_back(std::make_unique<dist::Controller>(std::move(transport), options));
  std::vector<std::exception_ptr> errors(controllers.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < controllers.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(*controllers[rank], static_cast<int>(rank));
      } catch (...) {
        errors[rank] = std::current_exception();
      }
      controllers[rank]->leave();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

void on_controllers(int n, const std::function<void(dist::Controller&, int rank)>& body) {
  on_controllers(n, {}, body);
}

Tensor tensor_of(const std::vector<double>& values, std::vector<std::int64_t> sizes, DType dtype) {
  const Tensor x = Tensor::empty(Dims(sizes.begin(), sizes.end()), dtype, Device{});
  const WritableHostView view(x);
  visit_dtype(dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, Half>) {
        view.as<T>()[i] = to_half(static_cast<float>(values[i]));
      } else if constexpr (std::is_same_v<T, BFloat16>) {
        view.as<T>()[i] = to_bfloat16(static_cast<float>(values[i]));
      } else {
        view.as<T>()[i] = static_cast<T>(values[i]);
      }
    }
  });
  return x;
}

std::vector<double> values_of(const Tensor& x) {
  const HostView view(x, DType::F64);
  return {view.as<double>(), view.as<double>() + x.numel().fixed()};
}

Collective allreduce_of(Tensor x, std::string name, ReduceOp op) {
  Collective collective;
  collective.input = std::move(x);
  collective.op = op;
  collective.name = std::move(name);
  collective.place = "train.kiln:4";
  return collective;
}

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const OpError& error) {
    return std::string(name(error.kind())) + ": " + error.message();
  }
  return "";
}

}  // namespace kiln::testing
