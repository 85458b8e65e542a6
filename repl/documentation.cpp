#include "repl/documentation.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "interpreter/values/natives.h"
#include "lang/error_codes.h"
#include "repl/columns.h"
#include "repl/command.h"
#include "repl/definition.h"
#include "repl/explain.h"
#include "repl/highlight.h"
#include "repl/lines.h"
#include "repl/prompt_mark.h"
#include "repl/symbols.h"
#include "repl/terminal.h"
#include "tensor/op.h"
#include "tensor/op_names.h"
#include "tensor/operators.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

struct Receiver {
  Tag tag;
  std::string_view name;
};
// Types that have methods of their own, in the order in which a bare method name is looked for.
constexpr std::array<Receiver, 16> kReceivers{{{Tag::Tensor, "tensor"},
                                               {Tag::List, "list"},
                                               {Tag::Str, "str"},
                                               {Tag::Dict, "dict"},
                                               {Tag::Set, "set"},
                                               {Tag::Tuple, "tuple"},
                                               {Tag::Range, "range"},
                                               {Tag::File, "file"},
                                               {Tag::Iterator, "iterator"},
                                               {Tag::Error, "error"},
                                               {Tag::Module, "module"},
                                               {Tag::Int, "int"},
                                               {Tag::Float, "float"},
                                               {Tag::Complex, "complex"},
                                               {Tag::DType, "dtype"},
                                               {Tag::Graph, "graph"}}};

std::string_view name_of_signature(std::string_view signature) {
  return signature.substr(0, std::min(signature.find('('), signature.size()));
}

// ---- Ops ----

}  // namespace

std::vector<const Op*> ops_named(std::string_view name) {
  std::vector<const Op*> found;
  for (const Op* op : OpTable::get().ops()) {
    const std::string_view own = op->name();
    if (own == name || (own.starts_with(name) && own[name.size()] == '.')) found.push_back(op);
  }
  return found;
}

