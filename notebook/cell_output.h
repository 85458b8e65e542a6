// Owns the way of a cell's output to the client: texts in few messages, and everything in the order in which
// it was made.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "notebook/captured_streams.h"
#include "notebook/client.h"

namespace kiln::notebook {

// Text waits until there is much of it, for 50 ms at most, or until something else is shown. What programs
// that a cell starts write to their own output is part of it. Outside of cells nothing goes out: what comes
// then is shown by the next cell.
class CellOutput {
 public:
  // `captures`: also what is written to the process's standard output and error.
  CellOutput(Client& client, bool captures);
  ~CellOutput();
  CellOutput(const CellOutput&) = delete;
  CellOutput& operator=(const CellOutput&) = delete;

  // While one lives, a cell runs. When it ends, all output of the cell has gone out.
  class Cell {
   public:
    explicit Cell(CellOutput& output) : output_(output) { output_.begin_cell(); }
    ~Cell() { output_.end_cell(); }
    Cell(const Cell&) = delete;
    Cell& operator=(const Cell&) = delete;

   private:
    CellOutput& output_;
  };

  // Of the thread that runs the cell.
  void write(std::string_view name, std::string_view text);
  // Tells the client something behind all text so far.
  void show(const std::function<void(Client&)>& tell);
  int standard_error() const { return captured_.standard_error(); }

 private:
  void begin_cell();
  void end_cell();
  std::unique_lock<std::mutex> own_lock();
  void watch();
  void take_captured();
  void add(std::string_view name, std::string_view text);
  // All but a character whose bytes are not all there yet.
  void send_whole_characters();
  void send_text();

  using Clock = std::chrono::steady_clock;
  Client& client_;
  CapturedStreams captured_;
  bool is_cell_ = false;  // does one run? For the thread that runs them
  std::mutex mutex_;      // of all below; held by that thread while none runs
  std::string name_, text_;
  Clock::time_point sent_;  // when text went out last
  bool ends_ = false;
  std::thread watcher_;
};

}  // namespace kiln::notebook
