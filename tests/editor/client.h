// Owns the editor's side in tests: the server as a process of its own, and the messages between them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "editor/message_stream.h"

namespace kiln::editor::testing {

class Client {
 public:
  // Starts the server, and initializes it unless told otherwise: with a folder that is open, where one is
  // given.
  explicit Client(bool initializes = true, const Json& capabilities = Json::object(),
                  const std::string& folder = "");
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send_text(const std::string& bytes);
  void notify(const std::string& method, const Json& params);
  // The whole answer to a request: with "result" or "error".
  Json ask(const std::string& method, const Json& params);
  Json result(const std::string& method, const Json& params) { return ask(method, params).at("result"); }
  int send_request(const std::string& method, const Json& params);
  Json answer(int id);
  // The next message of the server; what comes first while another is waited for is kept.
  Json message();
  Json notification(const std::string& method);

  void open(const std::string& uri, const std::string& text);
  void change(const std::string& uri, int version, const Json& changes);
  // The diagnostics of a version, once they are there.
  Json diagnostics(const std::string& uri, int version);
  // `shutdown` and `exit`; the exit code of the process.
  int leave();
  int wait();

 private:
  Json next();

  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  int asked_ = 0;
  MessageReader reader_;
  std::vector<Json> kept_;
};

// {"textDocument": …, "position": …}, and what else is asked.
Json at(const std::string& uri, std::uint32_t line, std::uint32_t character, Json more = Json::object());

std::string uri_of(const std::string& name);

}  // namespace kiln::editor::testing
