// NumPy's .npy: a magic, a header that is a Python dict, the elements.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "interpreter/files/formats.h"
#include "interpreter/interpreter.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"

namespace kiln::interp::files {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 1U << 20U;

struct NpyType {
  std::string_view code;  // without the byte order
  kiln::DType dtype;
};
constexpr std::array<NpyType, 11> kNpyTypes{{{"b1", kiln::DType::Bool},
                                             {"u1", kiln::DType::U8},
                                             {"i1", kiln::DType::I8},
                                             {"i2", kiln::DType::I16},
                                             {"i4", kiln::DType::I32},
                                             {"i8", kiln::DType::I64},
                                             {"f2", kiln::DType::F16},
                                             {"f4", kiln::DType::F32},
                                             {"f8", kiln::DType::F64},
                                             {"c8", kiln::DType::C64},
                                             {"c16", kiln::DType::C128}}};

struct Header {
  std::string descr;
  bool fortran = false;
  kiln::Dims shape;
};

// The Python literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Header run() {
    Header header;
    int found = 0;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        header.descr = quoted();
      } else if (key == "fortran_order") {
        header.fortran = truth();
      } else if (key == "shape") {
        header.shape = sizes();
      } else {
        fail();
      }
      ++found;
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (found != 3) fail();
    return header;
  }

 private:
  [[noreturn]] static void fail() { throw DamagedFile("its header is not that of an .npy file"); }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }
  std::string quoted() {
    space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) {
      if (at_ < text_.size() && text_[at_] == '[') throw DamagedFile("it holds records, not numbers");
      fail();
    }
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) fail();
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool truth() {
    space();
    for (const auto& [word, value] :
         {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    fail();
  }
  kiln::Dims sizes() {
    kiln::Dims dims;
    expect('(');
    while (!take(')')) {
      space();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc() || dims.size() >= static_cast<std::size_t>(kiln::kMaxRank)) fail();
      at_ = static_cast<std::size_t>(end - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote longs
      dims.push_back(size);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return dims;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Header read_header(Source& source) {
  if (source.text(kMagic.size()) != kMagic) throw DamagedFile("it does not start like an .npy file");
  const std::uint8_t version = source.byte();
  source.byte();
  if (version < 1 || version > 3) throw DamagedFile(fmt::format("its version {} is unknown", version));
  const std::size_t length = version == 1 ? source.little<std::uint16_t>() : source.little<std::uint32_t>();
  if (length > kMostHeader) throw DamagedFile(fmt::format("its header claims {} bytes", length));
  return HeaderReader(source.text(length)).run();
}

// u2, u4 and u8 have no dtype of their own: read as the next wider signed one.
template <class From, class To>
kiln::Tensor widened(Source& source, const kiln::Dims& sizes, kiln::DType dtype, bool swap) {
  if (byte_count(sizes, sizeof(From)) > source.most_left()) throw DamagedFile("it ends early");
  const kiln::Tensor result = kiln::Tensor::empty(sizes, dtype);
  const kiln::WritableHostView elements(result);
  To* const out = elements.as<To>();
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    const From value = swap ? source.big<From>() : source.little<From>();
    if (value > static_cast<From>(std::numeric_limits<To>::max())) {
      throw DamagedFile(fmt::format("its element {} does not fit in {}", value, kiln::name(dtype)));
    }
    out[i] = static_cast<To>(value);
  }
  return result;
}

kiln::Tensor read_elements(Source& source, const Header& header) {
  const bool known_order =
      !header.descr.empty() && std::string_view("<>|=").find(header.descr[0]) != std::string_view::npos;
  if (!known_order) throw DamagedFile(fmt::format("its element type '{}' is unknown", header.descr));
  const bool swap = header.descr[0] == '>';
  const std::string_view code = std::string_view(header.descr).substr(1);
  kiln::Dims sizes = header.shape;
  if (header.fortran) std::reverse(sizes.begin(), sizes.end());
  if (code == "u2") return widened<std::uint16_t, std::int32_t>(source, sizes, kiln::DType::I32, swap);
  if (code == "u4") return widened<std::uint32_t, std::int64_t>(source, sizes, kiln::DType::I64, swap);
  if (code == "u8") return widened<std::uint64_t, std::int64_t>(source, sizes, kiln::DType::I64, swap);
  for (const NpyType& type : kNpyTypes) {
    if (type.code == code) return source.tensor(sizes, type.dtype, swap);
  }
  throw DamagedFile(fmt::format("its element type '{}' is not supported", header.descr));
}

}  // namespace

kiln::Tensor read_npy(Source& source) {
  const Header header = read_header(source);
  const kiln::Tensor x = read_elements(source, header);
  if (!header.fortran || x.rank() < 2) return x;
  kiln::Dims dims;
  for (int d = x.rank(); d-- > 0;) dims.push_back(d);
  return kiln::ops::contiguous(kiln::ops::permute(x, dims));
}

void write_npy(Sink& sink, const kiln::Tensor& tensor) {
  const kiln::Tensor x = kiln::ops::contiguous(kiln::ops::detach(tensor));
  std::string_view code;
  for (const NpyType& type : kNpyTypes) {
    if (type.dtype == x.dtype()) code = type.code;
  }
  if (code.empty()) {
    raise("ValueError", fmt::format("the .npy format has no {}", kiln::name(x.dtype())),
          "convert with `x.float()`, or save as .safetensors");
  }
  std::string shape;
  for (const kiln::Dim size : x.sizes()) shape += fmt::format("{}{}", size, x.rank() == 1 ? "," : ", ");
  if (x.rank() > 1) shape.resize(shape.size() - 2);
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   kiln::size_of(x.dtype()) == 1 ? '|' : '<', code, shape);
  header.append(63 - (10 + header.size()) % 64, ' ');  // the elements start at a multiple of 64
  header += '\n';
  sink.text(kMagic);
  const auto length = static_cast<std::uint16_t>(header.size());
  const std::array<std::uint8_t, 4> start{1, 0, static_cast<std::uint8_t>(length & 0xffU),
                                          static_cast<std::uint8_t>(length >> 8U)};
  sink.write(start.data(), start.size());
  sink.text(header);
  sink.elements(x);
}

}  // namespace kiln::interp::files