namespace {

std::vector<std::string> notes_of(const Op& op) {
  std::vector<std::string> notes;
  const std::string name(name_of_signature(op.name()));
  if (op.has(kInplace)) notes.push_back("`x." + name + "_(…)` writes the result into x");
  if (op.view != nullptr) notes.push_back("the result is a view: it shares x's elements");
  if (op.communicates())
    notes.push_back("all ranks call it together, so compiled code never drops, merges or repeats it");
  if (op.draws()) notes.push_back("random: `seed(n)` makes it repeatable");
  if (op.has(kDataDependent)) notes.push_back("the result's shape depends on the data");
  if (!op.vjp && op.vjp.missing != kComposite && op.lowering != Lowering::Create) {
    notes.push_back("no gradient: " + std::string(op.vjp.missing));
  }
  for (const std::string_view note : op.dtypes_note) notes.emplace_back(note);
  return notes;
}

std::optional<Page> op_page(std::string_view any_name) {
  const std::string name = own_name(any_name);
  std::vector<const Op*> ops = ops_named(name);
  const bool in_place = ops.empty() && name.ends_with('_');
  if (in_place) ops = ops_named(std::string_view(name).substr(0, name.size() - 1));
  if (ops.empty() || (in_place && !ops.front()->has(kInplace))) return std::nullopt;
  Page page{std::string(name), "op, " + std::string(ops.front()->family), {}, {}, {}};
  for (const Op* op : ops) page.signatures.push_back(op->signature.text);
  if (in_place) page.documentation = "Writes into its first argument, and returns it, what this computes:\n";
  page.documentation += ops.front()->documentation;
  if (!ops.front()->example.empty()) page.documentation += "\n" + std::string(ops.front()->example);
  page.notes = notes_of(*ops.front());
  return page;
}

// ---- Methods and fields of built-in types ----

std::optional<Page> method_page(const Receiver& receiver, std::string_view name) {
  for (const interp::NativeDef& def : interp::methods_of(receiver.tag)) {
    const std::string_view signature = def.signature;
    if (name_of_signature(signature) != name) continue;
    const bool field = signature.find('(') == std::string_view::npos;
    const std::string kind = std::string(field ? "field" : "method") + " of " + std::string(receiver.name);
    return Page{std::string(name), kind, {std::string(signature)}, def.documentation, {}};
  }
  return std::nullopt;
}

std::optional<Page> any_method_page(std::string_view name) {
  for (const Receiver& receiver : kReceivers) {
    if (auto page = method_page(receiver, name)) return page;
  }
  return std::nullopt;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

std::string method_names(Tag tag) {
  std::vector<std::string> names;
  for (const interp::NativeDef& def : interp::methods_of(tag)) {
    names.emplace_back(name_of_signature(def.signature));
  }
  return joined(names);
}

// ---- Values ----

Page native_page(const std::string& name, const Value& value) {
  const auto& native = value.as<interp::Native>();
  if (auto page = op_page(native.name)) {
    // A name that ops and host values share has a word on both.
    if (!native.documentation.empty() &&
        page->documentation.find(native.documentation) == std::string::npos) {
      page->notes.push_back("on host values: " + native.documentation);
    }
    return *page;
  }
  return {name, "function", {native.signature}, native.documentation, {}};
}

Page struct_page(const std::string& name, const Value& value) {
  const auto& type = value.as<interp::StructType>();
  Page page{name, "struct", {}, type.documentation, {}};
  const Value* init = type.method("init");
  page.signatures.push_back(init != nullptr ? constructor_signature(type.name, *init)
                                            : type.name + "(" + joined(type.fields) + ")");
  if (!type.fields.empty()) page.notes.push_back("fields: " + joined(type.fields));
  std::vector<std::string> methods;
  for (const auto& method : type.methods) methods.push_back(method.first);
  if (!methods.empty()) page.notes.push_back("methods: " + joined(methods));
  return page;
}

Page module_page(const std::string& name, const Value& value) {
  const auto& module = value.as<interp::Module>();
  Page page{name, "module", {"import " + module.name}, module.documentation, {}};
  std::vector<std::string> names;
  for (const std::string& member : module.names) {
    if (module.find(member) != nullptr && !member.starts_with('_')) names.push_back(member);
  }
  std::sort(names.begin(), names.end());
  page.notes.push_back("names: " + joined(names));
  return page;
}

Page type_page(const std::string& name, const Value& value) {
  const auto& type = value.as<interp::Type>();
  Page page{name, "type", {}, {}, {}};
  if (type.constructor.is(Tag::Native)) {
    page = native_page(name, type.constructor);
    page.kind = "type";
  }
  const std::string methods = method_names(type.instances);
  if (!methods.empty()) page.notes.push_back("fields and methods: " + methods);
  return page;
}

Page value_page(Session& session, const std::string& name, const Value& value) {
  switch (value.tag()) {
    case Tag::Native:
      return native_page(name, value);
    case Tag::Function:
      return function_page(name, value);
    case Tag::StructType:
      return struct_page(name, value);
    case Tag::Module:
      return module_page(name, value);
    case Tag::Type:
      return type_page(name, value);
    case Tag::Method:
      return value_page(session, name, value.as<interp::Method>().function);
    default:
      break;
  }
  Page page{name, "variable", {name + ": " + interp::describe(value)}, {}, {}};
  if (value.is(Tag::Instance)) {
    page.documentation = value.as<interp::Instance>().struct_type().documentation;
    page.notes.push_back("an instance of " + value.as<interp::Instance>().struct_type().name);
  }
  return page;
}

// "list.append", "tensor.sum": a method by the name of its type.
std::optional<Page> qualified_method_page(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  for (const Receiver& receiver : kReceivers) {
    if (receiver.name != name.substr(0, dot)) continue;
    if (auto page = method_page(receiver, name.substr(dot + 1))) return page;
    if (receiver.tag == Tag::Tensor) return op_page(name.substr(dot + 1));
  }
  return std::nullopt;
}

std::optional<Page> command_page(std::string_view name) {
  if (name.starts_with(':')) name.remove_prefix(1);
  const Command* command = find_command(name);
  if (command == nullptr) return std::nullopt;
  std::string usage = ":" + std::string(command->name);
  if (!command->usage.empty()) usage += " " + std::string(command->usage);
  std::string text(command->summary);
  text += "\n" + std::string(command->page);
  const InPrograms& same = command->in_programs;
  return Page{std::string(command->name),
              "command",
              {usage},
              std::move(text),
              {same.expression.empty() ? "not in programs: " + std::string(same.why_none)
                                       : fmt::format("in programs: `{}`", same.expression)}};
}

// A keyword, an operator or a bracket, with what tensors make of it.
std::optional<Page> symbol_page(std::string_view name) {
  const Symbol* symbol = find_symbol(name);
  if (symbol == nullptr) return std::nullopt;
  const bool is_word = std::isalpha(static_cast<unsigned char>(name.front())) != 0;
  Page page{std::string(name), is_word ? "keyword" : "symbol", {}, std::string(symbol->documentation), {}};
  page.signatures.emplace_back(symbol->form);
  const std::vector<std::string_view> names = lines_of(symbol->names);
  if (const Op* op = operator_on_tensors(name, 2))
    page.notes.push_back("of tensors it is `" + std::string(op->name()) + "`");
  if (names.size() > 1) page.notes.push_back("the page of " + joined({names.begin(), names.end()}));
  return page;
}

// ".a.b" from a value on.
std::optional<Value> follow(Session& session, Value value, std::string_view path) {
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t dot = std::min(path.find('.'), path.size());
    try {
      value = session.interpreter().attribute(value, path.substr(0, dot));
    } catch (const lang::UserError&) {
      return std::nullopt;
    }
    path.remove_prefix(dot);
  }
  return value;
}

}  // namespace

