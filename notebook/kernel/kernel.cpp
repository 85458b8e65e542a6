#include "notebook/kernel/kernel.h"

#include <csignal>

#include <xeus/xhelper.hpp>
#include <xeus/xinput.hpp>
#include <zmq.hpp>

#include "repl/cell.h"
#include "repl/version.h"
#include "tensor/interrupt.h"

namespace kiln::notebook {
namespace {

Json transient_with(const std::string& id) { return id.empty() ? Json::object() : Json{{"display_id", id}}; }

// What `:quit` asks of those who can end a kernel, as Jupyter's console does.
Json end_payload() { return Json::array({{{"source", "ask_exit"}, {"keepkernel", false}}}); }

}  // namespace

// ---- What is shown ----

void Kernel::stream(const std::string& name, const std::string& text) { publish_stream(name, text); }

void Kernel::display(Json data, const std::string& id) {
  display_data(std::move(data), Json::object(), transient_with(id));
}

void Kernel::update_display(Json data, const std::string& id) {
  update_display_data(std::move(data), Json::object(), transient_with(id));
}

void Kernel::result(Json data) { publish_execution_result(number_, std::move(data), Json::object()); }

void Kernel::error(const CellError& error) {
  publish_execution_error(error.name, error.message, error.traceback);
}

// A signal ends the wait for an answer.
std::string Kernel::ask(const std::string& prompt) {
  try {
    return xeus::blocking_input_request(prompt, false);
  } catch (const zmq::error_t&) {
    check_interrupt();
    throw;
  }
}

// ---- What is asked for ----

Json Kernel::execute_request_impl(int number, const std::string& code, bool silent, bool kept,
                                  Json expressions, bool may_ask) {
  number_ = number;
  const CellReply reply = notebook_.run(
      code, {.silent = silent, .kept = kept, .may_ask = may_ask, .expressions = std::move(expressions)});
  if (reply.error) return error_json(*reply.error);
  const bool ends = reply.status == repl::Status::Quit;
  return xeus::create_successful_reply(ends ? end_payload() : Json::array(), reply.expressions);
}

Json Kernel::complete_request_impl(const std::string& code, int cursor) {
  const CellCandidates found = notebook_.complete(code, static_cast<std::size_t>(std::max(cursor, 0)));
  Json texts = Json::array(), details = Json::array();
  for (const repl::Candidate& each : found.all) {
    texts.push_back(each.text);
    details.push_back({{"start", found.begin},
                       {"end", found.end},
                       {"text", each.text},
                       {"type", each.kind},
                       {"signature", each.detail}});
  }
  // The name by which front ends know the kinds of candidates.
  const Json metadata{{"_jupyter_types_experimental", std::move(details)}};
  return xeus::create_complete_reply(texts, static_cast<int>(found.begin), static_cast<int>(found.end),
                                     metadata);
}

Json Kernel::inspect_request_impl(const std::string& code, int cursor, int detail) {
  const auto page = notebook_.inspect(code, static_cast<std::size_t>(std::max(cursor, 0)), detail > 0);
  return xeus::create_inspect_reply(page.has_value(), page ? Json{{"text/plain", *page}} : Json::object());
}

Json Kernel::is_complete_request_impl(const std::string& code) {
  switch (repl::cell_completeness(code)) {
    case lang::Completeness::Complete:
      return xeus::create_is_complete_reply("complete");
    case lang::Completeness::Incomplete:
      return xeus::create_is_complete_reply("incomplete", "  ");
    case lang::Completeness::Invalid:
      break;
  }
  return xeus::create_is_complete_reply("invalid");
}

Json Kernel::kernel_info_request_impl() {
  const std::string version(repl::kVersion);
  Json reply;
  reply["implementation"] = "kiln";
  reply["implementation_version"] = version;
  reply["banner"] = "Kiln " + version;
  reply["help_links"] = Json::array();
  reply["status"] = "ok";
  // Editors without a mode of Kiln's own colour it as the language that it is most like.
  reply["language_info"] = {{"name", "kiln"},
                            {"version", version},
                            {"mimetype", "text/x-kiln"},
                            {"file_extension", ".kiln"},
                            {"pygments_lexer", "python"},
                            {"codemirror_mode", "python"}};
  return reply;
}

// A cell that runs is stopped: the end would wait for it.
void Kernel::shutdown_request_impl() {
  notebook_.forget_journal();
  pthread_kill(main_thread_, SIGINT);
}

}  // namespace kiln::notebook
