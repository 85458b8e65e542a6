// A step of training has the same bits over every transport, however collectives share buffers and in
// whatever order ranks submit them.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <mutex>
#include <set>
#include <sstream>

#include "tests/dist/controllers.h"
#include "tests/dist/job_process.h"
#include "tests/dist/training_step.h"

namespace kiln::bits_test {

using kiln::testing::JobProcess;
using kiln::testing::Variable;

namespace {

constexpr int kRanks = 3;

std::set<std::string> hashes_of_threads(std::size_t threshold, unsigned orders) {
  std::mutex mutex;
  std::set<std::string> found;
  kiln::testing::on_controllers(kRanks, {{threshold}, {}}, [&](dist::Controller& ranks, int rank) {
    const std::string hash = kiln::testing::hash_of_orders(ranks, rank, orders);
    const std::lock_guard lock(mutex);
    found.insert(hash);
  });
  return found;
}

// The last word of each line that a job writes.
std::set<std::string> hashes_of_job(const dist::JobOptions& options) {
  JobProcess process(options);
  const int code = process.wait();
  INFO(process.output());
  CHECK(code == 0);
  std::set<std::string> found;
  std::istringstream text(process.output());
  for (std::string line; std::getline(text, line);) found.insert(line.substr(line.rfind(' ') + 1));
  return found;
}

std::set<std::string> hashes_of_processes(const std::string& transport, const std::string& orders) {
  if (transport == "mpi")
    return hashes_of_job(kiln::testing::shell_job(1, "unset KILN_RENDEZVOUS; mpirun --oversubscribe -n " +
                                                         std::to_string(kRanks) + " " + KILN_RANK_PROGRAM +
                                                         " steps " + orders));
  const Variable chosen("KILN_TRANSPORT", transport.c_str());
  return hashes_of_job(kiln::testing::job(kRanks, {KILN_RANK_PROGRAM, "steps", orders}));
}

void expect_one_hash(unsigned orders) {
  const Variable root("OMPI_ALLOW_RUN_AS_ROOT", "1"), sure("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  // MPI keeps memory to its end, which a sanitizer would tell as lost.
  const Variable leaks("ASAN_OPTIONS", "detect_leaks=0");
  std::vector<std::string> transports{"shm", "gloo"};
  if (std::system("command -v mpirun >/dev/null") == 0) transports.emplace_back("mpi");
  const std::set<std::string> expected = hashes_of_threads(0, 1);
  REQUIRE(expected.size() == 1);
  for (const std::size_t threshold : {std::size_t{0}, std::size_t{4096}, std::size_t{64} << 20}) {
    CHECK(hashes_of_threads(threshold, orders) == expected);
    const Variable fusion("KILN_FUSION_THRESHOLD", std::to_string(threshold).c_str());
    for (const std::string& transport : transports) {
      INFO(transport << " with buffers of up to " << threshold << " bytes");
      CHECK(hashes_of_processes(transport, std::to_string(orders)) == expected);
    }
  }
}

}  // namespace

TEST_CASE("a step has the same bits over every transport, fusion and order of arrival", "[bits]") {
  expect_one_hash(3);
}

TEST_CASE("a step has the same bits in twenty orders of arrival", "[.][many orders]") { expect_one_hash(20); }

}  // namespace kiln::bits_test
