#include "notebook/kernel/server.h"

#include <string>
#include <utility>

#include <zmq.hpp>

namespace kiln::notebook {
namespace {

using Json = nlohmann::json;

Json header_like(const Json& parent, const std::string& type) {
  return xeus::make_header(type, parent.value("username", ""), parent.value("session", ""));
}

}  // namespace

void Server::abort_queue_impl(const listener&, long interval) {
  const auto take = [&](xeus::xmessage request) {
    if (request.header().value("msg_type", "") == "execute_request") {
      answer_aborted(request);
    } else {
      waiting_.push_back(std::move(request));
    }
  };
  xeus::xserver_shell_main::abort_queue_impl(take, interval);
}

void Server::answer_aborted(const xeus::xmessage& request) {
  publish_state("busy", request.header());
  send_shell_impl(xeus::xmessage(request.identities(), header_like(request.header(), "execute_reply"),
                                 request.header(), Json::object(), {{"status", "aborted"}}, {}));
  publish_state("idle", request.header());
}

void Server::publish_state(const char* state, const Json& parent) {
  xserver_shell_main::publish_impl(xeus::xpub_message("status", header_like(parent, "status"), parent,
                                                      Json::object(), {{"execution_state", state}}, {}),
                                   xeus::channel::SHELL);
}

// With the end of the cell that failed, what waited behind it has its turn.
void Server::publish_impl(xeus::xpub_message message, xeus::channel channel) {
  const bool is_end = channel == xeus::channel::SHELL && !waiting_.empty() &&
                      message.content().value("execution_state", "") == "idle";
  xeus::xserver_shell_main::publish_impl(std::move(message), channel);
  if (!is_end) return;
  for (xeus::xmessage& each : std::exchange(waiting_, {})) notify_shell_listener(std::move(each));
}

std::unique_ptr<xeus::xserver> make_server(xeus::xcontext& context, const xeus::xconfiguration& config,
                                           Json::error_handler_t errors) {
  return std::make_unique<Server>(context.get_wrapped_context<zmq::context_t>(), config, errors);
}

}  // namespace kiln::notebook
