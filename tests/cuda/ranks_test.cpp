// Collectives of tensors on cards beside what the program gives these. Two threads are the ranks, each with a
// card.
#include <dlfcn.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dist/controller/controller.h"
#include "tensor/cuda/context.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tests/cuda/child.h"
#include "tests/cuda/fake/driver_door.h"

namespace kiln::ranks_test {

using namespace kiln::testing;

namespace {

// Work of a card that goes on until it is let go.
using Gate = std::atomic<bool>;

void hold(cuda::Context& context, Gate& gate) {
  void* const driver = dlopen(KILN_FAKE_CUDA, RTLD_NOW | RTLD_NOLOAD);
  const auto give = reinterpret_cast<fake::GiveForeignWork>(dlsym(driver, "kiln_fake_give"));
  const auto wait = [](void* data) -> const char* {
    while (!*static_cast<Gate*>(data)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return nullptr;
  };
  if (give(context.stream(), {wait, [](void*) {}, &gate}) != cuda::kSuccess)
    throw std::runtime_error("the stream takes no work");
}

Collective sum_of(const Tensor& x, const std::string& name) {
  Collective collective;
  collective.input = x;
  collective.name = name;
  return collective;
}

Tensor on_card(Device card, float value) {
  const Tensor x = Tensor::empty(Dims{5000}, DType::F32, Device{});
  {
    const WritableHostView view(x);
    std::fill_n(view.as<float>(), 5000, value);
  }
  return ops::to(x, card);
}

bool comes(dist::Controller& ranks, std::uint64_t ticket) {
  for (int tries = 0; tries < 10'000 && !ranks.is_done(ticket); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return ranks.is_done(ticket);
}

std::string run_rank(dist::Controller& ranks, int number) {
  const Device card = *device_named("cuda:" + std::to_string(number));
  const Tensor x = on_card(card, 1.5F);
  ranks.run(sum_of(x, "first"));  // which takes the memory that the next one works in
  Gate gate = false;
  const std::uint64_t ticket = ranks.start({sum_of(x, "second")});
  hold(cuda::Context::of(card), gate);
  const bool has_come = comes(ranks, ticket);
  gate = true;
  const Tensor sum = ranks.wait(ticket)[0];
  if (!has_come) return "it waits for the program's later work";
  const Tensor here = ops::to(sum, Device{});
  const HostView view(here);
  const bool is_right =
      std::all_of(view.as<float>(), view.as<float>() + 5000, [](float v) { return v == 3; });
  return is_right && sum.device() == card ? "" : "the sum is wrong";
}

}  // namespace

TEST_CASE("a collective waits for no work that the program gives its card after it", "[nccl]") {
  CHECK(in_child(fakes({{"KILN_FAKE_CARDS", "2"}}), [] {
          for (const char* const card : {"cuda:0", "cuda:1"}) parse_device(card);
          std::vector<std::unique_ptr<dist::Transport>> transports = dist::make_thread_transports(2);
          std::vector<std::string> said(2);
          std::vector<std::thread> threads;
          for (int number = 0; number < 2; ++number) {
            threads.emplace_back([&, number] {
              const auto place = static_cast<std::size_t>(number);
              dist::Controller ranks(std::move(transports[place]), {});
              said[place] = run_rank(ranks, number);
              ranks.leave();
            });
          }
          for (std::thread& each : threads) each.join();
          return said[0].empty() ? said[1] : said[0];
        }) == "");
}

}  // namespace kiln::ranks_test
