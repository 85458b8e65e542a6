#include "editor/server.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "editor/features.h"
#include "editor/places.h"
#include "editor/uri.h"
#include "repl/version.h"

namespace kiln::editor {
namespace {

// The member at the end of a path of names; null where the path leads to no member.
Json at_path(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = &json;
  for (const char* name : path) {
    if (!at->is_object() || !at->contains(name)) return {};
    at = &at->at(name);
  }
  return *at;
}

bool is_true(const Json& json) { return json.is_boolean() && json.get<bool>(); }

bool has_markdown(const Json& formats) {
  return formats.is_array() && std::find(formats.begin(), formats.end(), "markdown") != formats.end();
}

// The first that we know of those that the editor prefers.
Encoding chosen_encoding(const Json& offered) {
  if (!offered.is_array()) return Encoding::Utf16;
  for (const Json& each : offered) {
    if (each == "utf-8") return Encoding::Utf8;
    if (each == "utf-16") return Encoding::Utf16;
    if (each == "utf-32") return Encoding::Utf32;
  }
  return Encoding::Utf16;
}

ClientInfo client_info(const Json& params) {
  const Json capabilities = at_path(params, {"capabilities"});
  ClientInfo client;
  client.encoding = chosen_encoding(at_path(capabilities, {"general", "positionEncodings"}));
  client.refreshes_hints = is_true(at_path(capabilities, {"workspace", "inlayHint", "refreshSupport"}));
  client.asks_for_mistakes = at_path(capabilities, {"textDocument", "diagnostic"}).is_object();
  client.refreshes_mistakes = is_true(at_path(capabilities, {"workspace", "diagnostics", "refreshSupport"}));
  client.reads_markdown_in_hover =
      has_markdown(at_path(capabilities, {"textDocument", "hover", "contentFormat"}));
  client.reads_markdown_in_completion = has_markdown(
      at_path(capabilities, {"textDocument", "completion", "completionItem", "documentationFormat"}));
  const Json folders = at_path(params, {"workspaceFolders"});
  if (folders.is_array()) {
    for (const Json& each : folders) client.folders.push_back(path_of_uri(each.at("uri").get<std::string>()));
  } else if (const Json root = at_path(params, {"rootUri"}); root.is_string()) {
    client.folders.push_back(path_of_uri(root.get<std::string>()));
  }
  std::erase(client.folders, "");
  return client;
}

}  // namespace

Server::Server(Send send)
    : send_(std::move(send)),
      workspace_([this](Document& document) { publish(document); }, [this](Document&) { refresh(); }) {}

void Server::receive(const std::string& text) {
  const Json message = Json::parse(text, nullptr, false);
  if (message.is_discarded()) return send_error(Json(), kParseError, "this is no JSON");
  if (!message.is_array()) return handle(message);
  for (const Json& each : message) handle(each);
}

void Server::handle(const Json& message) {
  if (!message.is_object()) return send_error(Json(), kInvalidRequest, "a message is an object");
  const bool has_id = message.contains("id");
  if (!message.contains("method")) return;  // an answer to a request of ours, and such answers are not needed
  if (!message["method"].is_string())
    return send_error(has_id ? message["id"] : Json(), kInvalidRequest, "`method` is a text");
  const std::string method = message["method"];
  const Json params = message.value("params", Json::object());
  if (has_id) return request(method, message["id"], params);
  try {
    notification(method, params);
  } catch (const std::exception&) {
    // A notification has no answer, so an unusable one is passed over.
  } catch (const RequestError&) {
    // Of a document that is not open.
  }
}

void Server::request(const std::string& method, const Json& id, const Json& params) {
  if (phase_ == Phase::New && method != "initialize")
    return send_error(id, kNotInitialized, "`initialize` comes first");
  if (phase_ == Phase::ShutDown) return send_error(id, kInvalidRequest, "the server was shut down");
  const std::string key = id.dump(-1, ' ', false, Json::error_handler_t::replace);
  open_.insert(key);
  const Reply reply = [this, id, key](Json result) {
    if (open_.erase(key) > 0) send_result(id, std::move(result));
  };
  const auto fail = [&](int code, std::string message) {
    if (open_.erase(key) > 0) send_error(id, code, std::move(message));
  };
  try {
    if (method == "initialize") return initialize(params, reply);
    if (method == "shutdown") {
      phase_ = Phase::ShutDown;
      return reply(Json());
    }
    const Feature* const feature = find_feature(method);
    if (feature == nullptr) return fail(kMethodNotFound, "there is no method `" + method + "`");
    feature->answer(*this, params, reply);
  } catch (const RequestError& error) {
    fail(error.code, error.message);
  } catch (const Json::exception& error) {
    fail(kInvalidParams, error.what());
  } catch (const std::exception& error) {
    fail(kInternalError, error.what());
  }
}

void Server::initialize(const Json& params, const Reply& reply) {
  if (phase_ != Phase::New) throw RequestError{kInvalidRequest, "`initialize` comes once"};
  client_ = client_info(params);
  phase_ = Phase::Running;
  reply({{"capabilities", capabilities(client_)},
         {"serverInfo", {{"name", "kiln"}, {"version", std::string(repl::kVersion)}}}});
}

void Server::notification(const std::string& method, const Json& params) {
  if (method == "exit") {
    exit_code_ = phase_ == Phase::ShutDown ? 0 : 1;
    return;
  }
  if (phase_ != Phase::Running) return;
  if (method == "initialized") return workspace_.warm_up();
  if (method == "textDocument/didOpen") return did_open(params);
  if (method == "textDocument/didChange") return did_change(params);
  if (method == "textDocument/didSave" || method == "workspace/didChangeWatchedFiles") return check_all();
  if (method == "$/cancelRequest") return cancel(params);
  if (method != "textDocument/didClose") return;
  Document& document = document_of(params);
  document.mistakes.clear();
  publish(document);
  workspace_.close(document.uri());
}

void Server::did_open(const Json& params) {
  const Json& opened = params.at("textDocument");
  workspace_.open(opened.at("uri"), opened.at("text"), opened.value("version", 0));
}

void Server::did_change(const Json& params) {
  Document& document = document_of(params);
  document.set_version(params.at("textDocument").value("version", document.version()));
  workspace_.touch(document);
  for (const Json& each : params.at("contentChanges")) document.change(each, client_.encoding);
}

// What other files say may have changed what is wrong with each.
void Server::check_all() {
  workspace_.touch_all();
  if (client_.asks_for_mistakes && client_.refreshes_mistakes) ask_client("workspace/diagnostic/refresh");
}

void Server::cancel(const Json& params) {
  const Json& id = params.at("id");
  if (open_.erase(id.dump()) > 0) send_error(id, kRequestCancelled, "the editor asked no more");
}

Document& Server::document_of(const Json& params) {
  const std::string uri = params.at("textDocument").at("uri");
  Document* const document = workspace_.find(uri);
  if (document == nullptr) throw RequestError{kInvalidParams, "`" + uri + "` is not open"};
  return *document;
}

std::size_t Server::offset_of(const Document& document, const Json& params) const {
  return document.text().offset(position_from(params.at("position")), client_.encoding);
}

void Server::publish(Document& document) {
  if (client_.asks_for_mistakes) return;
  Json all = Json::array();
  for (const Mistake& each : document.mistakes)
    all.push_back(diagnostic_json(document, each, client_.encoding));
  notify("textDocument/publishDiagnostics",
         {{"uri", document.uri()}, {"version", document.version()}, {"diagnostics", std::move(all)}});
}

void Server::refresh() {
  if (client_.refreshes_hints) ask_client("workspace/inlayHint/refresh");
}

void Server::ask_client(std::string_view method) {
  send_({{"jsonrpc", "2.0"}, {"id", "kiln-" + std::to_string(++asked_)}, {"method", method}});
}

void Server::notify(std::string_view method, Json params) {
  send_({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
}

void Server::send_result(const Json& id, Json result) {
  send_({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

void Server::send_error(const Json& id, int code, std::string message) {
  send_({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", std::move(message)}}}});
}

}  // namespace kiln::editor
