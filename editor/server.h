// Owns the conversation with an editor: which messages there are, in which order they may come, and who
// answers them. Knows no streams: messages come in by `receive` and go out by a function.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "editor/workspace.h"

namespace kiln::editor {

// What the editor said of itself.
struct ClientInfo {
  Encoding encoding = Encoding::Utf16;
  bool refreshes_hints = false;
  bool asks_for_mistakes = false;  // they are not told it then, since it would show them twice
  bool refreshes_mistakes = false;
  bool reads_markdown_in_hover = false;
  bool reads_markdown_in_completion = false;
  std::vector<std::string> folders;  // that it has open
};

// An answer that a request gets now or later, once.
using Reply = std::function<void(Json result)>;

// The request cannot be answered: the reason is for the user.
struct RequestError {
  int code;
  std::string message;
};
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kNotInitialized = -32002;
inline constexpr int kRequestFailed = -32803;
inline constexpr int kRequestCancelled = -32800;

class Server {
 public:
  using Send = std::function<void(const Json&)>;
  explicit Server(Send send);

  // One message, as text. Whatever is in it, the server goes on.
  void receive(const std::string& text);
  // The exit code of the process, once the editor has asked for the end.
  std::optional<int> exit_code() const { return exit_code_; }

  Workspace& workspace() { return workspace_; }
  const ClientInfo& client() const { return client_; }
  void notify(std::string_view method, Json params);

  // ---- For handlers ----
  Document& document_of(const Json& params);  // throws RequestError when it is not open
  std::size_t offset_of(const Document& document, const Json& params) const;

 private:
  void handle(const Json& message);
  void request(const std::string& method, const Json& id, const Json& params);
  void notification(const std::string& method, const Json& params);
  void initialize(const Json& params, const Reply& reply);
  void did_open(const Json& params);
  void did_change(const Json& params);
  void check_all();
  void cancel(const Json& params);
  void send_result(const Json& id, Json result);
  void send_error(const Json& id, int code, std::string message);
  void ask_client(std::string_view method);
  void publish(Document& document);
  void refresh();

  Send send_;
  Workspace workspace_;
  ClientInfo client_;
  enum class Phase { New, Running, ShutDown } phase_ = Phase::New;
  std::optional<int> exit_code_;
  std::set<std::string> open_;  // requests without an answer, by the text of their ids
  int asked_ = 0;               // requests of the server's own
};

}  // namespace kiln::editor
