// Jobs over a network that breaks: hosts are network namespaces, which only root may make.
#include <unistd.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>

#include "tests/dist/job_process.h"

namespace kiln::network_test {

using kiln::testing::job;
using kiln::testing::JobProcess;

namespace {

bool shell(const std::string& line) { return std::system(("(" + line + ") >/dev/null 2>&1").c_str()) == 0; }

// Two hosts beside this one, on a network of their own.
class Network {
 public:
  Network() {
    is_there_ =
        geteuid() == 0 && shell("ip link add " + bridge_ + " type bridge && ip addr add 10.213.77.1/24 dev " +
                                bridge_ + " && ip link set " + bridge_ + " up");
    for (const std::string host : {"a", "b"}) is_there_ = is_there_ && add(host);
  }
  ~Network() {
    for (const std::string host : {"a", "b"}) shell("ip netns del " + space(host));
    shell("ip link del " + bridge_);
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  bool is_there() const { return is_there_; }
  void cut(const std::string& host) { shell("ip link set " + prefix_ + host + " down"); }
  std::vector<std::string> agent() const { return {"ip", "netns", "exec", prefix_ + "-{host}"}; }
  // Has each process on a host ended?
  bool is_empty(const std::string& host) const {
    return shell("test -z \"$(ip netns pids " + space(host) + ")\"");
  }

 private:
  std::string space(const std::string& host) const { return prefix_ + "-" + host; }

  bool add(const std::string& host) {
    const std::string link = prefix_ + host, address = host == "a" ? "10.213.77.2" : "10.213.77.3";
    return shell("ip netns add " + space(host) + " && ip link add " + link +
                 " type veth peer name eth0 netns " + space(host) + " && ip link set " + link + " master " +
                 bridge_ + " up && ip netns exec " + space(host) + " sh -c 'ip addr add " + address +
                 "/24 dev eth0; ip link set eth0 up; ip link set lo up'");
  }

  // Names of interfaces are short, and namespaces take their time to go.
  static inline int count = 0;
  std::string prefix_ = "kiln" + std::to_string(getpid() % 10000) + std::to_string(count++);
  std::string bridge_ = prefix_ + "br";
  bool is_there_ = false;
};

class Silence {
 public:
  explicit Silence(const char* seconds) { setenv("KILN_SILENCE_SECONDS", seconds, 1); }
  ~Silence() { unsetenv("KILN_SILENCE_SECONDS"); }
};

dist::JobOptions job_on(const Network& network, std::vector<dist::HostSlots> hosts,
                        std::vector<std::string> arguments) {
  std::vector<std::string> command{KILN_RANK_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  int size = 0;
  for (const dist::HostSlots& host : hosts) size += host.slots;
  dist::JobOptions options = job(size, command);
  options.hosts = std::move(hosts);
  options.agent = network.agent();
  return options;
}

}  // namespace

TEST_CASE("hosts of a network exchange messages, and are told when it breaks", "[network]") {
  Network network;
  if (!network.is_there()) {
    WARN("network namespaces cannot be made here: jobs over a broken network are not tried");
    return;
  }
  {
    JobProcess process(job_on(network, {{"a", 2}, {"b", 1}}, {"cases"}));
    CHECK(process.wait() == 0);
  }
  const Silence silence("1.5");
  {
    JobProcess process(job_on(network, {{"a", 1}, {"b", 1}}, {"elastic", "9"}));
    for (const char* rank : {"[0] starts", "[1] starts"}) process.wait_for_output(rank);
    network.cut("b");
    CHECK(process.wait() == 1);
    CHECK_THAT(
        process.output(),
        Catch::EndsWith("kiln run: rank 1 gave no sign of life for 1.5 s; the other ranks were stopped\n"));
  }
}

TEST_CASE("only one side of a broken network goes on", "[network]") {
  Network network;
  if (!network.is_there()) {
    WARN("network namespaces cannot be made here: jobs over a broken network are not tried");
    return;
  }
  const Silence silence("1.5");
  dist::JobOptions options = job_on(network, {{"a", 2}, {"b", 2}}, {"elastic", "1"});
  options.least = 1;
  JobProcess process(options);
  for (const char* rank : {"[0] starts", "[2] starts", "[3] starts"}) process.wait_for_output(rank);
  network.cut("b");
  CHECK(process.wait() == 0);
  CHECK_THAT(process.output(), Catch::Contains("[0] epoch ") && Catch::Contains(": rank 0 of 2") &&
                                   Catch::Contains("[1] epoch ") && Catch::Contains(": rank 1 of 2"));
  CHECK_THAT(process.output(), !Catch::Contains("[2] epoch") && !Catch::Contains("[3] epoch"));
  CHECK(network.is_empty("b"));
}

}  // namespace kiln::network_test
