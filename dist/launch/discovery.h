// Owns asking a script again and again which hosts a job may use.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dist/launch/child.h"
#include "dist/launch/poller.h"
#include "dist/launch/rank_place.h"

namespace kiln::dist {

class Discovery {
 public:
  /// `script` is a line of shell that writes hosts, one a line, each with its slots: "a:2".
  Discovery(Poller& poller, std::string script);
  ~Discovery();
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

  /// Runs the script to its end, once. Throws std::runtime_error where it fails, std::invalid_argument for
  /// what it wrote.
  std::vector<HostSlots> ask();
  /// Looks whether a run of the script has ended, and begins the next about once a second. Gives the hosts of
  /// a run that went well; one that failed changes nothing.
  std::optional<std::vector<HostSlots>> look();

 private:
  void begin();
  void read();
  void forget_child();

  Poller& poller_;
  std::string script_;
  std::unique_ptr<Child> child_;
  std::string output_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace kiln::dist
