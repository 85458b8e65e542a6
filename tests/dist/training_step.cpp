#include "tests/dist/training_step.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "dist/launch/rank.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tests/dist/controllers.h"
#include "tests/tensor/tensors.h"

namespace kiln::testing {
namespace {

// Of a network of five layers, whose weights take between 400 bytes and 256 KiB.
std::vector<Tensor> gradients_of_batch(int rank) {
  const std::vector<std::int64_t> widths{5, 20, 256, 256, 33, 3};
  std::vector<Tensor> parameters;
  Tensor x = noise({8, widths.front()}, DType::F32, 100 + rank);
  for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
    const int seed = static_cast<int>(2 * layer);
    const Tensor weight = noise({widths[layer + 1], widths[layer]}, DType::F32, seed, -0.3, 0.3);
    const Tensor bias = noise({widths[layer + 1]}, DType::F32, seed + 1, -0.1, 0.1);
    for (const Tensor& each : {weight, bias}) {
      set_requires_grad(each, true);
      parameters.push_back(each);
    }
    x = ops::tanh(ops::linear(x, weight, bias));
  }
  return grads({ops::mean(x * x)}, parameters);
}

void pause(std::mt19937& random) {
  std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<>(0, 1500)(random)));
}

std::string bytes_of(const Tensor& x) {
  const HostView view(x);
  return {reinterpret_cast<const char*>(view.as<float>()),
          static_cast<std::size_t>(x.numel().fixed()) * sizeof(float)};
}

}  // namespace

std::string hash_of_step(dist::Controller& ranks, int rank, unsigned order) {
  const std::vector<Tensor> gradients = gradients_of_batch(rank);
  std::mt19937 random(1000 * order + static_cast<unsigned>(rank));
  std::vector<std::size_t> places(gradients.size());
  std::iota(places.begin(), places.end(), 0);
  std::ranges::shuffle(places, random);
  std::vector<std::uint64_t> tickets(gradients.size());
  for (const std::size_t i : places) {
    if (random() % 2 == 0) pause(random);
    tickets[i] = ranks.start({allreduce_of(gradients[i], "parameter " + std::to_string(i))});
  }
  std::string bytes;
  for (const std::uint64_t ticket : tickets) bytes += bytes_of(ranks.wait(ticket)[0]);
  return dist::hash_of(bytes);
}

std::string hash_of_orders(dist::Controller& ranks, int rank, unsigned orders) {
  const std::string first = hash_of_step(ranks, rank, 0);
  for (unsigned order = 1; order < orders; ++order) {
    if (hash_of_step(ranks, rank, order) != first)
      throw std::runtime_error("order " + std::to_string(order) + " of arrival gives other bits");
  }
  return first;
}

}  // namespace kiln::testing
