// Pictures: what a tensor is as one, PNG through libpng, and the Netpbm formats.
#include <png.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "interpreter/files/formats.h"
#include "interpreter/interpreter.h"
#include "tensor/functions.h"

namespace kiln::interp::files {
namespace {

constexpr std::uint64_t kMostRatio = 1032 * 8;  // one bit a pixel, deflated

kiln::Tensor u8_tensor(std::initializer_list<kiln::Dim> sizes) {
  const kiln::Dims dims(sizes);
  return kiln::Tensor::empty(dims, kiln::DType::U8);
}

[[noreturn]] void not_an_image(const kiln::Tensor& x) {
  raise("ValueError", fmt::format("{} is not a picture", to_string(x.type())),
        "a picture is height x width, height x width x channels or channels x height x width, with 1, 3 or 4 "
        "channels");
}

bool is_channels(kiln::Dim size) { return size == 1 || size == 3 || size == 4; }

// Height x width x channels, whatever came first.
kiln::Tensor channels_last(const kiln::Tensor& x) {
  if (x.rank() == 2) return kiln::ops::unsqueeze(x, 2);
  if (x.rank() != 3) not_an_image(x);
  if (is_channels(x.size(2))) return x;
  if (!is_channels(x.size(0))) not_an_image(x);
  const std::array<kiln::Dim, 3> order{1, 2, 0};
  return kiln::ops::permute(x, order);
}

kiln::Tensor bytes_of(const kiln::Tensor& x) {
  const kiln::Tensor dense = kiln::ops::contiguous(kiln::ops::to(x, kiln::DType::F64));
  const kiln::Tensor result = kiln::Tensor::empty(x.sizes(), kiln::DType::U8);
  const double scale = kiln::is_float(x.dtype()) || x.dtype() == kiln::DType::Bool ? 255.0 : 1.0;
  const double* in = dense.data<double>();
  auto* out = result.writable<std::uint8_t>();
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const double v = std::isnan(in[i]) ? 0 : in[i];
    out[i] = static_cast<std::uint8_t>(std::lround(std::clamp(v * scale, 0.0, 255.0)));
  }
  return result;
}

kiln::Tensor without_single_channel(const kiln::Tensor& x, kiln::Dim channels) {
  if (channels > 1) return x;
  const std::array<kiln::Dim, 2> sizes{x.size(0), x.size(1)};
  return kiln::ops::reshape(x, sizes);
}

// Frees what libpng holds, also when an error passes by.
struct PngImage : png_image {
  PngImage() : png_image{} { version = PNG_IMAGE_VERSION; }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
  ~PngImage() { png_image_free(this); }
};

}  // namespace

kiln::Tensor as_image(const kiln::Tensor& tensor) {
  const kiln::Tensor x = channels_last(kiln::ops::detach(tensor));
  if (x.numel() == 0) not_an_image(tensor);
  return x.dtype() == kiln::DType::U8 ? kiln::ops::contiguous(x) : bytes_of(x);
}

kiln::Tensor read_png(std::string_view bytes) {
  PngImage image;
  const auto fail = [&] { throw DamagedFile(fmt::format("it is not a readable PNG ({})", image.message)); };
  if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size())) fail();
  const bool color = (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  const bool alpha = (image.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  image.format = color   ? (alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB)
                 : alpha ? PNG_FORMAT_RGBA
                         : PNG_FORMAT_GRAY;
  const kiln::Dim channels = PNG_IMAGE_SAMPLE_CHANNELS(image.format);
  const std::uint64_t pixels = std::uint64_t{image.width} * image.height;
  if (pixels > bytes.size() * kMostRatio) throw DamagedFile("it claims more pixels than its data can hold");
  const kiln::Tensor x = u8_tensor({image.height, image.width, channels});
  if (!png_image_finish_read(&image, nullptr, x.writable<std::uint8_t>(), 0, nullptr)) fail();
  return without_single_channel(x, channels);
}

void write_png(Sink& sink, const kiln::Tensor& tensor) {
  const kiln::Tensor x = as_image(tensor);
  PngImage image;
  image.height = static_cast<png_uint_32>(x.size(0));
  image.width = static_cast<png_uint_32>(x.size(1));
  image.format = x.size(2) == 1 ? PNG_FORMAT_GRAY : x.size(2) == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string out(size, '\0');
  if (!png_image_write_to_memory(&image, out.data(), &size, 0, x.data<std::uint8_t>(), 0, nullptr)) {
    raise("ValueError",
          fmt::format("{} cannot be written as a PNG ({})", to_string(x.type()), image.message));
  }
  sink.write(out.data(), size);
}

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
  std::uint8_t raw() {
    if (at_ >= bytes_.size()) throw DamagedFile("it ends early");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::size_t left() const { return bytes_.size() - std::min(at_, bytes_.size()); }
  void skip(std::size_t n) { at_ += n; }

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
  if (header.kind != 1 && header.kind != 4) header.most = std::max<std::int64_t>(reader.number(65535), 1);
  if (header.kind == 3 || header.kind == 6) header.channels = 3;
  // A sample takes at least a bit.
  if (header.width * header.height > static_cast<std::int64_t>(bytes.size()) * 8)
    throw DamagedFile("it ends early");
  return header;
}

}  // namespace

kiln::Tensor read_ppm(std::string_view bytes) {
  PpmReader reader(bytes);
  const PpmHeader header = read_ppm_header(reader, bytes);
  const bool wide = header.most > 255;
  const kiln::Dims sizes{header.height, header.width, header.channels};
  const kiln::Tensor x = kiln::Tensor::empty(sizes, wide ? kiln::DType::I32 : kiln::DType::U8);
  if (header.kind >= 4) reader.start_raw();
  std::uint8_t packed = 0;
  auto* const narrow = wide ? nullptr : x.writable<std::uint8_t>();
  auto* const wider = wide ? x.writable<std::int32_t>() : nullptr;
  const auto sample = [&](std::int64_t i) -> std::int64_t {
    switch (header.kind) {
      case 1:
        return reader.bit() ? 0 : 255;
      case 2:
      case 3:
        return reader.number(header.most);
      case 4: {
        const std::int64_t column = i % header.width;
        if (column % 8 == 0) packed = reader.raw();
        return (packed >> (7 - column % 8) & 1) != 0 ? 0 : 255;
      }
      default: {
        const std::int64_t high = wide ? reader.raw() : 0;
        return high << 8 | reader.raw();
      }
    }
  };
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const std::int64_t value = sample(i);
    if (wide) {
      wider[i] = static_cast<std::int32_t>(value);
    } else {
      narrow[i] = static_cast<std::uint8_t>(value);
    }
  }
  return without_single_channel(x, header.channels);
}

void write_ppm(Sink& sink, const kiln::Tensor& tensor) {
  kiln::Tensor x = as_image(tensor);
  if (x.size(2) == 4) x = kiln::ops::contiguous(kiln::ops::narrow(x, 2, 0, 3));  // Netpbm has no transparency
  sink.text(fmt::format("P{}\n{} {}\n255\n", x.size(2) == 1 ? 5 : 6, x.size(1), x.size(0)));
  sink.write(x.raw(), static_cast<std::size_t>(x.numel()));
}

}  // namespace kiln::interp::files
