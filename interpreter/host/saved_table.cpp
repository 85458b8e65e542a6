// Tables as values, and back.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "interpreter/host/saved_values.h"
#include "interpreter/vm/arguments.h"
#include "tensor/functions.h"
#include "tensor/how_many.h"

namespace kiln::interp::host {

using files::Column;
using files::Table;

namespace {

Value column_value(const Column& column) {
  if (const auto* x = std::get_if<kiln::Tensor>(&column)) return Value(*x);
  const auto& texts = std::get<std::vector<std::string>>(column);
  return list_value(std::vector<Value>(texts.begin(), texts.end()));
}

Column column_from(const std::string& name, const Value& v) {
  if (v.is(Tag::Tensor)) {
    if (v.as_tensor().rank() == 1) return v.as_tensor();
    raise("ShapeError", fmt::format("save: column '{}' must have one dimension, is {}", name, describe(v)));
  }
  const auto* items = items_of(v);
  if (!items)
    raise("TypeError", fmt::format("save: column '{}' must be a tensor or a list, is {}", name, describe(v)));
  std::vector<std::string> texts;
  for (const Value& item : *items) {
    if (item.is(Tag::Str)) {
      texts.push_back(text_of(item));
    } else if (item.is(Tag::Float)) {
      texts.push_back(repr_of(item.as_float()));
    } else if (item.is_number()) {
      texts.push_back(std::to_string(item.as_int()));
    } else {
      raise("TypeError", fmt::format("save: column '{}' holds {}", name, describe(item)));
    }
  }
  return texts;
}

}  // namespace

Value table_value(const Table& table) {
  if (!table.names.empty()) {
    auto* dict = new Dict();
    Value result{static_cast<Object*>(dict)};
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      dict->set(Value(table.names[c]), column_value(table.columns[c]));
    return result;
  }
  std::vector<kiln::Tensor> numbers;
  for (const Column& column : table.columns) {
    if (const auto* x = std::get_if<kiln::Tensor>(&column)) numbers.push_back(*x);
  }
  if (numbers.size() < table.columns.size()) {
    std::vector<Value> columns;
    for (const Column& column : table.columns) columns.push_back(column_value(column));
    return list_value(std::move(columns));
  }
  if (numbers.empty()) return Value(kiln::ops::zeros(std::array<kiln::Dim, 2>{0, 0}));
  return Value(kiln::ops::stack(numbers, 1));
}

Table table_from(const Value& value) {
  Table table;
  if (value.is(Tag::Dict)) {
    std::int64_t rows = -1;
    for (const auto& entry : value.as<Dict>().entries()) {
      if (!entry.live) continue;
      if (!entry.key.is(Tag::Str)) {
        raise("TypeError",
              fmt::format("save: the name of a column must be a str, is {}", describe(entry.key)),
              "name it by a text with a letter, as \"c1\"");
      }
      table.names.push_back(text_of(entry.key));
      table.columns.push_back(column_from(table.names.back(), entry.value));
      const Column& column = table.columns.back();
      const auto* x = std::get_if<kiln::Tensor>(&column);
      const std::int64_t size =
          x ? x->size(0).fixed()
            : static_cast<std::int64_t>(std::get<std::vector<std::string>>(column).size());
      if (rows >= 0 && size != rows) {
        raise("ShapeError", fmt::format("save: column '{}' has {}, others have {}", table.names.back(),
                                        how_many(size, "row"), rows));
      }
      rows = size;
    }
    return table;
  }
  const kiln::Tensor x = kiln::ops::detach(lone_tensor(value, ".csv"));
  if (x.rank() == 1) {
    table.columns.emplace_back(x);
  } else if (x.rank() == 2) {
    for (kiln::Dim c = 0; c < x.size(1); ++c) table.columns.emplace_back(kiln::ops::select(x, 1, c));
  } else {
    raise("ShapeError", fmt::format("save: a table has one or two dimensions, got {}", describe(value)));
  }
  return table;
}

}  // namespace kiln::interp::host
