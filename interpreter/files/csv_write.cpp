// Tables as comma separated values: numbers as the shortest text that reads back as they are.
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "interpreter/files/formats.h"
#include "interpreter/interpreter.h"
#include "interpreter/values/natives.h"
#include "tensor/host_view.h"

namespace kiln::interp::files {
namespace {

// What readers would take off: spaces around names, a byte-order mark in front of everything.
bool has_lost_ends(std::string_view field) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  return !field.empty() &&
         (is_space(field.front()) || is_space(field.back()) || field.starts_with("\xef\xbb\xbf"));
}

// `alone` on its line an empty field would be an empty line, which readers pass over.
void write_field(std::string& out, std::string_view field, char delimiter, bool alone) {
  const char special[] = {delimiter, '"', '\n', '\r', '\0'};
  if (field.find_first_of(special) == std::string_view::npos && !has_lost_ends(field) &&
      !(alone && field.empty())) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

// A column of numbers, as the host sees it.
struct Numbers {
  explicit Numbers(const kiln::Tensor& column) : dtype(column.dtype()), elements(real(column), dtype) {}
  static const kiln::Tensor& real(const kiln::Tensor& column) {
    if (!kiln::is_complex(column.dtype())) return column;
    raise("DTypeError",
          fmt::format("save: a .csv file has real numbers alone, a column is {}", kiln::name(column.dtype())),
          "save real and imaginary parts as columns of their own, or as .npy");
  }
  kiln::DType dtype;
  kiln::HostView elements;
};

std::string element_text(const Numbers& x, std::size_t i) {
  return kiln::visit_dtype(x.dtype, [&]<class T>() -> std::string {
    const T value = x.elements.as<T>()[i];
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "1" : "0";
    } else if constexpr (std::is_integral_v<T>) {
      return std::to_string(static_cast<std::int64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      return repr_of(value);  // reads back as the same number, and as a float
    } else {
      return repr_of(kiln::to_float(value));
    }
  });
}

std::size_t rows_of(const Column& column) {
  if (const auto* x = std::get_if<kiln::Tensor>(&column)) return static_cast<std::size_t>(x->size(0));
  return std::get<std::vector<std::string>>(column).size();
}

void check_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!reads_as_number(name)) continue;
    raise(
        "ValueError",
        "save: a column has the name '" + name + "', a number, by which its row would be read as one of data",
        "give it a name that is none, as 'c" + name + "'");
  }
}

}  // namespace

void write_csv(Sink& sink, const Table& table, char delimiter) {
  check_names(table.names);
  std::string out;
  const bool alone = table.columns.size() == 1;
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    if (c > 0) out += delimiter;
    write_field(out, table.names[c], delimiter, alone);
  }
  if (!table.names.empty()) out += '\n';
  std::vector<std::optional<Numbers>> numbers;  // nothing for texts
  for (const Column& each : table.columns) {
    const auto* const x = std::get_if<kiln::Tensor>(&each);
    numbers.push_back(x ? std::optional<Numbers>(*x) : std::nullopt);
  }
  const std::size_t rows = table.columns.empty() ? 0 : rows_of(table.columns.front());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) out += delimiter;
      if (numbers[c]) {
        out += element_text(*numbers[c], r);
      } else {
        write_field(out, std::get<std::vector<std::string>>(table.columns[c])[r], delimiter, alone);
      }
    }
    out += '\n';
    if (out.size() > (1U << 20U)) {
      sink.text(out);
      out.clear();
    }
  }
  sink.text(out);
}

}  // namespace kiln::interp::files
