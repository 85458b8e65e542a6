// Comma separated values as of RFC 4180: quoted fields may hold delimiters, newlines and doubled quotes.
#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <type_traits>

#include <fmt/format.h>

#include "interpreter/files/formats.h"
#include "interpreter/natives.h"
#include "tensor/functions.h"

namespace kiln::interp::files {
namespace {

struct Row {
  std::vector<std::string> fields;
  std::int64_t line = 0;  // in the file, from 1
};

class CsvReader {
 public:
  CsvReader(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte-order mark
  }

  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    at_ = std::min(at_ + 1, text_.size());
    ++line_;
  }

  // Empty lines are passed over. False at the end.
  bool next(Row& row) {
    row.fields.clear();
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) {
      line_ += text_[at_] == '\n' ? 1 : 0;
      ++at_;
    }
    if (at_ >= text_.size()) return false;
    row.line = line_;
    do {
      row.fields.push_back(field());
    } while (take_delimiter());
    return true;
  }

 private:
  bool take_delimiter() {
    if (at_ < text_.size() && text_[at_] == delimiter_) {
      ++at_;
      return true;
    }
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (at_ < text_.size() && text_[at_] == '\n') {
      ++at_;
      ++line_;
    }
    return false;
  }

  std::string field() {
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted() {
    const std::int64_t line = line_;
    std::string value;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') {
          ++at_;
          if (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n' && text_[at_] != '\r') {
            throw DamagedFile(fmt::format("line {}: text follows a closing quote", line_));
          }
          return value;
        }
        ++at_;
      }
      line_ += text_[at_] == '\n' ? 1 : 0;
      value += text_[at_];
    }
    throw DamagedFile(fmt::format("line {}: a quote is not closed", line));
  }

  std::string_view text_;
  char delimiter_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

template <class T>
bool parse(std::string_view text, T& value) {
  text = trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

bool is_number(std::string_view text) {
  double value = 0;
  return parse(text, value);
}

// What a column can be: ints, floats (empty fields are nan), or texts.
enum class Kind { Int, Float, Text };

Kind kind_of(const std::vector<std::string>& fields) {
  Kind kind = Kind::Int;
  bool any = false;
  for (const std::string& field : fields) {
    if (trimmed(field).empty()) {
      kind = Kind::Float;
      continue;
    }
    any = true;
    std::int64_t whole = 0;
    if (kind == Kind::Int && parse(field, whole)) continue;
    if (!is_number(field)) return Kind::Text;
    kind = Kind::Float;
  }
  return any || fields.empty() ? kind : Kind::Text;
}

kiln::Tensor int_column(const std::vector<std::string>& fields) {
  const auto size = static_cast<kiln::Dim>(fields.size());
  const kiln::Tensor x = kiln::Tensor::empty(std::span<const kiln::Dim>(&size, 1), kiln::DType::I64);
  auto* out = x.writable<std::int64_t>();
  for (const std::string& field : fields) parse(field, *out++);
  return x;
}

kiln::Tensor float_column(const std::vector<std::string>& fields) {
  const auto size = static_cast<kiln::Dim>(fields.size());
  const kiln::Tensor x = kiln::Tensor::empty(std::span<const kiln::Dim>(&size, 1), kiln::DType::F64);
  auto* out = x.writable<double>();
  for (const std::string& field : fields) {
    double value = std::numeric_limits<double>::quiet_NaN();
    parse(field, value);
    *out++ = value;
  }
  return x;
}

Column column_of(std::vector<std::string> fields, const CsvOptions& options) {
  const Kind kind = kind_of(fields);
  if (kind == Kind::Text) return fields;
  const kiln::Tensor x = kind == Kind::Int ? int_column(fields) : float_column(fields);
  return kiln::ops::to(x,
                       options.dtype.value_or(kind == Kind::Int ? kiln::DType::I64 : kiln::default_float()));
}

bool looks_like_header(const Row& row) {
  return std::none_of(row.fields.begin(), row.fields.end(),
                      [](const std::string& f) { return is_number(f); });
}

void write_field(std::string& out, std::string_view field, char delimiter) {
  const char special[] = {delimiter, '"', '\n', '\r', '\0'};
  if (field.find_first_of(special) == std::string_view::npos) {
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

std::string element_text(const kiln::Tensor& x, std::int64_t i) {
  return kiln::visit_dtype(x.dtype(), [&]<class T>() -> std::string {
    const T value = x.data<T>()[i * x.strides()[0]];
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

}  // namespace

Table read_csv(std::string_view text, const CsvOptions& options) {
  CsvReader reader(text, options.delimiter);
  for (std::int64_t i = 0; i < options.skip; ++i) reader.skip_line();
  Table table;
  std::vector<std::vector<std::string>> columns;
  Row row;
  bool first = true;
  while (reader.next(row)) {
    if (std::exchange(first, false)) {
      columns.resize(row.fields.size());
      if (options.header.value_or(looks_like_header(row))) {
        for (const std::string& name : row.fields) table.names.emplace_back(trimmed(name));
        continue;
      }
    }
    if (row.fields.size() != columns.size()) {
      throw DamagedFile(fmt::format("line {} has {} field{}, the first row has {}", row.line,
                                    row.fields.size(), row.fields.size() == 1 ? "" : "s", columns.size()));
    }
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c].push_back(std::move(row.fields[c]));
  }
  for (auto& fields : columns) table.columns.push_back(column_of(std::move(fields), options));
  return table;
}

void write_csv(Sink& sink, const Table& table, char delimiter) {
  std::string out;
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    if (c > 0) out += delimiter;
    write_field(out, table.names[c], delimiter);
  }
  if (!table.names.empty()) out += '\n';
  const std::size_t rows = table.columns.empty() ? 0 : rows_of(table.columns.front());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) out += delimiter;
      if (const auto* x = std::get_if<kiln::Tensor>(&table.columns[c])) {
        out += element_text(*x, static_cast<std::int64_t>(r));
      } else {
        write_field(out, std::get<std::vector<std::string>>(table.columns[c])[r], delimiter);
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
