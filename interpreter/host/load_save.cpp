// load and save: the format by the path's ending (or its first bytes), pytrees as dotted names.
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/files/atomic_file.h"
#include "interpreter/files/formats.h"
#include "interpreter/files/gzip.h"
#include "interpreter/host/arguments.h"
#include "interpreter/host/tables.h"
#include "interpreter/host/text_file.h"
#include "tensor/functions.h"

namespace kiln::interp {
namespace {

using namespace host;
using namespace files;
using Args = std::span<Value>;

constexpr std::uint64_t kMostText = std::uint64_t{1} << 34U;  // of a csv or a picture

// ---- Values and tensors ----

Value dict_of(const NamedTensors& tensors) {
  auto* dict = new Dict();
  Value result{static_cast<Object*>(dict)};
  for (const auto& [name, x] : tensors) dict->set(Value(name), Value(x));
  return result;
}

// The leaves of a pytree by dotted name. Numbers are 0-d tensors, none is left out.
class Flattener {
 public:
  NamedTensors run(const Value& tree) {
    visit(tree, "");
    return std::move(leaves_);
  }

 private:
  void visit(const Value& v, const std::string& name) {
    if (++depth_ > 500) raise("RecursionError", "save: the value is nested too deeply, or contains itself");
    switch (v.tag()) {
      case Tag::None:
        break;
      case Tag::Tensor:
        leaf(name, v.as_tensor());
        break;
      case Tag::Bool:
        leaf(name, number(v, kiln::DType::Bool));
        break;
      case Tag::Int:
        leaf(name, number(v, kiln::DType::I64));
        break;
      case Tag::Float:
        leaf(name, number(v, kiln::DType::F64));
        break;
      case Tag::List:
      case Tag::Tuple: {
        const auto& items = *items_of(v);
        for (std::size_t i = 0; i < items.size(); ++i) visit(items[i], joined(name, std::to_string(i)));
        break;
      }
      case Tag::Dict:
        for (const auto& entry : v.as<Dict>().entries()) {
          if (entry.live) visit(entry.value, joined(name, key_text(entry.key)));
        }
        break;
      case Tag::Instance: {
        const auto& fields = v.as<Instance>().struct_type().fields;
        for (const std::string& field : fields) {
          if (const Value* value = v.as<Instance>().find(field)) visit(*value, joined(name, field));
        }
        for (const auto& [field, value] : v.as<Instance>().extra) visit(value, joined(name, field));
        break;
      }
      default:
        raise("TypeError", fmt::format("save: `{}` is {}, which has no tensors",
                                       name.empty() ? "value" : name, describe(v)));
    }
    --depth_;
  }

  static std::string joined(const std::string& name, const std::string& part) {
    return name.empty() ? part : name + "." + part;
  }
  static std::string key_text(const Value& key) {
    if (key.is(Tag::Str)) return text_of(key);
    if (key.is(Tag::Int)) return std::to_string(key.as_int());
    raise("TypeError", fmt::format("save: a key must be a str or an int, got {}", describe(key)));
  }
  static kiln::Tensor number(const Value& v, kiln::DType dtype) {
    kiln::Tensor x = kiln::Tensor::empty({}, dtype);
    if (dtype == kiln::DType::Bool) *x.writable<bool>() = v.as_bool();
    if (dtype == kiln::DType::I64) *x.writable<std::int64_t>() = v.as_int();
    if (dtype == kiln::DType::F64) *x.writable<double>() = v.as_float();
    return x;
  }
  void leaf(const std::string& name, const kiln::Tensor& x) {
    const std::string own = name.empty() ? "arr_0" : name;  // NumPy's name for a lone array
    if (std::any_of(leaves_.begin(), leaves_.end(), [&](const auto& other) { return other.first == own; })) {
      raise("ValueError", fmt::format("save: two tensors have the name '{}'", own));
    }
    leaves_.emplace_back(own, x);
  }

