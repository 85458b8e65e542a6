#include "tests/editor/client.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <stdexcept>
#include <utility>

namespace kiln::editor::testing {
namespace {

constexpr int kPatience = 60'000;  // milliseconds: sanitizers are slow

}  // namespace

Client::Client(bool initializes, const Json& capabilities, const std::string& folder) {
  std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> in{}, out{};
  if (pipe(in.data()) != 0 || pipe(out.data()) != 0) throw std::runtime_error("no pipe");
  process_ = fork();
  if (process_ == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    for (const int each : {in[0], in[1], out[0], out[1]}) close(each);
    execl(KILN_LANGUAGE_SERVER, KILN_LANGUAGE_SERVER, nullptr);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  if (!initializes) return;
  const Json root = folder.empty() ? Json() : Json("file://" + folder);
  result("initialize", {{"processId", nullptr}, {"rootUri", root}, {"capabilities", capabilities}});
  notify("initialized", Json::object());
}

Client::~Client() {
  close(to_);
  close(from_);
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void Client::send_text(const std::string& bytes) {
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t sent = write(to_, rest.data(), rest.size());
    if (sent <= 0) throw std::runtime_error("the server has gone");
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void Client::notify(const std::string& method, const Json& params) {
  send_text(framed({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}}));
}

int Client::send_request(const std::string& method, const Json& params) {
  send_text(framed({{"jsonrpc", "2.0"}, {"id", ++asked_}, {"method", method}, {"params", params}}));
  return asked_;
}

Json Client::ask(const std::string& method, const Json& params) {
  return answer(send_request(method, params));
}

Json Client::next() {
  for (;;) {
    if (const auto text = reader_.next()) return Json::parse(*text);
    pollfd watched{from_, POLLIN, 0};
    if (poll(&watched, 1, kPatience) <= 0) throw std::runtime_error("the server says nothing");
    std::array<char, 65536> piece;
    const ssize_t got = read(from_, piece.data(), piece.size());
    if (got <= 0) throw std::runtime_error("the server has gone");
    reader_.add({piece.data(), static_cast<std::size_t>(got)});
  }
}

Json Client::message() {
  if (kept_.empty()) return next();
  Json first = std::move(kept_.front());
  kept_.erase(kept_.begin());
  return first;
}

Json Client::answer(int id) {
  const auto is_it = [id](const Json& each) {
    return !each.contains("method") && each.value("id", Json()) == id;
  };
  for (;;) {
    const auto found = std::find_if(kept_.begin(), kept_.end(), is_it);
    if (found != kept_.end()) {
      Json answer = std::move(*found);
      kept_.erase(found);
      return answer;
    }
    kept_.push_back(next());
  }
}

Json Client::notification(const std::string& method) {
  for (;;) {
    const auto found = std::find_if(kept_.begin(), kept_.end(),
                                    [&](const Json& each) { return each.value("method", "") == method; });
    if (found != kept_.end()) {
      Json params = found->at("params");
      kept_.erase(found);
      return params;
    }
    kept_.push_back(next());
  }
}

void Client::open(const std::string& uri, const std::string& text) {
  notify("textDocument/didOpen",
         {{"textDocument", {{"uri", uri}, {"languageId", "kiln"}, {"version", 1}, {"text", text}}}});
}

void Client::change(const std::string& uri, int version, const Json& changes) {
  notify("textDocument/didChange",
         {{"textDocument", {{"uri", uri}, {"version", version}}}, {"contentChanges", changes}});
}

Json Client::diagnostics(const std::string& uri, int version) {
  for (;;) {
    const Json found = notification("textDocument/publishDiagnostics");
    if (found.at("uri") == uri && found.at("version") == version) return found.at("diagnostics");
  }
}

int Client::leave() {
  ask("shutdown", Json());
  notify("exit", Json::object());
  return wait();
}

int Client::wait() {
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Json at(const std::string& uri, std::uint32_t line, std::uint32_t character, Json more) {
  more["textDocument"] = {{"uri", uri}};
  more["position"] = {{"line", line}, {"character", character}};
  return more;
}

std::string uri_of(const std::string& name) { return "file:///nowhere/" + name; }

}  // namespace kiln::editor::testing
