// Comma separated values as columns of numbers and texts. Text that reads back is the number: what a column's
// type cannot hold is an error that names the cell.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "interpreter/files/csv_rows.h"
#include "interpreter/files/formats.h"
#include "interpreter/interpreter.h"
#include "interpreter/values/natives.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/interrupt.h"

namespace kiln::interp::files {
namespace {

constexpr std::int64_t kMostExact = std::int64_t{1} << 53U;  // beyond it f64 lacks integers

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// What a cell says. `Wide` is an integer that i64 does not hold, `Huge` a number that f64 does not.
enum class Says { Nothing, Int, Wide, Float, Huge, Text };
struct Cell {
  Says says = Says::Nothing;
  std::int64_t whole = 0;                                   // of Int
  double value = std::numeric_limits<double>::quiet_NaN();  // of every number, rounded
};

Cell cell_of(std::string_view field) {
  std::string_view text = trimmed(field);
  if (text.empty()) return {};
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  Cell cell;
  const auto whole = std::from_chars(text.data(), end, cell.whole);
  const bool is_whole = !text.empty() && whole.ptr == end;
  if (is_whole && whole.ec == std::errc()) {
    cell.value = static_cast<double>(cell.whole);
    cell.says = Says::Int;
    return cell;
  }
  const auto number = std::from_chars(text.data(), end, cell.value);
  if (text.empty() || number.ptr != end || number.ec == std::errc::invalid_argument) {
    cell.says = Says::Text;
    return cell;
  }
  // Out of range: zero, or beyond the greatest.
  if (number.ec != std::errc()) cell.value = std::strtod(std::string(text).c_str(), nullptr);
  const bool is_huge = number.ec != std::errc() && std::isinf(cell.value);
  cell.says = is_huge ? Says::Huge : is_whole ? Says::Wide : Says::Float;
  return cell;
}

// What a column can be: i64, f64 (empty cells are nan), or texts.
enum class Kind { Int, Float, Text };

// One column of the file, and how its cells are named in errors.
struct Cells {
  std::vector<std::string> fields;
  const std::vector<std::int64_t>* lines = nullptr;
  std::string name;  // "column 'id'", "field 2"

