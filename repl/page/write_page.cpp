#include "repl/page/write_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "repl/page/make_page.h"
#include "repl/write_text.h"

namespace kiln::repl {
namespace {

namespace fs = std::filesystem;

// A new file for a page that is given no name.
std::string temporary_path() {
  std::string path = (fs::temp_directory_path() / "kiln-XXXXXX.html").string();
  const int file = mkstemps(path.data(), 5);
  if (file < 0) command_error("IOError", fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  close(file);
  return path;
}

// "net(f32[4, 64], f32[64])"
std::string title_of(const interp::host::CapturedCall& drawn, const WrittenCall& call) {
  std::vector<std::string> types;
  for (const interp::Value& each : call.positional) types.push_back(interp::describe(each));
  for (const auto& [name, value] : call.named)
    types.push_back(fmt::format("{}={}", name, interp::describe(value)));
  return fmt::format("{}({})", drawn.graphs().front()->graph.name, fmt::join(types, ", "));
}

CallPage made_page(Session& session, std::string_view written, const WrittenCall& call) {
  const interp::host::CapturedCall drawn = drawn_call(session, call);
  const std::string title = written.empty() ? title_of(drawn, call) : std::string(written);
  return make_page(session, title, call, drawn);
}

}  // namespace

interp::host::CapturedCall drawn_call(Session& session, const WrittenCall& call) {
  auto made = interp::host::captured_call(session.interpreter(), call.function, call.positional, call.named);
  if (made.graphs().empty())
    command_error("CaptureError",
                  fmt::format("there is nothing to draw: {}", interp::host::why_no_graph(made)));
  return made;
}

std::string page_text(Session& session, std::string_view written, const WrittenCall& call) {
  return page_html(made_page(session, written, call));
}

std::string write_page(Session& session, std::string_view written, const WrittenCall& call,
                       std::string path) {
  const CallPage page = made_page(session, written, call);
  if (path.empty()) path = temporary_path();
  write_text(path, path.ends_with(".json") ? page_json(page) : page_html(page));
  return path;
}

}  // namespace kiln::repl
