#include "tests/cuda/child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include "tensor/device.h"
#include "tensor/error.h"

namespace kiln::testing {
namespace {

constexpr const char* kLeading[] = {"KILN_CUDA_DRIVER", "KILN_NVRTC", "KILN_CUBLASLT",       "KILN_NCCL",
                                    "CUDA_HOME",        "CUDA_PATH",  "CUDA_VISIBLE_DEVICES"};

[[noreturn]] void be_child(int out, const Variables& variables, const std::function<std::string()>& f) {
  for (const int fault : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) std::signal(fault, SIG_DFL);
  for (const char* const name : kLeading) unsetenv(name);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::string text;
  try {
    text = f();
  } catch (const std::exception& error) {
    text = std::string("exception: ") + error.what();
  }
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(out, text.data() + at, text.size() - at);
    if (written <= 0) _exit(1);
    at += static_cast<std::size_t>(written);
  }
  _exit(0);
}

}  // namespace

std::string in_child(const Variables& variables, const std::function<std::string()>& f) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    be_child(ends[1], variables, f);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? text : "exit " + std::to_string(WEXITSTATUS(status));
}

Variables fakes(const Variables& more) {
  Variables all = {{"KILN_CUDA_DRIVER", KILN_FAKE_CUDA},
                   {"KILN_NVRTC", KILN_FAKE_NVRTC},
                   {"KILN_CUBLASLT", KILN_FAKE_CUBLASLT},
                   {"KILN_NCCL", KILN_FAKE_NCCL}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string refusal_of_cuda(const Variables& variables, const std::string& device) {
  return in_child(variables, [&]() -> std::string {
    try {
      parse_device(device);
    } catch (const OpError& error) {
      return std::string(name(error.kind())) + ": " + error.message() + "\nhelp: " + error.help();
    }
    return "it is here";
  });
}

}  // namespace kiln::testing
