// The Netpbm formats, P1 to P6. Samples are what the file stores, whatever it calls the brightest; bits are 0
// and 255.
#include <algorithm>
#include <charconv>
#include <string>

#include <fmt/format.h>

#include "interpreter/files/formats.h"
#include "interpreter/files/picture.h"
#include "interpreter/interpreter.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/interrupt.h"

namespace kiln::interp::files {
namespace {

// The text in front of the pixels: numbers apart by white space, `#` to the end of a line is a comment.
class PpmReader {
 public:
  explicit PpmReader(std::string_view bytes) : bytes_(bytes) {}

  std::int64_t number(std::int64_t most) {
    space();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(bytes_.data() + at_, bytes_.data() + bytes_.size(), value);
    if (error != std::errc() || value < 0 || value > most)
      throw DamagedFile("it has no valid number where one is needed");
    at_ = static_cast<std::size_t>(end - bytes_.data());
    return value;
  }
  std::int64_t bit() {
    space();
    if (at_ >= bytes_.size() || (bytes_[at_] != '0' && bytes_[at_] != '1'))
      throw DamagedFile("it ends early");
    return bytes_[at_++] - '0';
  }
  // The one white space after the header, then raw bytes.
  void start_raw() { ++at_; }
  std::uint8_t raw_byte() {
    if (at_ >= bytes_.size()) throw DamagedFile("it ends early");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::size_t left() const { return bytes_.size() - std::min(at_, bytes_.size()); }
  void skip(std::size_t n) { at_ += n; }
  // Files may hold pictures one behind the other; a tensor is one of them.
  void expect_end(bool is_text) {
    if (is_text) space();
    if (at_ < bytes_.size()) throw DamagedFile(fmt::format("{} bytes follow the end of the picture", left()));
  }

 private:
  void space() {
    while (at_ < bytes_.size()) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      } else if (std::string_view(" \t\r\n\v\f").find(bytes_[at_]) == std::string_view::npos) {
        return;
      } else {
        ++at_;
      }
    }
  }
  std::string_view bytes_;
  std::size_t at_ = 0;
};

struct PpmHeader {
  int kind;  // 1 to 6
  kiln::Dim width, height, channels;
  std::int64_t most;  // value of the brightest sample
};

PpmHeader read_ppm_header(PpmReader& reader, std::string_view bytes) {
  if (bytes.size() < 2 || bytes[0] != 'P' || bytes[1] < '1' || bytes[1] > '6')
    throw DamagedFile("it does not start like a Netpbm picture");
  reader.skip(2);
  PpmHeader header{bytes[1] - '0', 0, 0, 1, 1};
  header.width = reader.number(1 << 30);
  header.height = reader.number(1 << 30);
  if (header.kind != 1 && header.kind != 4) header.most = reader.number(kMostWord);
  if (header.kind == 3 || header.kind == 6) header.channels = 3;
  if (header.width == 0 || header.height == 0 || header.most == 0)
    throw DamagedFile("it has a size or a maximum of 0");
  // A sample takes at least a bit.
  if (header.width * header.height > static_cast<std::int64_t>(bytes.size()) * 8)
    throw DamagedFile("it ends early");
  return header;
}

}  // namespace

kiln::Tensor read_ppm(std::string_view bytes) {
  PpmReader reader(bytes);
  const PpmHeader header = read_ppm_header(reader, bytes);
  const bool wide = header.most > kMostByte;
  const kiln::Dims sizes{header.height, header.width, header.channels};
  const kiln::Tensor x = kiln::Tensor::empty(sizes, wide ? kiln::DType::I32 : kiln::DType::U8);
  if (header.kind >= 4) reader.start_raw();
  std::uint8_t packed = 0;
  const auto sample = [&](std::int64_t i) -> std::int64_t {
    switch (header.kind) {
      case 1:
        return reader.bit() ? 0 : 255;
      case 2:
      case 3:
        return reader.number(header.most);
      case 4: {
        const std::int64_t column = i % header.width;
        if (column % 8 == 0) packed = reader.raw_byte();
        return (packed >> (7 - column % 8) & 1) != 0 ? 0 : 255;
      }
      default: {
        const std::int64_t high = wide ? reader.raw_byte() : 0;
        const std::int64_t value = high << 8 | reader.raw_byte();
        if (value > header.most)
          throw DamagedFile(
              fmt::format("it holds {}, and says that the brightest is {}", value, header.most));
        return value;
      }
    }
  };
  {
    const kiln::WritableHostView elements(x);
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      check_interrupt();
      const std::int64_t value = sample(i);
      if (wide) {
        elements.as<std::int32_t>()[i] = static_cast<std::int32_t>(value);
      } else {
        elements.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(value);
      }
    }
  }
  reader.expect_end(header.kind < 4);
  return without_single_channel(x);
}

void write_ppm(Sink& sink, const kiln::Tensor& tensor) {
  const kiln::Tensor x = as_picture(tensor);
  if (x.size(2) == 4) {
    raise("ValueError",
          fmt::format("{} has four channels, and Netpbm has no transparency", to_string(tensor.type())),
          "save it as .png, or its first three channels");
  }
  const bool wide = x.dtype() == kiln::DType::I32;
  sink.text(fmt::format("P{}\n{} {}\n{}\n", x.size(2) == 1 ? 5 : 6, x.size(1), x.size(0),
                        wide ? kMostWord : kMostByte));
  if (wide) return sink.text(big_endian_words(x));
  sink.elements(x);
}

}  // namespace kiln::interp::files
