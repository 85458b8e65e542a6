#include "repl/model_tree.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "interpreter/text/object_text.h"
#include "interpreter/values/natives.h"
#include "repl/lines.h"
#include "repl/table.h"
#include "repl/units.h"
#include "repl/variables.h"
#include "tensor/autograd.h"

namespace kiln::repl {
namespace {

using interp::Instance;
using interp::Tag;
using interp::Value;

using Named = std::pair<std::string, Value>;

constexpr int kDeepestModel = 100;
constexpr std::size_t kMostSetting = 60;  // bytes of the text of a plain field

// What a value holds one level down, by name.
std::vector<Named> children(const Value& value) {
  std::vector<Named> found;
  const auto number_all = [&](const std::vector<Value>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) found.emplace_back(std::to_string(i), items[i]);
  };
  switch (value.tag()) {
    case Tag::List:
      number_all(value.as<interp::List>().items);
      break;
    case Tag::Tuple:
      number_all(value.as<interp::Tuple>().items);
      break;
    case Tag::Dict:
      for (const interp::Dict::Entry& each : value.as<interp::Dict>().entries()) {
        if (each.live && each.key.is(Tag::Str))
          found.emplace_back(each.key.as<interp::Str>().text, each.value);
      }
      break;
    case Tag::Instance: {
      auto& instance = value.as<Instance>();
      for (const std::string& name : instance.struct_type().fields) {
        if (const Value* field = instance.find(name)) found.emplace_back(name, *field);
      }
      for (const auto& [name, field] : instance.extra) found.emplace_back(name, field);
      break;
    }
    default:
      break;
  }
  return found;
}

bool is_container(const Value& value) {
  return value.is(Tag::List) || value.is(Tag::Tuple) || value.is(Tag::Dict);
}

bool is_layer_function(const Value& value) {
  return value.is(Tag::Function) || value.is(Tag::Native) || value.is(Tag::Method);
}

// Does a container hold layers or tensors, so that it is a part of the tree and no setting? Containers within
// containers are looked into some levels deep: they may hold themselves.
bool holds_parts(const Value& value, int levels = 5) {
  if (!is_container(value) || levels == 0) return false;
  const std::vector<Named> all = children(value);
  return std::any_of(all.begin(), all.end(), [&](const Named& each) {
    return each.second.is(Tag::Instance) || each.second.is(Tag::Tensor) || is_layer_function(each.second) ||
           holds_parts(each.second, levels - 1);
  });
}

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

// Columns of a text, of names and types: no character is wide.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// Items with commas between; those for which the line has no room go on below the first.
std::string wrapped_items(const std::vector<std::string>& items, std::size_t indent, std::size_t width) {
  std::string text;
  std::size_t column = indent;
  for (std::size_t k = 0; k < items.size(); ++k) {
    const std::string item = items[k] + (k + 1 < items.size() ? "," : "");
    const std::size_t size = columns_of(item);
    if (k > 0 && column + 1 + size > width) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (k > 0) {
      text += ' ';
      ++column;
    }
    text += item;
    column += size;
  }
  return text;
}

struct Part {
  std::vector<std::string> columns;  // name and type, parameters, bytes
  std::vector<std::string> holds;    // tensors, then settings
};

// What parts hold stands to the right of the table, as the last column.
std::string table_of(const std::vector<Part>& parts, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const Part& part : parts) rows.push_back(part.columns);
  const std::string table = table_text({{""}, {"parameters", true}, {"bytes", true}}, rows, false);
  const std::vector<std::string_view> lines = lines_of(table);
  std::size_t indent = 0;
  for (const std::string_view line : lines) indent = std::max(indent, columns_of(line) + 2);
  std::string text = std::string(lines.front()) + "\n";
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::string_view line = lines[k + 1];
    text += line;
    if (!parts[k].holds.empty())
      text += std::string(indent - columns_of(line), ' ') + wrapped_items(parts[k].holds, indent, width);
    text += "\n";
  }
  return text;
}

class Tree {
 public:
  explicit Tree(interp::Interpreter& interpreter) : interpreter_(interpreter) {}

  std::string text(const Value& model) {
    add_struct(model, "", 0);
    const std::vector<Tensor> held = held_tensors(model);
    const bool has_gradients =
        std::any_of(held.begin(), held.end(), [](const Tensor& x) { return static_cast<bool>(grad_of(x)); });
    return table_of(parts_, static_cast<std::size_t>(interp::print_options().width)) +
           (has_gradients ? "bytes count the gradients, too\n" : "");
  }

