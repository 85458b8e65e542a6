// The command that shows which devices there are, and what of CUDA was found where: devices.
#include <fmt/format.h>

#include <array>

#include "repl/command.h"
#include "repl/terminal.h"
#include "repl/units.h"
#include "tensor/backend.h"
#include "tensor/cuda/refusal.h"

namespace kiln::repl {
namespace {

constexpr std::size_t kNameWidth = 10;

void write_row(Session& session, std::string_view name, std::string_view text) {
  std::string line = fmt::format("{:<{}}{}", name, kNameWidth, text);
  line.erase(line.find_last_not_of(' ') + 1);
  session.write(line + "\n");
}

void write_refusal(Session& session, std::string_view name, const cuda::Refusal& refusal) {
  write_row(session, name, refusal.sentence);
  write_row(session, "", paint("help: " + refusal.way_out, style::kFaint, session.color()));
}

void write_card(Session& session, std::size_t number) {
  const Device device{Device::Kind::Cuda, static_cast<std::int8_t>(number)};
  const cuda::Card& card = cuda::driver().cards[number];
  write_row(session, to_string(device),
            fmt::format("{}, {}, compute capability {}.{}{}", card.name, bytes_text(card.bytes),
                        card.capability / 10, card.capability % 10,
                        device == default_device() ? ", the default" : ""));
  if (refusal_of(cuda::nvrtc())) return;  // which its own row tells
  if (const auto refusal = refusal_of(card, cuda::nvrtc())) write_refusal(session, "", *refusal);
}

void write_library(Session& session, const cuda::Finding& found) {
  const std::string_view name = cuda::name(found.library);
  if (const auto refusal = refusal_of(found)) return write_refusal(session, name, *refusal);
  write_row(session, name, fmt::format("{}, {} ({})", to_string(found.version), found.path, found.found_by));
}

void show_devices(Session& session, std::string_view argument) {
  if (!argument.empty()) usage_error(*find_command("devices"), fmt::format("`{}` is not known", argument));
  for (const Device each : devices()) {
    if (each.kind != Device::Kind::Cuda)  // each card has a row of its own
      write_row(session, to_string(each), each == default_device() ? "the default" : "");
  }
  for (std::size_t card = 0; card < cuda::driver().cards.size(); ++card) write_card(session, card);
  write_library(session, cuda::driver());
  write_library(session, cuda::nvrtc());
  write_library(session, cuda::cublaslt());
  write_library(session, cuda::nccl());
}

constexpr std::array<Command, 1> kDevicesCommands{{
    {"devices", "", "Looking", "which devices there are, and what of CUDA was found where",
     "For each library of CUDA it tells the version, the file, and what led there: one of the\n"
     "variables KILN_CUDA_DRIVER, KILN_NVRTC, KILN_CUBLASLT and KILN_NCCL, the system, a toolkit,\n"
     "or the packages of python3. What cannot be used is told with the way out.",
     show_devices, in_programs("devices()")},
}};

}  // namespace

std::span<const Command> device_commands() { return kDevicesCommands; }

}  // namespace kiln::repl