std::optional<Value> find_value(Session& session, std::string_view dotted) {
  const std::size_t dot = std::min(dotted.find('.'), dotted.size());
  const Value* start = session.interpreter().lookup(dotted.substr(0, dot));
  if (start == nullptr) return std::nullopt;
  return follow(session, *start, dotted.substr(dot));
}

std::optional<Value> find_documented(Session& session, std::string_view dotted) {
  if (auto value = find_value(session, dotted)) return value;
  const std::string_view name = dotted.substr(0, dotted.find('.'));
  const auto modules = interp::stdlib_modules();
  if (std::find(modules.begin(), modules.end(), name) == modules.end()) return std::nullopt;
  return follow(session, session.interpreter().import(name, {}), dotted.substr(name.size()));
}

std::optional<Page> find_page(Session& session, std::string_view name) {
  name = trim(name);
  if (name.starts_with(':') && name.size() > 1) return command_page(name);
  if (const auto value = find_documented(session, name))
    return value_page(session, std::string(name), *value);
  if (auto page = symbol_page(name)) return page;
  if (const lang::ErrorCode* code = lang::find_error_code(name)) return page_of(*code);
  if (auto page = op_page(name)) return page;
  if (auto page = qualified_method_page(name)) return page;
  if (auto page = any_method_page(name)) return page;
  return command_page(name);
}

std::string render(const Page& page, bool color) {
  const int width = interp::print_options().width;
  std::string text;
  for (const std::string& signature : page.signatures) {
    text += (color ? colored_source(signature) : signature) + "\n";
  }
  text += paint(page.kind, style::kFaint, color) + "\n";
  if (!page.documentation.empty()) {
    text += "\n";
    const std::string documentation = wrapped(page.documentation, width);
    std::string_view rest = documentation;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      const bool code = prompt_length(trim(line)) > 0;
      text += paint(line, style::kCode, color && code) + "\n";
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  if (!page.notes.empty()) text += "\n";
  for (const std::string& note : page.notes) text += wrapped(note, width, 2) + "\n";
  return text;
}

std::string summary_of(std::string_view documentation) {
  documentation = trim(documentation);
  std::string_view line = documentation.substr(0, std::min(documentation.find('\n'), documentation.size()));
  const std::size_t stop = line.find(". ");
  return std::string(line.substr(0, stop == std::string_view::npos ? line.size() : stop));
}

std::vector<Entry> all_entries(Session& session) {
  std::vector<Entry> entries;
  for (const std::string& name : session.interpreter().names()) {
    if (is_value_name(name)) continue;
    const Page page = value_page(session, name, *session.interpreter().lookup(name));
    entries.push_back(
        {name, page.kind,
         page.documentation.empty() ? page.signatures.front() : summary_of(page.documentation)});
  }
  for (const Receiver& receiver : kReceivers) {
    for (const interp::NativeDef& def : interp::methods_of(receiver.tag)) {
      const std::string name =
          std::string(receiver.name) + "." + std::string(name_of_signature(def.signature));
      entries.push_back({name, "method", summary_of(def.documentation)});
    }
  }
  for (const Symbol& symbol : symbols()) {
    for (const std::string_view name : lines_of(symbol.names))
      entries.push_back({std::string(name), symbol_page(name)->kind, summary_of(symbol.documentation)});
  }
  for (const lang::ErrorCode& code : lang::error_codes())
    entries.push_back({std::string(code.code), std::string(code.kind), std::string(code.title)});
  for (const Command* command : all_commands()) {
    entries.push_back({":" + std::string(command->name), "command", std::string(command->summary)});
  }
  return entries;
}

Mentions mentions_of(Session& session, std::string_view word) {
  const auto has_word = [word](std::string_view text) {
    const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
    return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
  };
  Mentions found;
  for (Entry& entry : all_entries(session)) {
    const bool by_name = has_word(entry.name);
    if (by_name || has_word(entry.summary))
      (by_name ? found.by_name : found.by_summary).push_back(std::move(entry));
  }
  return found;
}

void unknown_name(Session& session, std::string_view name) {
  const std::vector<Entry> entries = all_entries(session);
  std::vector<std::string_view> names(entries.size());
  std::transform(entries.begin(), entries.end(), names.begin(),
                 [](const Entry& entry) { return std::string_view(entry.name); });
  const std::string_view near = lang::nearest(name, names);
  command_error("NameError", "nothing is known of `" + std::string(name) + "`",
                near.empty() ? "`:apropos word` searches names and documentation"
                             : "did you mean `" + std::string(near) + "`?");
}

}  // namespace kiln::repl
