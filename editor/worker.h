// Owns a copy of this process that looks into one program and answers questions about it. Whatever happens to
// it happens to no other process: it may crash, hang or be stopped at any moment.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "editor/message_stream.h"

namespace kiln::editor {

// The copy's side: questions one by one, and the way back. Both are lines of JSON.
class Channel {
 public:
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  // False at the end, where the client has closed its end.
  bool read(Json& message);
  void write(const Json& message);

 private:
  int descriptor_;
  std::string buffer_;
};

class Worker {
 public:
  using Clock = std::chrono::steady_clock;
  using Work = std::function<void(Channel&)>;
  using Answer = std::function<void(const Json& answer)>;  // null when there will be none

  // Starts the copy, which does `work` and ends. Its standard streams lead nowhere, so that nothing it prints
  // gets between the server's messages. `first` is told what it writes without having been asked, which must
  // come in time.
  Worker(const Work& work, Answer first, Clock::duration patience = std::chrono::seconds(20));
  ~Worker();  // stops the copy; requests that wait get an empty answer
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // It is asked as soon as it listens. Never blocks.
  void ask(Json question, Answer then);

  int descriptor() const { return descriptor_; }
  bool wants_to_write() const { return !outgoing_.empty(); }
  bool is_alive() const { return is_alive_; }
  // When an answer is overdue; the far future while none is awaited.
  Clock::time_point deadline() const;
  // Reads and writes what can be, without waiting.
  void go_on();
  void stop();

 private:
  struct Awaited {
    Answer then;
    Clock::time_point deadline;
  };
  void write_some();
  void read_some();
  void take(const std::string& line);

  pid_t process_ = -1;
  int descriptor_ = -1;
  bool is_alive_ = false;
  Answer first_;
  Clock::time_point first_deadline_;
  bool has_first_ = false;
  int asked_ = 0;
  std::map<int, Awaited> awaited_;
  std::string incoming_, outgoing_;
};

}  // namespace kiln::editor
