// The conversation itself: what comes first and last, what is malformed, what is cancelled.
#include <catch2/catch.hpp>

#include "editor/server.h"
#include "tests/editor/client.h"

namespace kiln::editor::testing::protocol_test {
namespace {

int error_of(const Json& answer) { return answer.at("error").at("code"); }

TEST_CASE("messages are read from a stream in pieces of any size", "[editor][stream]") {
  const std::string bytes = framed({{"a", 1}}) + framed("text with \xF0\x9F\x98\x80") + framed(Json::array());
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    MessageReader reader;
    std::vector<std::string> found;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      reader.add(std::string_view(bytes).substr(at, size));
      while (const auto message = reader.next()) found.push_back(*message);
    }
    CHECK(found == std::vector<std::string>{R"({"a":1})", "\"text with \xF0\x9F\x98\x80\"", "[]"});
  }
}

TEST_CASE("what is no message is passed over", "[editor][stream]") {
  MessageReader reader;
  reader.add("rubbish\r\n\r\nContent-Length: none\r\n\r\ncontent-length: 2\r\nContent-Type: x\r\n\r\n{}");
  CHECK(reader.next() == "{}");
  reader.add(std::string(100'000, 'x'));
  CHECK_FALSE(reader.next());
  reader.add("\r\n\r\nContent-Length: 2\r\n\r\n[]");
  CHECK(reader.next() == "[]");
}

TEST_CASE("requests before initialize and after shutdown are refused", "[editor]") {
  Client client(false);
  CHECK(error_of(client.ask("textDocument/hover", at("file:///x", 0, 0))) == kNotInitialized);
  client.notify("textDocument/didOpen", {{"textDocument", {{"uri", "file:///x"}, {"text", ""}}}});
  const Json said = client.result("initialize", {{"capabilities", Json::object()}});
  CHECK(said.at("serverInfo").at("name") == "kiln");
  CHECK(said.at("capabilities").at("positionEncoding") == "utf-16");
  CHECK(error_of(client.ask("initialize", {{"capabilities", Json::object()}})) == kInvalidRequest);
  CHECK(error_of(client.ask("textDocument/hover", at("file:///x", 0, 0))) == kInvalidParams);
  CHECK(client.result("shutdown", Json()) == Json());
  CHECK(error_of(client.ask("textDocument/hover", at("file:///x", 0, 0))) == kInvalidRequest);
  client.notify("exit", Json::object());
  CHECK(client.wait() == 0);
}

TEST_CASE("exit without shutdown, and an editor that goes away, end with a failure", "[editor]") {
  Client hasty;
  hasty.notify("exit", Json::object());
  CHECK(hasty.wait() == 1);
}

TEST_CASE("the server goes on after messages that make no sense", "[editor]") {
  Client client;
  client.send_text("Content-Length: 9\r\n\r\n{\"broken\"");
  CHECK(error_of(client.message()) == kParseError);
  client.send_text(framed(Json::array({1, "x"})));
  CHECK(error_of(client.message()) == kInvalidRequest);
  CHECK(error_of(client.message()) == kInvalidRequest);
  client.send_text(framed({{"id", 77}, {"method", 5}}));
  CHECK(error_of(client.message()) == kInvalidRequest);
  CHECK(error_of(client.ask("no/such/method", Json::object())) == kMethodNotFound);
  client.notify("no/such/notification", Json::object());
  client.notify("textDocument/didChange", {{"textDocument", 3}});
  client.notify("textDocument/didOpen", Json::array());
  for (const char* method : {"textDocument/hover", "textDocument/completion", "textDocument/rename",
                             "textDocument/codeAction", "workspace/executeCommand", "workspace/symbol"})
    CHECK(error_of(client.ask(method, {{"textDocument", {{"uri", 1}}}})) == kInvalidParams);
  CHECK(client.leave() == 0);
}

TEST_CASE("a request that is cancelled is answered once, as cancelled", "[editor]") {
  Client client;
  const std::string uri = uri_of("a.kiln");
  client.open(uri, "x = 1\n");
  const int id = client.send_request("textDocument/completion", at(uri, 0, 1));
  client.notify("$/cancelRequest", {{"id", id}});
  const Json answer = client.answer(id);
  const bool is_cancelled = answer.contains("error");
  if (is_cancelled) CHECK(error_of(answer) == kRequestCancelled);
  CHECK(client.leave() == 0);
}

}  // namespace
}  // namespace kiln::editor::testing::protocol_test
