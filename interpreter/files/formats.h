// Owns the list of file formats: each reads and writes tensors through byte streams.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "interpreter/files/bytes.h"

namespace kiln::interp::files {

using NamedTensors = std::vector<std::pair<std::string, kiln::Tensor>>;

// NumPy's format, versions 1 to 3; u16 and u32 widen to i32 and i64. bf16 does not exist there (ValueError).
kiln::Tensor read_npy(Source& source);
void write_npy(Sink& sink, const kiln::Tensor& x);

// A zip archive of .npy files, stored or deflated. By path: archives are read and written out of order.
NamedTensors read_npz(const std::string& path);
void write_npz(const std::string& path, const std::string& shown_path, const NamedTensors& tensors);

// https://github.com/huggingface/safetensors: a JSON header of names, types and places, then the data.
NamedTensors read_safetensors(Source& source);
void write_safetensors(Sink& sink, const NamedTensors& tensors);

// LeCun's format of the MNIST files.
kiln::Tensor read_idx(Source& source);
void write_idx(Sink& sink, const kiln::Tensor& x);

// Samples as they are stored: u8 of height x width for grey, height x width x 3 or 4 for colour; i32 where
// they have 16 bits. Colour spaces are not applied. Saved is what `as_picture` takes (picture.h), an i32 with
// 16 bits.
kiln::Tensor read_png(std::string_view bytes);
void write_png(Sink& sink, const kiln::Tensor& image);
kiln::Tensor read_ppm(std::string_view bytes);  // P1 to P6
void write_ppm(Sink& sink, const kiln::Tensor& image);

// A column is texts unless all its fields are numbers: i64 where all are integers, else f64, where empty ones
// are nan. An integer beyond i64, and among floats one beyond 2^53, is a DamagedFile that names the cell.
using Column = std::variant<kiln::Tensor, std::vector<std::string>>;
struct CsvOptions {
  std::optional<bool> header;  // absent: when the first row has no number
  std::int64_t skip = 0;       // lines before the first row
  char delimiter = ',';
  std::optional<kiln::DType> dtype;  // of all columns of numbers; DamagedFile for what it cannot hold
  bool texts = false;                // all columns are texts
};
struct Table {
  std::vector<std::string> names;  // empty without a header
  std::vector<Column> columns;     // without names and texts all of one type
};
// Such a field in its first row says that a file has no header.
bool reads_as_number(std::string_view field);
Table read_csv(std::string_view text, const CsvOptions& options);
// ValueError for a name that reads as a number.
void write_csv(Sink& sink, const Table& table, char delimiter);

}  // namespace kiln::interp::files
