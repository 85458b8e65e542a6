// Owns a notebook as a kernel of Jupyter: requests come from xeus, and what the notebook shows goes back as
// messages.
#pragma once

#include <pthread.h>

#include <xeus/xinterpreter.hpp>

#include "notebook/notebook.h"

namespace kiln::notebook {

// Cells and all that helps while one is written come on the main thread. Information and the end of the
// kernel may come on the thread of the control channel while a cell runs.
class Kernel : public xeus::xinterpreter, public Client {
 public:
  explicit Kernel(const Notebook::Options& options)
      : main_thread_(pthread_self()), notebook_(*this, options) {}

  Notebook& notebook() { return notebook_; }

  // ---- Client ----
  void stream(const std::string& name, const std::string& text) override;
  void display(Json data, const std::string& id) override;
  void update_display(Json data, const std::string& id) override;
  void result(Json data) override;
  void error(const CellError& error) override;
  std::string ask(const std::string& prompt) override;

 private:
  void configure_impl() override { xeus::register_interpreter(this); }
  Json execute_request_impl(int number, const std::string& code, bool silent, bool kept, Json expressions,
                            bool may_ask) override;
  Json complete_request_impl(const std::string& code, int cursor) override;
  Json inspect_request_impl(const std::string& code, int cursor, int detail) override;
  Json is_complete_request_impl(const std::string& code) override;
  Json kernel_info_request_impl() override;
  void shutdown_request_impl() override;

  pthread_t main_thread_;
  int number_ = 0;  // of the cell that runs
  Notebook notebook_;
};

}  // namespace kiln::notebook