  NamedTensors leaves_;
  int depth_ = 0;
};

kiln::Tensor lone_tensor(const Value& value, std::string_view format) {
  if (value.is(Tag::Tensor)) return value.as_tensor();
  raise("TypeError", fmt::format("save: a {} file holds one tensor, got {}", format, describe(value)),
        "save several tensors as .npz or .safetensors");
}

// ---- Tables ----

Value column_value(const Column& column) {
  if (const auto* x = std::get_if<kiln::Tensor>(&column)) return Value(*x);
  const auto& texts = std::get<std::vector<std::string>>(column);
  return list_value(std::vector<Value>(texts.begin(), texts.end()));
}

// With names a dict of columns; without, a tensor of rows when all columns are numbers, else a list of
// columns.
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
  kiln::DType dtype = numbers.front().dtype();
  for (const kiln::Tensor& x : numbers) dtype = kiln::promote(dtype, x.dtype());
  for (kiln::Tensor& x : numbers) x = kiln::ops::to(x, dtype);
  return Value(kiln::ops::stack(numbers, 1));
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

Table table_from(const Value& value) {
  Table table;
  if (value.is(Tag::Dict)) {
    std::int64_t rows = -1;
    for (const auto& entry : value.as<Dict>().entries()) {
      if (!entry.live) continue;
      table.names.push_back(text_argument(entry.key, "a column's name"));
      table.columns.push_back(column_from(table.names.back(), entry.value));
      const Column& column = table.columns.back();
      const auto* x = std::get_if<kiln::Tensor>(&column);
      const std::int64_t size =
          x ? x->size(0) : static_cast<std::int64_t>(std::get<std::vector<std::string>>(column).size());
      if (rows >= 0 && size != rows) {
        raise("ShapeError",
              fmt::format("save: column '{}' has {} rows, others have {}", table.names.back(), size, rows));
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

// ---- The formats by ending ----

struct Wishes {
  CsvOptions csv;
};

struct Format {
  std::string_view ending;
  std::function<Value(Source&, const Wishes&)> read;
  std::function<void(Sink&, const Value&)> write;
};

template <kiln::Tensor (*Read)(Source&)>
Value read_one(Source& source, const Wishes&) {
  return Value(Read(source));
}
template <kiln::Tensor (*Read)(std::string_view)>
Value read_text(Source& source, const Wishes&) {
  return Value(Read(source.rest(kMostText)));
}

const std::vector<Format>& formats() {
  static const std::vector<Format> all{
      {".npy", read_one<read_npy>,
       [](Sink& sink, const Value& v) { write_npy(sink, lone_tensor(v, ".npy")); }},
      {".safetensors", [](Source& source, const Wishes&) { return dict_of(read_safetensors(source)); },
       [](Sink& sink, const Value& v) { write_safetensors(sink, Flattener().run(v)); }},
      {".csv",
       [](Source& source, const Wishes& w) { return table_value(read_csv(source.rest(kMostText), w.csv)); },
       [](Sink& sink, const Value& v) { write_csv(sink, table_from(v), ','); }},
      {".idx", read_one<read_idx>,
       [](Sink& sink, const Value& v) { write_idx(sink, lone_tensor(v, ".idx")); }},
      {".png", read_text<read_png>,
       [](Sink& sink, const Value& v) { write_png(sink, lone_tensor(v, ".png")); }},
      {".ppm", read_text<read_ppm>,
       [](Sink& sink, const Value& v) { write_ppm(sink, lone_tensor(v, ".ppm")); }},
  };
  return all;
}

std::string lower_ending(const std::string& path) {
  const std::size_t name = path.find_last_of('/') + 1;
  const std::size_t dot = path.find_last_of('.');
  if (dot == std::string::npos || dot < name) return {};
  std::string ending = path.substr(dot);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (ending == ".pgm" || ending == ".pbm" || ending == ".pnm") return ".ppm";
  if (ending == ".tsv") return ".csv";
  return ending;
}

const Format* format_of(std::string_view ending) {
  for (const Format& format : formats()) {
    if (format.ending == ending) return &format;
  }
  return nullptr;
}

// A file without a known ending tells by its first bytes.
const Format* format_by_content(std::string_view start) {
  if (start.starts_with("\x93NUMPY")) return format_of(".npy");
  if (start.starts_with("\x89PNG")) return format_of(".png");
  const bool idx = start.size() >= 4 && start[0] == 0 && start[1] == 0 && start[2] >= 8 && start[2] <= 14;
  return idx ? format_of(".idx") : nullptr;
}

[[noreturn]] void unknown_format(std::string_view action, const std::string& path) {
  std::string known = ".npz .gz";
  for (const Format& format : formats()) known += " " + std::string(format.ending);
  raise("ValueError", fmt::format("{}: the format of '{}' is not known", action, path), "known are " + known);
}

// The first bytes of a stream, given again when it is read.
class Peeked : public Source {
 public:
  Peeked(Source& source, std::size_t n) : source_(source), start_(n, '\0') {
    start_.resize(source.read_some(start_.data(), n));
  }
  std::string_view start() const { return start_; }
  std::size_t read_some(void* out, std::size_t n) override {
    const std::size_t first = std::min(n, start_.size() - at_);
    std::copy_n(start_.data() + at_, first, static_cast<char*>(out));
    at_ += first;
    return first + (n > first ? source_.read_some(static_cast<char*>(out) + first, n - first) : 0);
  }
  std::uint64_t most_left() const override { return start_.size() - at_ + source_.most_left(); }

 private:
  Source& source_;
  std::string start_;
  std::size_t at_ = 0;
};

Value read_stream(Source& source, const std::string& path, const Wishes& wishes) {
  Peeked peeked(source, 8);
  const Format* format = format_of(lower_ending(path));
  if (!format) format = format_by_content(peeked.start());
  if (!format) unknown_format("load", path);
  return format->read(peeked, wishes);
}

Value load_path(const std::string& path, const Wishes& wishes) {
  const std::string ending = lower_ending(path);
  if (ending == ".npz") return dict_of(read_npz(path));
  FileSource file(path);
  if (file.peek(2) != "\x1f\x8b") return read_stream(file, path, wishes);
  GzipSource unpacked(file);
  return read_stream(unpacked, ending == ".gz" ? path.substr(0, path.size() - 3) : path, wishes);
}

Value load(Interpreter&, Args a) {
  const std::string& path = text_argument(a[0], "path");
  Wishes wishes;
  if (!a[1].is_none()) wishes.csv.header = bool_argument(a[1], "header");
  wishes.csv.skip = int_argument(a[2], "skip");
  if (lower_ending(path) == ".csv" && path.ends_with("tsv")) wishes.csv.delimiter = '\t';
  if (!a[3].is_none()) {
    if (text_argument(a[3], "delimiter").size() != 1)
      raise("ValueError", "load: the delimiter must be one character");
    wishes.csv.delimiter = text_of(a[3]).front();
  }
  wishes.csv.dtype = dtype_argument(a[4], "dtype");
  try {
    const Value value = load_path(path, wishes);
    if (wishes.csv.dtype && value.is(Tag::Tensor))
      return Value(kiln::ops::to(value.as_tensor(), *wishes.csv.dtype));
    return value;
  } catch (const DamagedFile& damage) {
    raise("IOError", fmt::format("cannot load '{}': {}", path, damage.reason));
  }
}

void write_stream(Sink& sink, const std::string& path, const Value& value) {
  const std::string ending = lower_ending(path);
  if (ending == ".gz") {
    GzipSink packed(sink);
    write_stream(packed, path.substr(0, path.size() - 3), value);
    return packed.finish();
  }
  const Format* format = format_of(ending);
  if (!format) unknown_format("save", path);
  if (path.ends_with("tsv")) return write_csv(sink, table_from(value), '\t');
  format->write(sink, value);
}

// Everything that can be refused is refused before the file is touched, or leaves the old one in place.
Value save(Interpreter&, Args a) {
  const std::string& path = text_argument(a[0], "path");
  const std::string ending = lower_ending(path);
  const bool archive = ending == ".npz";
  const std::string inner = ending == ".gz" ? lower_ending(path.substr(0, path.size() - 3)) : ending;
  if (!archive && !format_of(inner)) unknown_format("save", path);
  const NamedTensors tensors = archive ? Flattener().run(a[1]) : NamedTensors();
  AtomicFile file(path);
  if (archive) {
    write_npz(file.working_path(), path, tensors);
  } else {
    write_stream(file, path, a[1]);
  }
  file.commit();
  return {};
}

constexpr NativeDef kNatives[] = {
    {"load(path, header=none, skip=0, delimiter=none, dtype=none)",
     "Reads tensors by the path's ending: .npy .idx .png .ppm give one; .npz .safetensors a dict of names; "
     ".csv a dict of "
     "columns, or without a header a tensor of rows. Each may be packed as .gz. `header`, `skip` (lines), "
     "`delimiter` and "
     "`dtype` are for .csv.",
     load},
    {"save(path, value)",
     "Writes a tensor, or a tree of structs, lists and dicts with tensors under dotted names, by the path's "
     "ending. The file is "
     "either wholly new or what it was.",
     save},
};

}  // namespace

std::span<const NativeDef> file_natives() { return kNatives; }

}  // namespace kiln::interp
