// The command `kiln-kernel`: a kernel for Jupyter, and what belongs to it. `kiln jupyter` runs it.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <thread>

#include <ext/stdio_sync_filebuf.h>

#include <xeus/xkernel.hpp>
#include <xeus/xkernel_configuration.hpp>
#include <zmq.hpp>

#include "notebook/document.h"
#include "notebook/interrupts.h"
#include "notebook/kernel/history.h"
#include "notebook/kernel/kernel.h"
#include "notebook/kernel/kernel_spec.h"
#include "notebook/kernel/server.h"
#include "repl/failure.h"
#include "repl/options.h"
#include "repl/paths.h"
#include "repl/start.h"
#include "repl/write_text.h"
#include "tensor/detached_call.h"

namespace {

using namespace kiln;
using notebook::Kernel;
using repl::UsageError;

constexpr const char* kUsage =
    "kiln jupyter install                     makes Kiln known to the user's Jupyter\n"
    "kiln jupyter install --prefix folder     to the one of an environment: below its share/jupyter\n"
    "kiln jupyter convert doc.md [out.ipynb]  a document as a notebook, its examples as cells\n"
    "kiln-kernel -f file                      serves a notebook; Jupyter runs this\n";

// Below the state folder; "" where there is none.
std::string state_file(const std::string& name) {
  const std::string state = repl::state_folder();
  if (state.empty() || !repl::make_folders(state + "/notebook")) return {};
  return state + "/notebook/" + name;
}

// A kernel that Jupyter starts anew after a crash has the same connection file.
notebook::Notebook::Options notebook_options(const std::string& connection_file) {
  const std::string name = std::filesystem::path(connection_file).stem().string();
  return {.captures = true,
          .history_file = state_file("history"),
          .journal = state_file(name + ".kiln"),
          .runs_init = true};
}

// What xeus says of itself and of messages that are no requests is for the log of who started the kernel. It
// goes through that very descriptor, as a file that is opened anew would be cut. Nothing of it is taken down,
// as others may write to the end.
void log_to(int descriptor) {
  std::FILE* const file = fdopen(descriptor, "w");
  if (file == nullptr) return;
  std::setvbuf(file, nullptr, _IONBF, 0);
  static auto& log = *new __gnu_cxx::stdio_sync_filebuf<char>(file);
  for (std::ostream* stream : {&std::cerr, &std::clog, &std::cout}) stream->rdbuf(&log);
}

// A kernel whose Jupyter has died has no client to serve.
void end_with_parent() {
  if (std::getenv("JPY_PARENT_PID") == nullptr) return;
  const auto parent = static_cast<int>(syscall(SYS_pidfd_open, getppid(), 0));
  if (parent < 0) return;
  std::thread([parent] {
    pollfd watched{parent, POLLIN, 0};
    while (poll(&watched, 1, -1) < 0) continue;
    _exit(repl::kExitError);
  }).detach();
}

// What a stopped cell left behind in a library still uses that library's memory, which would be taken down.
void leave_libraries() {
  if (detached_calls_go_on()) _exit(repl::kExitDone);
}

// Ends the process.
void serve(const std::string& connection_file) {
  repl::read_text(connection_file);  // whose errors say more than those of xeus
  end_with_parent();
  auto made = std::make_unique<Kernel>(notebook_options(connection_file));
  Kernel& kernel = *made;
  log_to(kernel.notebook().standard_error());
  std::atexit(leave_libraries);
  xeus::xkernel server(xeus::load_configuration(connection_file), xeus::get_user_name(),
                       xeus::make_context<zmq::context_t>(), std::move(made), notebook::make_server,
                       std::make_unique<notebook::KernelHistory>(kernel.notebook().past()), nullptr,
                       xeus::make_null_debugger, nlohmann::json::object(),
                       nlohmann::json::error_handler_t::replace);
  server.start();
}

std::string argument(int argc, char** argv, int at) {
  if (at >= argc) throw UsageError{std::string("`") + argv[at - 1] + "` needs a value", {}};
  return argv[at];
}

int install(int argc, char** argv) {
  const bool has_prefix = argc > 2 && std::string(argv[2]) == "--prefix";
  if (argc > 2 && !has_prefix) throw UsageError{std::string("`install` does not take `") + argv[2] + "`", {}};
  const std::string folder =
      has_prefix ? argument(argc, argv, 3) + "/share/jupyter" : notebook::user_data_folder();
  std::printf("wrote %s\n", notebook::install_kernel(folder).c_str());
  return repl::kExitDone;
}

// "docs/plots.md" → "plots.ipynb" in the folder where one is.
int convert(int argc, char** argv) {
  const std::string document = argument(argc, argv, 2);
  const std::string notebook =
      argc > 3 ? argv[3] : std::filesystem::path(document).stem().string() + ".ipynb";
  repl::write_text(notebook, notebook::notebook_of(repl::read_text(document)).dump(1) + "\n");
  std::printf("wrote %s\n", notebook.c_str());
  return repl::kExitDone;
}

int run(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "--help";
  if (first == "-f") {
    repl::check_processor();
    repl::use_kept_kernels();
    serve(argument(argc, argv, 2));
    return repl::kExitDone;
  }
  if (first == "install") return install(argc, argv);
  if (first == "convert") return convert(argc, argv);
  if (first != "--help" && first != "-h")
    throw UsageError{"`kiln jupyter` does not know `" + first + "`", {}};
  std::fputs(kUsage, stdout);
  return repl::kExitDone;
}

}  // namespace

int main(int argc, char** argv) {
  notebook::hold_interrupts();
  try {
    return run(argc, argv);
  } catch (const UsageError& error) {
    std::fprintf(stderr, "kiln-kernel: %s\n%s", error.message.c_str(), kUsage);
    return repl::kExitUsage;
  } catch (...) {
    std::fputs(lang::render(repl::current_failure().diagnostic).c_str(), stderr);
    return repl::kExitError;
  }
}
