// Jobs of several processes: what is shown of them, and that they end together whatever happens to one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/dist/job_process.h"

namespace kiln::job_test {

using kiln::testing::job;
using kiln::testing::JobProcess;
using kiln::testing::shell_job;
using kiln::testing::Variable;

namespace {

struct Outcome {
  int code;
  std::vector<std::string> lines;  // sorted: ranks write at the same time
};

Outcome outcome(const dist::JobOptions& options) {
  JobProcess process(options);
  const int code = process.wait();
  Outcome result{code, {}};
  std::istringstream text(process.output());
  for (std::string line; std::getline(text, line);) result.lines.push_back(line);
  std::ranges::sort(result.lines);
  return result;
}

using Lines = std::vector<std::string>;

// Has it ended? Where nobody asks for its end it stays as a zombie.
bool has_ended(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  return !std::getline(file, text) || text.find(") Z ") != std::string::npos;
}

// Does it end within a second?
bool ends(pid_t pid) {
  for (int tries = 0; tries < 100 && !has_ended(pid); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return has_ended(pid);
}

}  // namespace

TEST_CASE("lines of ranks are whole and say whose they are", "[job]") {
  const Outcome result = outcome(shell_job(3, "printf a; sleep 0.02; echo b; echo c >&2; printf end"));
  CHECK(result.code == 0);
  CHECK(result.lines ==
        Lines{"[0] ab", "[0] c", "[0] end", "[1] ab", "[1] c", "[1] end", "[2] ab", "[2] c", "[2] end"});
  CHECK(outcome(shell_job(1, "echo alone")).lines == Lines{"alone"});
}

TEST_CASE("ranks are told their places", "[job]") {
  const std::string line =
      "echo $HOST: $KILN_RANK of $KILN_SIZE, $KILN_LOCAL_RANK of $KILN_LOCAL_SIZE, $KILN_CROSS_RANK of "
      "$KILN_CROSS_SIZE";
  CHECK(outcome(shell_job(2, line)).lines ==
        Lines{"[0] : 0 of 2, 0 of 2, 0 of 1", "[1] : 1 of 2, 1 of 2, 0 of 1"});
  dist::JobOptions options = job(3, {KILN_RANK_PROGRAM, "place"});
  options.hosts = {{"east", 2}, {"west", 1}};
  // An agent is any command that runs another one.
  options.agent = {"env", "HOST={host}"};
  CHECK(outcome(options).lines == Lines{"[0] east: 0 of 3, 0 of 2, 0 of 2",
                                        "[1] east: 1 of 3, 1 of 2, 0 of 1",
                                        "[2] west: 2 of 3, 0 of 1, 1 of 2"});
}

TEST_CASE("rank 0 reads the input, and the others find it empty", "[job]") {
  CHECK(outcome(shell_job(2, "[ $KILN_RANK = 0 ] || { read x; echo \"<$x>\"; }")).lines == Lines{"[1] <>"});
}

TEST_CASE("an error of several ranks is shown once", "[job]") {
  const Outcome result =
      outcome(shell_job(3, R"(printf '\036error ValueError\nValueError: no\n\036end\n' >&2; exit 1)"));
  CHECK(result.code == 1);
  CHECK(result.lines == Lines{"ValueError: no", "kiln run: this error ended ranks 0, 1 and 2"});
}

TEST_CASE("the end of one rank with an exit code ends the others", "[job]") {
  const Outcome result = outcome(shell_job(3, "[ $KILN_RANK = 1 ] && exit 3; exec sleep 30"));
  CHECK(result.code == 3);
  CHECK(result.lines == Lines{"kiln run: rank 1 left with exit code 3; the other ranks were stopped"});
}

TEST_CASE("a command that is not there is told", "[job]") {
  const Outcome result = outcome(job(2, {"/no/such/program"}));
  CHECK(result.code == 99);
  CHECK(result.lines == Lines{"cannot start `/no/such/program`: No such file or directory"});
}

TEST_CASE("ranks that run different programs are told", "[job]") {
  const Outcome result = outcome(job(2, {KILN_RANK_PROGRAM, "differ", "from each other"}));
  CHECK(result.code == 1);
  REQUIRE(result.lines.size() == 1);
  CHECK_THAT(result.lines.front(), Catch::Contains("runs another program than rank"));
}

TEST_CASE("one Ctrl-C ends all ranks", "[job]") {
  JobProcess process(shell_job(3, "trap 'exit 130' INT; echo $$ waits; while :; do sleep 0.05; done"));
  for (const char* rank : {"[0] ", "[1] ", "[2] "}) process.wait_for_output(rank);
  kill(process.pid(), SIGINT);
  CHECK(process.wait() == 130);
}

TEST_CASE("ranks that do not heed Ctrl-C are killed when it comes twice", "[job]") {
  JobProcess process(shell_job(2, "trap '' INT; echo waits; while :; do sleep 0.05; done"));
  for (const char* rank : {"[0] ", "[1] "}) process.wait_for_output(rank);
  kill(process.pid(), SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kill(process.pid(), SIGINT);
  CHECK(process.wait() == 130);
}

TEST_CASE("no rank outlives its launcher", "[job]") {
  JobProcess process(shell_job(2, "echo pid $$ end; exec sleep 60"));
  std::vector<pid_t> ranks;
  for (const std::string rank : {"[0] pid ", "[1] pid "}) {
    process.wait_for_output(rank);
    const std::size_t at = process.output().find(rank) + rank.size();
    process.wait_for_output(" end\n");
    ranks.push_back(static_cast<pid_t>(std::stol(process.output().substr(at))));
  }
  kill(process.pid(), SIGKILL);
  process.wait();
  for (const pid_t rank : ranks) CHECK(ends(rank));
}

TEST_CASE("transports of processes do what transports do", "[job]") {
  for (const int n : {1, 2, 4}) {
    const Outcome result = outcome(job(n, {KILN_RANK_PROGRAM, "cases"}));
    CHECK(result.code == 0);
    CHECK(result.lines.size() == static_cast<std::size_t>(n));
    for (const std::string& line : result.lines)
      CHECK_THAT(line, Catch::EndsWith(n == 1 ? "self works" : "shm works"));
  }
  const Variable gloo("KILN_TRANSPORT", "gloo");
  CHECK(outcome(job(3, {KILN_RANK_PROGRAM, "cases"})).lines ==
        Lines{"[0] gloo works", "[1] gloo works", "[2] gloo works"});
}

TEST_CASE("ranks on several hosts use Gloo", "[job]") {
  dist::JobOptions options = job(3, {KILN_RANK_PROGRAM, "cases"});
  options.hosts = {{"east", 2}, {"west", 1}};
  options.agent = {"env", "HOST={host}"};
  const Outcome result = outcome(options);
  CHECK(result.code == 0);
  CHECK(result.lines == Lines{"[0] gloo works", "[1] gloo works", "[2] gloo works"});
}

TEST_CASE("a transport that is not there is told", "[job]") {
  const Variable other("KILN_TRANSPORT", "pigeons");
  CHECK(outcome(job(2, {KILN_RANK_PROGRAM, "cases"})).lines ==
        Lines{"Error: `kiln run` knows no transport `pigeons`: there are `shm` and `gloo`",
              "kiln run: this error ended ranks 0 and 1"});
}

TEST_CASE("a rank that is killed ends the job at once, over any transport", "[job]") {
  for (const char* transport : {"shm", "gloo"}) {
    const Variable chosen("KILN_TRANSPORT", transport);
    INFO(transport);
    const Outcome result = outcome(job(3, {KILN_RANK_PROGRAM, "sum", "1", "kill"}));
    CHECK(result.code == 137);
    REQUIRE(result.lines.size() == 1);
    CHECK_THAT(result.lines.front(), Catch::StartsWith("kiln run: rank 1 was killed by signal 9 (Killed)"));
  }
}

TEST_CASE("a rank that gives no sign of life ends the job", "[job]") {
  const Variable silence("KILN_SILENCE_SECONDS", "1.5");
  const Outcome result = outcome(job(3, {KILN_RANK_PROGRAM, "sum", "1", "stop"}));
  CHECK(result.code == 1);
  CHECK(result.lines ==
        Lines{"kiln run: rank 1 gave no sign of life for 1.5 s; the other ranks were stopped"});
}

TEST_CASE("processes of mpirun exchange messages by MPI", "[job]") {
  if (std::system("command -v mpirun >/dev/null") != 0) {
    WARN("there is no mpirun: MPI is not tried");
    return;
  }
  const Variable root("OMPI_ALLOW_RUN_AS_ROOT", "1"), sure("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  // MPI keeps memory to its end, which a sanitizer would tell as lost.
  const Variable leaks("ASAN_OPTIONS", "detect_leaks=0");
  const std::string command = std::string("mpirun --oversubscribe -n 3 ") + KILN_RANK_PROGRAM + " cases";
  CHECK(outcome(shell_job(1, "unset KILN_RENDEZVOUS; " + command)).lines ==
        Lines{"mpi works", "mpi works", "mpi works"});
}

}  // namespace kiln::job_test
