// Owns what becomes of requests that wait behind a cell that failed.
#pragma once

#include <memory>
#include <vector>

#include <xeus/xserver_shell_main.hpp>

namespace kiln::notebook {

// Cells that wait are answered as aborted, with the messages that end their work, without which front ends
// wait for ever. Other requests are served. xeus answers all of them with an error and no end.
class Server : public xeus::xserver_shell_main {
 public:
  using xeus::xserver_shell_main::xserver_shell_main;

 private:
  void abort_queue_impl(const listener& abort, long interval) override;
  void publish_impl(xeus::xpub_message message, xeus::channel channel) override;
  void answer_aborted(const xeus::xmessage& request);
  void publish_state(const char* state, const nlohmann::json& parent);

  std::vector<xeus::xmessage> waiting_;
};

std::unique_ptr<xeus::xserver> make_server(xeus::xcontext& context, const xeus::xconfiguration& config,
                                           nlohmann::json::error_handler_t errors);

}  // namespace kiln::notebook
