// Commands that look at what is there: who type mem bt.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "repl/command.h"
#include "repl/terminal.h"
#include "repl/type_of.h"
#include "repl/units.h"
#include "tensor/device_memory.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

struct Variable {
  std::string name;
  Value value;
};

std::vector<Variable> variables(Session& session) {
  std::vector<Variable> found;
  const interp::Module& main = session.interpreter().main();
  for (const std::string& name : main.names) {
    const Value* value = main.find(name);
    if (value != nullptr && name != "_") found.push_back({name, *value});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

// For each name what it is the same as (`is`) or shares elements with: "is y", "shares x".
std::map<std::string, std::string> aliases(const std::vector<Variable>& all) {
  std::map<std::string, std::string> found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < all.size(); ++j) {
      const Value &a = all[i].value, &b = all[j].value;
      if (i == j || a.tag() < interp::kFirstCounted || a.tag() != b.tag()) continue;
      const bool same = identical(a, b);
      const bool shares = !same && a.is(Tag::Tensor) && shares_storage(a.as_tensor(), b.as_tensor());
      if (!same && !shares) continue;
      std::string& text = found[all[i].name];
      text += (text.empty() ? "" : ", ") + std::string(same ? "is " : "shares ") + all[j].name;
    }
  }
  return found;
}

std::string notes_on(const Value& value) {
  if (!value.is(Tag::Tensor)) return {};
  return value.as_tensor().is_contiguous() ? "" : "strided";
}

void who(Session& session, std::string_view word) {
  std::vector<Variable> all = variables(session);
  const auto shared = aliases(all);
  std::erase_if(all, [&](const Variable& v) { return v.name.find(word) == std::string::npos; });
  if (all.empty()) {
    return session.write(word.empty() ? std::string("no variables yet\n")
                                      : fmt::format("no variable has `{}` in its name\n", word));
  }
  std::size_t name_width = 4, type_width = 4;
  for (const Variable& v : all) {
    name_width = std::max(name_width, std::min<std::size_t>(v.name.size(), 24));
    type_width = std::max(type_width, std::min<std::size_t>(interp::describe(v.value).size(), 32));
  }
  session.write(paint(fmt::format("{:<{}}  {:<{}}  {:<6}  {:>9}  {}", "name", name_width, "type", type_width,
                                  "device", "bytes", "aliases"),
                      style::kFaint, session.color()) +
                "\n");
  for (const Variable& v : all) {
    std::string device = "-", bytes = "-";
    if (v.value.is(Tag::Tensor)) {
      const Tensor tensor = v.value.as_tensor();
      device = to_string(tensor.device());
      bytes = bytes_text(static_cast<std::size_t>(tensor.numel()) * size_of(tensor.dtype()));
    }
    std::string alias = shared.contains(v.name) ? shared.at(v.name) : "";
    if (const std::string note = notes_on(v.value); !note.empty())
      alias += (alias.empty() ? "" : "; ") + note;
    std::string line = fmt::format("{:<{}}  {:<{}}  {:<6}  {:>9}  {}", v.name, name_width,
                                   interp::describe(v.value), type_width, device, bytes, alias);
    line.erase(line.find_last_not_of(' ') + 1);
    session.write(line + "\n");
  }
}

void type(Session& session, std::string_view argument) {
  if (argument.empty()) usage_error(*find_command("type"), "give an expression");
  session.write(type_of(session, argument) + "\n");
}

// The default device, and those of the variables.
std::vector<Device> devices_of(Session& session) {
  std::vector<Device> found{default_device()};
  for (const Variable& v : variables(session)) {
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

void memory(Session& session, std::string_view argument) {
  if (argument == "reset") {
    reset_peak(default_device());
    return session.write("the peak counts from here\n");
  }
  for (const Device each : devices_of(session)) write_memory(session, each);
  // One line per storage, largest first: views of one storage cost nothing more.
  struct Held {
    std::size_t bytes = 0;
    std::string names;
  };
  std::map<std::uint64_t, Held> held;
  for (const Variable& v : variables(session)) {
    if (!v.value.is(Tag::Tensor)) continue;
    const Tensor tensor = v.value.as_tensor();
    Held& entry = held[tensor.storage()->id()];
    entry.bytes = tensor.storage()->bytes();
    entry.names += (entry.names.empty() ? "" : ", ") + v.name;
  }
  std::vector<Held> rows;
  for (auto& [id, entry] : held) rows.push_back(std::move(entry));
  std::sort(rows.begin(), rows.end(), [](const Held& a, const Held& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.names < b.names;
  });
  if (rows.size() > 20) rows.resize(20);
  for (const Held& row : rows) session.write(fmt::format("  {:>9}  {}\n", bytes_text(row.bytes), row.names));
}

void backtrace(Session& session, std::string_view argument) {
  if (!argument.empty() && argument != "full") {
    usage_error(*find_command("bt"), fmt::format("`{}` is not known", argument));
  }
  if (!session.last_error()) return session.write("there was no error yet\n");
  session.write(lang::render(*session.last_error(), {session.color(), argument == "full"}));
}

constexpr std::array<Command, 4> kCommands{{
    {"who", "[part of a name]", "Looking", "variables with type, device, bytes and what they alias",
     "kiln> x = zeros(3, 4)\nkiln> y = x[0]\nkiln> :who\n", who},
    {"type", "e", "Looking", "the type of an expression, without running it",
     "Names, literals, fields, operators and ops are worked out from types alone. For a call of\n"
     "a function of yours it says that it cannot know.\n\n"
     "kiln> x = zeros(3, 4)\nkiln> :type x @ x.t()\nf32[3, 3]\nkiln> :type x.shape\ntuple of 2\n",
     type},
    {"mem", "[reset]", "Looking", "live tensor memory, its peak, and who holds it",
     "kiln> x = zeros(1000)\nkiln> :mem\n", memory},
    {"bt", "[full]", "Looking", "the last error again; `full` with every call", "kiln> :bt\nkiln> :bt full\n",
     backtrace},
}};

}  // namespace

std::span<const Command> looking_commands() { return kCommands; }

}  // namespace kiln::repl