 private:
  void add_struct(const Value& value, const std::string& path, int depth) {
    if (depth > kDeepestModel || std::find(active_.begin(), active_.end(), value.object()) != active_.end())
      return;
    active_.push_back(value.object());
    const std::size_t at = parts_.size();
    parts_.push_back(part_of(value, title(path, depth) + std::string(type_name(value))));
    std::vector<std::string> tensors, settings;
    for (const auto& [name, field] : children(value)) add_field(field, path, name, depth, tensors, settings);
    tensors.insert(tensors.end(), settings.begin(), settings.end());
    parts_[at].holds = std::move(tensors);
    active_.pop_back();
  }

  void add_field(const Value& field, const std::string& path, const std::string& name, int depth,
                 std::vector<std::string>& tensors, std::vector<std::string>& settings) {
    const std::string full = path.empty() ? name : path + "." + name;
    if (field.is(Tag::Tensor)) {
      tensors.push_back(name + " " + tensor_text(field.as_tensor(), full));
    } else if (field.is(Tag::Instance)) {
      add_struct(field, full, depth + 1);
    } else if (holds_parts(field)) {
      add_items(field, full, depth, tensors);
    } else if (!field.is_none() && !is_training(name, field)) {
      settings.push_back(name + "=" + setting_text(field));
    }
  }

  // Layers are made in training mode: only the other one is said.
  static bool is_training(const std::string& name, const Value& field) {
    return name == "training" && field.is(Tag::Bool) && field.as_bool();
  }

  // The layers in a list stand below the struct that has the list.
  void add_items(const Value& container, const std::string& path, int depth,
                 std::vector<std::string>& tensors) {
    if (std::find(active_.begin(), active_.end(), container.object()) != active_.end()) return;
    active_.push_back(container.object());
    for (const auto& [name, item] : children(container)) {
      const std::string full = path + "." + name;
      if (item.is(Tag::Tensor)) {
        tensors.push_back(path.substr(path.rfind('.') + 1) + "." + name + " " +
                          tensor_text(item.as_tensor(), full));
      } else if (item.is(Tag::Instance)) {
        add_struct(item, full, depth + 1);
      } else if (is_layer_function(item)) {
        parts_.push_back({{title(full, depth + 1) + interp::object_text(item), "", ""}, {}});
      } else if (holds_parts(item)) {
        add_items(item, full, depth, tensors);
      }
    }
    active_.pop_back();
  }

  std::string setting_text(const Value& field) {
    const std::string text = interp::echo_of(interpreter_, field);
    return text.size() > kMostSetting ? std::string(type_name(field)) + " …" : text;
  }

  static std::string title(const std::string& path, int depth) {
    return std::string(static_cast<std::size_t>(depth) * 2, ' ') + (path.empty() ? "" : path + ": ");
  }

  // "f32[3, 4]", and what is not to be expected of a weight.
  std::string tensor_text(const Tensor& x, const std::string& path) {
    const auto [first, is_new] = names_.emplace(x.impl(), path);
    std::string text = to_string(x.type());
    if (!is_new) return text + " (the same as " + first->second + ")";
    if (!is_parameter(x)) return text + " (buffer)";
    return requires_grad(x) ? text : text + " (frozen)";
  }

  static Part part_of(const Value& value, std::string name) {
    const std::vector<Tensor> held = held_tensors(value);
    if (held.empty()) return {{std::move(name), "", ""}, {}};
    std::int64_t parameters = 0;
    for (const Tensor& each : held)
      parameters += is_parameter(each) ? static_cast<std::int64_t>(each.numel()) : 0;
    return {{std::move(name), grouped(parameters), bytes_text(static_cast<std::size_t>(memory_of(held)))},
            {}};
  }

  interp::Interpreter& interpreter_;
  std::vector<Part> parts_;
  std::map<const TensorImpl*, std::string> names_;
  std::vector<const interp::Object*> active_;
};

}  // namespace

std::optional<std::string> model_tree(interp::Interpreter& interpreter, const Value& value) {
  if (!value.is(Tag::Instance)) return std::nullopt;
  const interp::StructType& type = value.as<Instance>().struct_type();
  if (type.method("call") == nullptr || type.method("repr") != nullptr) return std::nullopt;
  const std::vector<Tensor> held = held_tensors(value);
  if (std::none_of(held.begin(), held.end(), [](const Tensor& x) { return is_parameter(x); }))
    return std::nullopt;
  return Tree(interpreter).text(value);
}

}  // namespace kiln::repl
