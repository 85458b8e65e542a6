// load and save: the format by the path's ending (or its first bytes), pytrees as dotted names.
#include <cctype>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/files/atomic_file.h"
#include "interpreter/files/formats.h"
#include "interpreter/files/gzip.h"
#include "interpreter/files/io_error.h"
#include "interpreter/files/torch_file.h"
#include "interpreter/host/saved_values.h"
#include "interpreter/host/text_file.h"
#include "interpreter/shadow.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/default_device_scope.h"
#include "tensor/functions.h"

namespace kiln::interp {
namespace {

using namespace host;
using namespace files;
using Args = std::span<Value>;

constexpr std::uint64_t kMostText = std::uint64_t{1} << 34U;  // of a csv or a picture

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
       [](Sink& sink, const Value& v) { write_safetensors(sink, leaves_of(v)); }},
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

std::string written_ending(const std::string& path) {
  const std::size_t name = path.find_last_of('/') + 1;
  const std::size_t dot = path.find_last_of('.');
  if (dot == std::string::npos || dot < name) return {};
  std::string ending = path.substr(dot);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

// Of the format: several endings have one.
std::string lower_ending(const std::string& path) {
  std::string ending = written_ending(path);
  if (ending == ".pgm" || ending == ".pbm" || ending == ".pnm") return ".ppm";
  if (ending == ".tsv") return ".csv";
  if (ending == ".pth") return ".pt";
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
  std::string known = action == "load" ? ".npz .gz .pt" : ".npz .gz";
  for (const Format& format : formats()) known += " " + std::string(format.ending);
  raise("ValueError", fmt::format("{}: the format of '{}' is not known", action, path), "known are " + known);
}

// The path without .gz.
std::string unpacked_path(const std::string& path) {
  return lower_ending(path) == ".gz" ? path.substr(0, path.size() - 3) : path;
}
bool has_tabs(const std::string& path) { return written_ending(unpacked_path(path)) == ".tsv"; }

const Format& format_to_read(std::string_view start, const std::string& path) {
  const Format* format = format_of(lower_ending(path));
  if (!format) format = format_by_content(start);
  if (!format) unknown_format("load", path);
  return *format;
}

// To the end: sums are checked there, and what follows the content would be dropped.
Value read_stream(Source& source, const std::string& path, const Wishes& wishes) {
  PeekedSource peeked(source, 8);
  Value value = format_to_read(peeked.start(), path).read(peeked, wishes);
  peeked.expect_end();
  return value;
}

Value load_torch(const std::string& path) {
  {
    FileSource file(path);
    PeekedSource peeked(file, 5);
    if (is_old_torch(peeked.start())) {
      throw DamagedFile("it has the format before PyTorch 1.6, which is not read",
                        "in Python, write it anew: torch.save(torch.load(path), path)");
    }
  }
  return read_torch(path);
}

Value load_path(const std::string& path, const Wishes& wishes) {
  if (lower_ending(path) == ".npz") return dict_of(read_npz(path));
  if (lower_ending(path) == ".pt") return load_torch(path);
  FileSource file(path);
  PeekedSource peeked(file, 2);
  if (peeked.start() != "\x1f\x8b") return read_stream(peeked, path, wishes);
  GzipSource unpacked(peeked);
  return read_stream(unpacked, unpacked_path(path), wishes);
}

Wishes wishes_of(const std::string& path, Args a) {
  Wishes wishes;
  if (!a[1].is_none()) wishes.csv.header = bool_argument(a[1], "header");
  wishes.csv.skip = int_argument(a[2], "skip");
  if (wishes.csv.skip < 0)
    raise("ValueError", fmt::format("load: `skip` is a number of lines, not {}", wishes.csv.skip));
  if (has_tabs(path)) wishes.csv.delimiter = '\t';
  if (!a[3].is_none()) {
    if (text_argument(a[3], "delimiter").size() != 1)
      raise("ValueError", "load: the delimiter must be one character");
    wishes.csv.delimiter = text_of(a[3]).front();
  }
  wishes.csv.texts = a[4].is(Tag::Type) && a[4].as<Type>().instances == Tag::Str;
  if (!wishes.csv.texts) wishes.csv.dtype = dtype_argument(a[4], "dtype");
  const bool is_table = lower_ending(unpacked_path(path)) == ".csv";
  if (!is_table && (wishes.csv.header || wishes.csv.skip > 0 || !a[3].is_none() || wishes.csv.texts))
    raise("ValueError",
          fmt::format("load: `header`, `skip`, `delimiter` and texts are for .csv, '{}' is none", path));
  return wishes;
}

Value load(Interpreter&, Args a) {
  const std::string& path = path_argument(a[0], "path");
  const Wishes wishes = wishes_of(path, a);
  shadow::need_run();
  const kiln::DefaultDeviceScope device(device_argument(a[5], "device"));
  try {
    const Value value = load_path(path, wishes);
    if (!wishes.csv.dtype || lower_ending(unpacked_path(path)) == ".csv") return value;
    if (value.is(Tag::Tensor)) return Value(kiln::ops::to(value.as_tensor(), *wishes.csv.dtype));
    raise("ValueError",
          fmt::format("load: `dtype` is for one tensor or a .csv, '{}' has many of their own", path),
          "convert what is wanted: `load(path)[\"name\"].to(f32)`");
  } catch (const DamagedFile& damage) {
    raise("IOError", fmt::format("cannot load '{}': {}", path, damage.reason), damage.help);
  }
}

void write_stream(Sink& sink, const std::string& path, const Value& value) {
  if (lower_ending(path) == ".gz") {
    GzipSink packed(sink);
    write_stream(packed, unpacked_path(path), value);
    return packed.finish();
  }
  const Format* format = format_of(lower_ending(path));
  if (!format) unknown_format("save", path);
  if (has_tabs(path)) return write_csv(sink, table_from(value), '\t');
  format->write(sink, value);
}

// Everything that can be refused is refused before the file is touched, or leaves the old one in place.
Value save(Interpreter&, Args a) {
  if (a[1].is(Tag::Str) && !a[0].is(Tag::Str))
    raise("TypeError", fmt::format("`path` must be a str, got {}", describe(a[0])),
          "the path comes first: `save(path, value)`");
  const std::string& path = path_argument(a[0], "path");
  const bool archive = lower_ending(path) == ".npz";
  if (!archive && !format_of(lower_ending(unpacked_path(path)))) unknown_format("save", path);
  const NamedTensors tensors = archive ? leaves_of(a[1]) : NamedTensors();
  AtomicFile file(path);
  if (archive) {
    if (!file.is_seekable())
      raise("IOError",
            fmt::format(
                "cannot write '{}': an archive is written out of order, which only a regular file can be",
                path),
            "save as .npy or .safetensors");
    write_npz(file.working_path(), path, tensors);
  } else {
    write_stream(file, path, a[1]);
  }
  file.commit();
  return {};
}

constexpr NativeDef kLoadSaveNatives[] = {
    {"load(path, header=none, skip=0, delimiter=none, dtype=none, device=none)",
     "Reads tensors by the path's ending: .npy .idx .png .ppm give one; .npz .safetensors a dict of names; "
     ".pt .pth what torch.save wrote of tensors, dicts, lists, tuples, numbers and texts; "
     ".csv a dict of columns, or without a header a tensor of rows. All but .npz and .pt may be packed as "
     ".gz. "
     "Columns of integers are i64, with fractions or empty cells (nan) f64, else lists of texts. `header`, "
     "`skip` (lines) and `delimiter` are for .csv; `dtype` converts its numbers, and `dtype=str` keeps its "
     "texts. Tensors are made on `device`, whatever they were saved from. Pictures are u8, or i32 where "
     "samples have 16 bits, as they are stored. What cannot be kept of "
     "a "
     "file is an IOError.",
     load},
    {"save(path, value)",
     "Writes a tensor, or a tree of structs, lists and dicts with tensors under dotted names, by the path's "
     "ending. The file is either wholly new or what it was. Pictures are u8, i32 (16 bits), or floats from 0 "
     "to 1; what a format cannot keep is an error.",
     save},
};

}  // namespace

std::span<const NativeDef> file_natives() { return kLoadSaveNatives; }

}  // namespace kiln::interp
