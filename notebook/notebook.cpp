#include "notebook/notebook.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interpreter/values/raise.h"
#include "notebook/interrupts.h"
#include "notebook/mime_bundle.h"
#include "repl/init_file.h"
#include "repl/lines.h"
#include "repl/paths.h"

namespace kiln::notebook {
namespace {

CellError cell_error(const lang::Diagnostic& error) {
  const std::string text = lang::render(error, {.color = true, .code = true});
  CellError shown{error.kind, error.message, {}};
  for (const std::string_view line : repl::lines_of(text)) shown.traceback.emplace_back(line);
  return shown;
}

}  // namespace

Notebook::Notebook(Client& client, const Options& options)
    : client_(client),
      runs_init_(options.runs_init),
      output_(client, options.captures),
      past_(options.history_file),
      journal_(options.journal),
      session_(session_options()) {}

repl::Session::Options Notebook::session_options() {
  repl::Session::Options options;
  options.interactive = true;
  options.pages = false;
  options.state_folder = [] { return repl::state_folder(); };
  options.out = [this](std::string_view text) { output_.write("stdout", text); };
  options.err = [this](std::string_view text) { output_.write("stderr", text); };
  options.show_value = [this](const interp::Value& value) { show_value(value); };
  options.show_failure = [this](const lang::Diagnostic& error) { show_failure(error); };
  options.show_page = [this](const std::string& html) {
    output_.show([&](Client& client) { client.display(page_bundle(html), ""); });
  };
  options.frontend.show_picture = [this](const std::string& png, std::string text) {
    Json bundle = picture_bundle(png, std::move(text));
    output_.show([&](Client& client) { client.display(std::move(bundle), ""); });
  };
  options.frontend.show_lines = [this](const void* owner, const std::vector<std::string>& lines) {
    show_lines(owner, lines);
  };
  options.frontend.read_line = [this](const std::string& prompt) { return ask(prompt); };
  return options;
}

void Notebook::show_value(const interp::Value& value) {
  value_ = value_bundle(session_, value);
  if (!is_silent_) output_.show([&](Client& client) { client.result(*value_); });
}

void Notebook::show_failure(const lang::Diagnostic& error) {
  error_ = cell_error(error);
  if (!is_silent_) output_.show([&](Client& client) { client.error(*error_); });
}

void Notebook::show_lines(const void* owner, const std::vector<std::string>& lines) {
  if (lines.empty()) {
    drawn_.erase(owner);
    return;
  }
  const auto [place, is_new] = drawn_.try_emplace(owner);
  if (is_new) place->second = fmt::format("kiln-{}", ++displays_);
  Json bundle{{"text/plain", fmt::format("{}", fmt::join(lines, "\n"))}};
  output_.show([&](Client& client) {
    if (is_new) return client.display(std::move(bundle), place->second);
    client.update_display(std::move(bundle), place->second);
  });
}

std::string Notebook::ask(const std::string& prompt) {
  if (!may_ask_) interp::raise("IOError", "input: there is nobody to ask where this cell runs");
  output_.show([](Client&) {});
  return client_.ask(prompt);
}

// Within the first cell, as before it there is nowhere to show anything.
void Notebook::begin_session() {
  if (std::exchange(is_begun_, true)) return;
  if (runs_init_) repl::run_init_file(session_);
  if (journal_.earlier().empty()) return;
  output_.write("stderr",
                fmt::format("The kernel before this one crashed. This runs again the cells that it had run:\n"
                            ":load {}\n",
                            journal_.earlier()));
}

Json Notebook::evaluated(const std::string& expression) {
  error_.reset();
  value_.reset();
  session_.eval_cell(expression, false);
  if (error_) return error_json(*error_);
  return {{"status", "ok"}, {"data", value_.value_or(Json::object())}, {"metadata", Json::object()}};
}

CellReply Notebook::run(const std::string& cell, const CellOptions& options) {
  is_silent_ = options.silent;
  may_ask_ = options.may_ask;
  drawn_.clear();
  CellReply reply;
  const CellOutput::Cell running(output_);
  const InterruptsInCell interrupts;
  begin_session();
  error_.reset();
  value_.reset();
  reply.status = session_.eval_cell(cell, !is_silent_).status;
  reply.error = error_;
  const std::string output = value_ ? value_->value("text/plain", "") : std::string();
  if (options.kept && !is_silent_) past_.add(session_.log().current_number(), cell, output);
  is_silent_ = true;
  if (reply.status == repl::Status::Done) {
    for (const auto& [name, expression] : options.expressions.items())
      if (expression.is_string()) reply.expressions[name] = evaluated(expression.get<std::string>());
  }
  journal_.keep(session_.script());
  return reply;
}

}  // namespace kiln::notebook
