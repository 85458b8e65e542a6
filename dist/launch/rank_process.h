// Owns one rank as its launcher sees it: the process, the lines that it writes, and how it ended.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "dist/launch/child.h"
#include "dist/launch/error_mark.h"
#include "dist/launch/lines.h"
#include "dist/launch/poller.h"
#include "dist/launch/verdict.h"

namespace kiln::dist {

class RankProcess {
 public:
  /// Takes whole lines of a rank: to standard output, or to standard error.
  using Show = std::function<void(int rank, bool is_error, std::string_view line)>;

  /// Throws std::runtime_error where it cannot be started.
  RankProcess(Poller& poller, int rank, const ChildOptions& options, Show show);
  ~RankProcess();

  const RankEnd& end() const { return end_; }
  /// Notes what is wrong with it, where it has not ended by itself.
  void fault(std::string what);
  /// Looks whether it has ended. True when nothing more will come of it.
  bool is_over();
  /// Something is wrong with it that it did not end of by itself meanwhile.
  bool has_long_been_faulty() const;
  bool is_running() const { return child_.is_running(); }
  void signal(int number) { child_.signal(number); }
  /// Ends it with a signal; its end is then the launcher's doing, unless it had failed before.
  void stop(int number);

 private:
  struct Stream {
    Descriptor* from;
    LineCutter lines;
  };
  void watch(Stream& stream);
  void read(Stream& stream);
  void note_end();

  Poller& poller_;
  Show show_;
  RankEnd end_;
  Child child_;
  ErrorReader marks_;
  Stream output_, errors_;
  bool is_stopped_ = false;  // its end by a signal is the launcher's doing
  std::optional<std::chrono::steady_clock::time_point> reaped_, faulty_since_;
};

}  // namespace kiln::dist
