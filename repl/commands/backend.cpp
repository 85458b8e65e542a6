// The command that shows how compiled functions run, and chooses: backend.
#include <fmt/format.h>

#include <array>

#include "interpreter/host/backend_choice.h"
#include "jit/cpu/compiler.h"
#include "repl/command.h"
#include "repl/table.h"
#include "repl/terminal.h"
#include "tensor/backend.h"
#include "tensor/cpu/isa.h"
#include "tensor/cuda/refusal.h"

namespace kiln::repl {
namespace {

// What compiles for the CPU, or why nothing does.
std::string cpu_text() {
  const std::string why = jit::why_no_llvm();
  return fmt::format("instruction set {}, {}", cpu::name(cpu::isa()), why.empty() ? "kernels by LLVM" : why);
}

std::string version_text(const cuda::Finding& found) {
  const auto refusal = refusal_of(found);
  return fmt::format("{} {}", cuda::name(found.library), refusal ? "missing" : to_string(found.version));
}

std::string cuda_text() {
  const Device first{Device::Kind::Cuda, 0};
  if (const auto refusal = cuda::refusal_of(first)) return refusal->sentence;
  return fmt::format("{} cards, {}, kernels by {}", cuda::driver().cards.size(), version_text(cuda::driver()),
                     version_text(cuda::nvrtc()));
}

void show_backend(Session& session) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& each : interp::host::backend_choices(session.interpreter()))
    rows.push_back({std::string(each.name), std::string(each.meaning), each.is_chosen ? "chosen" : ""});
  session.write(table_text({{"backend"}, {"compiled functions run"}, {""}}, rows, session.color()));
  session.write("\n" + table_text({{"device"}, {"compiled for it"}},
                                  {{"cpu", cpu_text()}, {"cuda", cuda_text()}}, session.color()));
}

void backend(Session& session, std::string_view argument) {
  if (argument.empty()) return show_backend(session);
  interp::host::choose_backend(session.interpreter(), argument);
}

constexpr std::array<Command, 1> kBackendCommands{{
    {"backend", "[name]", "Compiling", "how compiled functions run, and what compiles for which device",
     "The choice is about functions that become hot from then on; `jit(f, backend=…)` chooses for one "
     "function,\n"
     "and `kiln --backend` for a program. What was compiled is forgotten. No result depends on it.\n\n"
     "kiln> :backend eager\nkiln> :backend fused\n",
     backend, in_programs("set_backend(\"fused\")")},
}};

}  // namespace

std::span<const Command> backend_commands() { return kBackendCommands; }

}  // namespace kiln::repl