  [[noreturn]] void refuse(std::size_t row, std::string_view why, std::string help = {}) const {
    const std::string_view text = trimmed(fields[row]);
    throw DamagedFile(fmt::format("line {}, {}: {} {}", (*lines)[row], name,
                                  text.empty() ? "an empty cell" : std::string(text), why),
                      std::move(help));
  }
};

Kind kind_of(const Cells& cells) {
  Kind kind = Kind::Int;
  bool any = false;
  for (const std::string& field : cells.fields) {
    check_interrupt();
    const Says says = cell_of(field).says;
    if (says == Says::Text) return Kind::Text;
    any = any || says != Says::Nothing;
    // An integer that is too wide is told as one, unless the column is texts after all.
    if (says == Says::Nothing || says == Says::Float || says == Says::Huge) kind = Kind::Float;
  }
  return any || cells.fields.empty() ? kind : Kind::Text;
}

template <class T, class Element>
kiln::Tensor tensor_of(const Cells& cells, kiln::DType dtype, const Element& element) {
  const auto size = static_cast<kiln::Dim>(cells.fields.size());
  const kiln::Tensor x = kiln::Tensor::empty(std::span<const kiln::Dim>(&size, 1), dtype);
  const kiln::WritableHostView elements(x);
  T* const out = elements.as<T>();
  for (std::size_t row = 0; row < cells.fields.size(); ++row) {
    check_interrupt();
    out[row] = element(row, cell_of(cells.fields[row]));
  }
  return x;
}

constexpr const char* kRounded = "`load(path, dtype=f64)` rounds it, `load(path, dtype=str)` gives texts";

kiln::Tensor int_column(const Cells& cells) {
  return tensor_of<std::int64_t>(cells, kiln::DType::I64, [&](std::size_t row, const Cell& cell) {
    if (cell.says == Says::Wide) cells.refuse(row, "does not fit in i64", kRounded);
    return cell.whole;
  });
}

kiln::Tensor float_column(const Cells& cells) {
  return tensor_of<double>(cells, kiln::DType::F64, [&](std::size_t row, const Cell& cell) {
    if (cell.says == Says::Wide) cells.refuse(row, "does not fit in i64", kRounded);
    if (cell.says == Says::Huge)
      cells.refuse(row, "does not fit in f64", "`load(path, dtype=str)` gives texts");
    if (cell.says == Says::Int && (cell.whole > kMostExact || cell.whole < -kMostExact))
      cells.refuse(row, "is beyond 2^53, and is among fractions or empty cells, which make its column f64",
                   kRounded);
    return cell.value;
  });
}

// ---- A dtype that was asked for ----

template <class T>
T float_element(const Cells& cells, std::size_t row, const Cell& cell, kiln::DType dtype) {
  const auto check = [&](double value, bool is_finite) {
    if (!is_finite && (cell.says == Says::Huge || std::isfinite(value)))
      cells.refuse(row, fmt::format("does not fit in {}", kiln::name(dtype)));
  };
  if constexpr (std::is_same_v<T, float>) {
    // Rounded once: by way of f64 it could become a neighbour.
    std::string_view text = trimmed(cells.fields[row]);
    if (text.starts_with('+')) text.remove_prefix(1);
    float value = static_cast<float>(cell.value);
    if (std::isfinite(cell.value)) std::from_chars(text.data(), text.data() + text.size(), value);
    check(cell.value, std::isfinite(value));
    return value;
  } else if constexpr (std::is_same_v<T, double>) {
    check(cell.value, std::isfinite(cell.value));
    return cell.value;
  } else {
    T value;
    if constexpr (std::is_same_v<T, kiln::Half>) value = kiln::to_half(static_cast<float>(cell.value));
    if constexpr (std::is_same_v<T, kiln::BFloat16>)
      value = kiln::to_bfloat16(static_cast<float>(cell.value));
    check(cell.value, std::isfinite(kiln::to_float(value)));
    return value;
  }
}

template <class T>
T whole_element(const Cells& cells, std::size_t row, const Cell& cell, kiln::DType dtype) {
  const bool is_whole_float = cell.says == Says::Float && std::trunc(cell.value) == cell.value &&
                              std::abs(cell.value) <= static_cast<double>(kMostExact);
  const std::int64_t whole = is_whole_float ? static_cast<std::int64_t>(cell.value) : cell.whole;
  const bool fits = whole >= static_cast<std::int64_t>(std::numeric_limits<T>::min()) &&
                    whole <= static_cast<std::int64_t>(std::numeric_limits<T>::max());
  if ((cell.says != Says::Int && !is_whole_float) || !fits)
    cells.refuse(row, fmt::format("does not fit in {}", kiln::name(dtype)));
  return static_cast<T>(whole);
}

kiln::Tensor column_as(const Cells& cells, kiln::DType dtype) {
  if (kiln::is_complex(dtype)) {
    raise("DTypeError",
          fmt::format("load: a .csv file has real numbers alone, dtype is {}", kiln::name(dtype)),
          "join columns of real numbers by `complex(re, im)`");
  }
  return kiln::visit_dtype(dtype, [&]<class T>() {
    return tensor_of<T>(cells, dtype, [&](std::size_t row, const Cell& cell) -> T {
      if constexpr (std::is_integral_v<T>) {
        return whole_element<T>(cells, row, cell, dtype);
      } else {
        return float_element<T>(cells, row, cell, dtype);
      }
    });
  });
}

// ---- Tables ----

bool looks_like_header(const CsvRow& row) {
  return std::none_of(row.fields.begin(), row.fields.end(), reads_as_number);
}

std::vector<std::string> header_of(const CsvRow& row) {
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  for (std::size_t c = 0; c < row.fields.size(); ++c) {
    const std::string& field = row.fields[c];
    names.emplace_back(row.is_quoted[c] ? field : trimmed(field));
    if (!seen.insert(names.back()).second) {
      throw DamagedFile(
          fmt::format("line {}: two columns have the name '{}'", row.line, names.back()),
          fmt::format("`load(path, header=false, skip={})` reads them without names", row.line));
    }
  }
  return names;
}

// Columns without names become one tensor where all are numbers: all have the type of the widest.
std::vector<Column> columns_of(const std::vector<Cells>& all, bool join, const CsvOptions& options) {
  std::vector<Kind> kinds;
  for (const Cells& cells : all) kinds.push_back(options.texts ? Kind::Text : kind_of(cells));
  const auto is = [](Kind kind) { return [kind](Kind other) { return other == kind; }; };
  const bool widen = join && std::none_of(kinds.begin(), kinds.end(), is(Kind::Text)) &&
                     std::any_of(kinds.begin(), kinds.end(), is(Kind::Float));
  std::vector<Column> columns;
  for (std::size_t c = 0; c < all.size(); ++c) {
    if (kinds[c] == Kind::Text) {
      columns.emplace_back(all[c].fields);
    } else if (options.dtype) {
      columns.emplace_back(column_as(all[c], *options.dtype));
    } else {
      columns.emplace_back(kinds[c] == Kind::Float || widen ? float_column(all[c]) : int_column(all[c]));
    }
  }
  return columns;
}

}  // namespace

bool reads_as_number(std::string_view field) {
  const Says says = cell_of(field).says;
  return says != Says::Nothing && says != Says::Text;
}

Table read_csv(std::string_view text, const CsvOptions& options) {
  CsvReader reader(text, options.delimiter);
  for (std::int64_t i = 0; i < options.skip; ++i) reader.skip_line();
  Table table;
  std::vector<Cells> columns;
  std::vector<std::int64_t> lines;
  CsvRow row;
  bool first = true;
  while (reader.next(row)) {
    check_interrupt();
    if (std::exchange(first, false)) {
      columns.resize(row.fields.size());
      if (options.header.value_or(looks_like_header(row))) {
        table.names = header_of(row);
        continue;
      }
    }
    if (row.fields.size() != columns.size()) {
      throw DamagedFile(fmt::format("line {} has {} field{}, the first row has {}", row.line,
                                    row.fields.size(), row.fields.size() == 1 ? "" : "s", columns.size()));
    }
    lines.push_back(row.line);
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c].fields.push_back(std::move(row.fields[c]));
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    columns[c].lines = &lines;
    columns[c].name =
        table.names.empty() ? fmt::format("field {}", c + 1) : fmt::format("column '{}'", table.names[c]);
  }
  table.columns = columns_of(columns, table.names.empty(), options);
  return table;
}

}  // namespace kiln::interp::files
