// Elastic jobs go on without ranks that are lost, and with those of new hosts.
#include <unistd.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/dist/job_process.h"

namespace kiln::elastic_test {

using kiln::testing::job;
using kiln::testing::JobProcess;
using kiln::testing::Variable;

namespace {

using Lines = std::vector<std::string>;

Lines sorted_lines(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (!line.ends_with("starts")) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

dist::JobOptions elastic_job(int least, int most, std::vector<std::string> arguments) {
  std::vector<std::string> command{KILN_RANK_PROGRAM, "elastic"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  dist::JobOptions options = job(most, command);
  options.least = least;
  return options;
}

}  // namespace

TEST_CASE("an elastic job goes on without a rank that was killed", "[elastic]") {
  for (const char* transport : {"shm", "gloo"}) {
    const Variable chosen("KILN_TRANSPORT", transport);
    INFO(transport);
    JobProcess process(elastic_job(2, 4, {"1", "1", "kill"}));
    CHECK(process.wait() == 0);
    CHECK(sorted_lines(process.output()) ==
          Lines{"[0] epoch 1: rank 0 of 3", "[2] epoch 1: rank 1 of 3", "[3] epoch 1: rank 2 of 3",
                "kiln run: rank 1 was killed by signal 9 (Killed); 3 ranks go on"});
  }
}

TEST_CASE("an elastic job goes on without a rank that gives no sign of life", "[elastic]") {
  const Variable silence("KILN_SILENCE_SECONDS", "1.5");
  JobProcess process(elastic_job(1, 2, {"1", "0", "stop"}));
  CHECK(process.wait() == 0);
  CHECK(sorted_lines(process.output()) ==
        Lines{"[1] epoch 1: rank 0 of 1", "kiln run: rank 0 gave no sign of life for 1.5 s; 1 rank goes on"});
}

TEST_CASE("an elastic job ends when too few ranks are left", "[elastic]") {
  JobProcess process(elastic_job(2, 2, {"1", "1", "kill"}));
  CHECK(process.wait() == 137);
  CHECK(sorted_lines(process.output()) ==
        Lines{"kiln run: rank 1 was killed by signal 9 (Killed); the other ranks were stopped"});
}

namespace {

// A file of hosts that an elastic job looks at again and again.
class HostsFile {
 public:
  explicit HostsFile(const std::string& hosts)
      : path_(std::filesystem::temp_directory_path() / ("kiln-hosts-" + std::to_string(getpid()))) {
    write(hosts);
  }
  ~HostsFile() { std::filesystem::remove(path_); }
  HostsFile(const HostsFile&) = delete;
  HostsFile& operator=(const HostsFile&) = delete;

  void write(const std::string& hosts) const { std::ofstream(path_) << hosts; }
  std::string script() const { return "cat " + path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("an elastic job takes in hosts that are discovered", "[elastic]") {
  const HostsFile hosts("east:1\n");
  dist::JobOptions options = elastic_job(1, 3, {"1"});
  options.discover = hosts.script();
  options.agent = {"env", "HOST={host}"};
  JobProcess process(options);
  process.wait_for_output("[0] starts");
  hosts.write("east:1\nwest:2\n");
  CHECK(process.wait() == 0);
  CHECK(sorted_lines(process.output()) == Lines{"[0] epoch 1: rank 0 of 3", "[1] epoch 1: rank 1 of 3",
                                                "[2] epoch 1: rank 2 of 3",
                                                "kiln run: 2 more on new hosts: 3 ranks go on"});
}

TEST_CASE("an elastic job goes on without new hosts that fail or do not answer", "[elastic]") {
  const HostsFile hosts("east:1\n");
  dist::JobOptions options = elastic_job(1, 4, {"1"});
  options.discover = hosts.script();
  options.agent = {"sh", "-c", R"([ $0 != west ] || exec sleep 60; [ $0 != south ] || exit 3; exec "$@")",
                   "{host}"};
  JobProcess process(options);
  process.wait_for_output("[0] starts");
  hosts.write("east:1\nwest:1\nsouth:1\nnorth:1\n");
  CHECK(process.wait() == 0);
  CHECK(sorted_lines(process.output()) ==
        Lines{"[0] epoch 1: rank 0 of 2", "[3] epoch 1: rank 1 of 2",
              "kiln run: 1 more on new hosts: 2 ranks go on",
              "kiln run: rank 2 left with exit code 3 before it met the others"});
}

}  // namespace kiln::elastic_test
