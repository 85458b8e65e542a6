// Commands that look at what is there: who type mem bt.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "repl/command.h"
#include "repl/table.h"
#include "repl/terminal.h"
#include "repl/type_of.h"
#include "repl/units.h"
#include "repl/variables.h"
#include "tensor/device_memory.h"
#include "tensor/interrupt.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

void who(Session& session, std::string_view word) {
  std::vector<Variable> all = variables(session.interpreter());
  std::erase_if(all, [&](const Variable& v) { return v.name.find(word) == std::string::npos; });
  if (all.empty()) {
    return session.write(word.empty() ? std::string("no variables yet\n")
                                      : fmt::format("no variable has `{}` in its name\n", word));
  }
  std::vector<std::vector<std::string>> rows;
  for (const Variable& v : all) {
    rows.push_back({v.name, interp::describe(v.value), v.device.empty() ? "-" : v.device,
                    v.bytes ? bytes_text(static_cast<std::size_t>(*v.bytes)) : "-", v.aliases});
  }
  session.write(
      table_text({{"name"}, {"type"}, {"device"}, {"bytes", true}, {"aliases"}}, rows, session.color()));
}

void type(Session& session, std::string_view argument) {
  if (argument.empty()) usage_error(*find_command("type"), "give an expression");
  session.write(type_of(session, argument) + "\n");
}

// The default device, and those of the variables.
std::vector<Device> devices_of(Session& session) {
  std::vector<Device> found{default_device()};
  for (const Variable& v : variables(session.interpreter())) {
    if (!v.value.is(Tag::Tensor)) continue;
    const Device device = v.value.as_tensor().device();
    if (std::find(found.begin(), found.end(), device) == found.end()) found.push_back(device);
  }
  return found;
}

void write_memory(Session& session, Device device) {
  const MemoryUse use = memory_use(device);
  session.write(fmt::format("{}: {} in {} buffers, at most {} so far\n", to_string(device),
                            bytes_text(use.live_bytes), use.live_buffers, bytes_text(use.peak_bytes)));
  if (const std::string more = memory_of(device).details(device); !more.empty())
    session.write("  " + more + "\n");
}

struct HeldStorage {
  std::size_t bytes = 0;
  std::string names;
};

// A name stands once for each storage.
void note_held(std::map<std::uint64_t, HeldStorage>& held, const std::string& name, const Value& value) {
  std::set<std::uint64_t> own;
  for (const Tensor& tensor : held_tensors(value)) {
    check_interrupt();
    if (tensor.is_number() || !own.insert(tensor.storage()->id()).second) continue;
    HeldStorage& entry = held[tensor.storage()->id()];
    entry.bytes = tensor.storage()->bytes();
    entry.names += (entry.names.empty() ? "" : ", ") + name;
  }
}

void memory(Session& session, std::string_view argument) {
  if (argument == "reset") {
    reset_peak(default_device());
    return session.write("the peak counts from here\n");
  }
  for (const Device each : devices_of(session)) write_memory(session, each);
  // One line per storage, largest first: views of one storage cost nothing more.
  std::map<std::uint64_t, HeldStorage> held;
  for (const Variable& v : variables(session.interpreter())) note_held(held, v.name, v.value);
  for (const LoggedEntry& entry : session.log().entries())
    note_held(held, "_" + std::to_string(entry.number), entry.value);
  std::vector<HeldStorage> rows;
  for (auto& [id, entry] : held) rows.push_back(std::move(entry));
  std::sort(rows.begin(), rows.end(), [](const HeldStorage& a, const HeldStorage& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.names < b.names;
  });
  if (rows.size() > 20) rows.resize(20);
  for (const HeldStorage& row : rows)
    session.write(fmt::format("  {:>9}  {}\n", bytes_text(row.bytes), row.names));
}

void backtrace(Session& session, std::string_view argument) {
  if (!argument.empty() && argument != "full") {
    usage_error(*find_command("bt"), fmt::format("`{}` is not known", argument));
  }
  if (!session.last_error()) return session.write("there was no error yet\n");
  session.write(lang::render(
      *session.last_error(),
      {.color = session.color(), .full_trace = argument == "full", .links = session.options().links}));
}

constexpr std::array<Command, 4> kLookingCommands{{
    {"who", "[part of a name]", "Looking", "variables with type, device, bytes and what they alias",
     "kiln> x = zeros(3, 4)\nkiln> y = x[0]\nkiln> :who\n", who, in_programs("who()")},
    {"type", "e", "Looking", "the type of an expression, without running it",
     "Names, literals, fields, operators and ops are worked out from types alone. A function of yours runs "
     "on\n"
     "tensors without elements and prints nothing; where it asks for an element, the type is not known.\n\n"
     "kiln> x = zeros(3, 4)\nkiln> :type x @ x.t()\nf32[3, 3]\nkiln> :type x.shape\ntuple of 2\n",
     type, in_programs("eval_shape(f, x)")},
    {"mem", "[reset]", "Looking", "live tensor memory, its peak, and who holds it",
     "kiln> x = zeros(1000)\nkiln> :mem\n", memory, in_programs("memory()"), "reset"},
    {"bt", "[full]", "Looking", "the last error again; `full` with every call", "kiln> :bt\nkiln> :bt full\n",
     backtrace, no_function("an error that is caught has its `trace`"), "full"},
}};

}  // namespace

std::span<const Command> looking_commands() { return kLookingCommands; }

}  // namespace kiln::repl
