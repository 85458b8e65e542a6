// A rank of a job for tests: joins it as the language does, and does what its first argument says.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dist/algorithms/reductions.h"
#include "dist/controller/controller.h"
#include "dist/launch/error_mark.h"
#include "dist/launch/rank.h"
#include "dist/launch/remote_command.h"
#include "tests/dist/training_step.h"
#include "tests/dist/transport_cases.h"

using namespace kiln::dist;

namespace {

Group group_of_all(Transport& transport) {
  Group group{transport, std::vector<int>(static_cast<std::size_t>(transport.size())),
              static_cast<std::size_t>(transport.rank()), 3};
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  return group;
}

// Sums `count` ones; throws where the sum is not the number of ranks.
void sum_ones(Transport& transport, std::size_t count) {
  std::vector<float> data(count, 1.0F);
  const auto bytes = std::as_writable_bytes(std::span(data));
  allreduce(group_of_all(transport), kiln::DType::F32, ReduceOp::Sum, bytes, bytes);
  const auto expected = static_cast<float>(transport.size());
  if (std::ranges::any_of(data, [&](float x) { return x != expected; }))
    throw std::runtime_error("a sum is wrong");
}

int run_cases(Membership& job, std::span<const std::string>) {
  for (const auto& test : kiln::testing::transport_cases()) {
    try {
      test.body(*job.transport);
    } catch (const std::exception& error) {
      std::printf("%s: %s: %s\n", job.transport->name().data(), test.name.data(), error.what());
      return 1;
    }
  }
  std::printf("%s works\n", job.transport->name().data());
  return 0;
}

// Sums until a rank is lost; one rank may do something to itself after a while.
int sum_forever(Membership& job, std::span<const std::string> arguments) {
  const auto begin = std::chrono::steady_clock::now();
  const bool is_victim = arguments.size() > 1 && arguments[0] == std::to_string(job.place.rank);
  for (;;) {
    sum_ones(*job.transport, 1000);
    const bool is_due = std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(300);
    if (is_due && is_victim && arguments[1] == "exit") _exit(7);
    if (is_due && is_victim) raise(arguments[1] == "stop" ? SIGSTOP : SIGKILL);
  }
}

// Does a rank of the group see a newer epoch? All are told alike.
bool is_outdated(Transport& transport) {
  std::vector<float> flag{has_newer_epoch() ? 1.0F : 0.0F};
  const auto bytes = std::as_writable_bytes(std::span(flag));
  allreduce(group_of_all(transport), kiln::DType::F32, ReduceOp::Max, bytes, bytes);
  return flag[0] != 0;
}

// Sums, and goes on in the next epoch when ranks come or go, until the last of the epochs asked for has had
// some sums. The victim of the first epoch does something to itself.
int sum_elastic(Membership& job, std::span<const std::string> arguments) {
  const int last_epoch = std::stoi(arguments[0]);
  const bool has_victim = arguments.size() > 2;
  std::printf("starts\n");
  std::fflush(stdout);
  for (int sums = 0; sums < 20;) {
    try {
      sum_ones(*job.transport, 1000);
      if (has_victim && job.epoch == 0 && arguments[1] == std::to_string(job.place.rank) && sums > 3)
        raise(arguments[2] == "stop" ? SIGSTOP : SIGKILL);
      sums = job.epoch < last_epoch ? std::min(sums + 1, 10) : sums + 1;
      if (is_outdated(*job.transport)) throw PeerLost({}, "others have come");
    } catch (const PeerLost&) {
      job.transport.reset();
      job = join_job();
      sums = 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::printf("epoch %d: rank %d of %d\n", job.epoch, job.place.rank, job.place.size);
  return 0;
}

// The time of one sum, by rank 0.
int time_sums(Membership& job, std::span<const std::string> arguments) {
  const std::size_t count = std::stoul(arguments[0]);
  const int rounds = std::stoi(arguments[1]);
  sum_ones(*job.transport, count);
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < rounds; ++round) sum_ones(*job.transport, count);
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  if (job.place.rank == 0)
    std::printf("%s %zu floats: %.1f us\n", job.transport->name().data(), count, time.count() / rounds);
  return 0;
}

// The hash of a step of training, in so many orders of arrival.
int hash_steps(Membership& job, std::span<const std::string> arguments) {
  const int rank = job.place.rank;
  Controller ranks(std::move(job.transport), {Settings::from_environment(), {}});
  const std::string hash =
      kiln::testing::hash_of_orders(ranks, rank, static_cast<unsigned>(std::stoi(arguments[0])));
  ranks.leave();
  std::printf("%s\n", hash.c_str());
  return 0;
}

int show_place(Membership& job, std::span<const std::string>) {
  const RankPlace& place = job.place;
  std::printf("%s: %d of %d, %d of %d, %d of %d\n", std::getenv("HOST"), place.rank, place.size,
              place.local_rank, place.local_size, place.cross_rank, place.cross_size);
  return 0;
}

int run(std::span<const std::string> arguments) {
  using Body = int (*)(Membership&, std::span<const std::string>);
  static const std::map<std::string, Body> kBodies{{"cases", run_cases},     {"place", show_place},
                                                   {"sum", sum_forever},     {"steps", hash_steps},
                                                   {"elastic", sum_elastic}, {"time", time_sums}};
  const RankProcessLink link(arguments.size() > 1 && arguments[0] == "differ" ? std::to_string(getpid())
                                                                              : "same");
  Membership job = join_job(std::chrono::seconds(20));
  if (arguments[0] == "differ") std::this_thread::sleep_for(std::chrono::seconds(20));
  return kBodies.at(arguments[0])(job, arguments.subspan(1));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments = unpacked_arguments({argv + 1, argv + argc});
  try {
    return run(arguments);
  } catch (const PeerLost& error) {
    std::fputs(marked({"RanksLost", std::string("RanksLost: ") + error.what() + "\n"}).c_str(), stderr);
  } catch (const std::exception& error) {
    std::fputs(marked({"Error", std::string("Error: ") + error.what() + "\n"}).c_str(), stderr);
  }
  return 1;
}
