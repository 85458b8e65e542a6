// idx: two zero bytes, a type, a rank, big-endian sizes, big-endian elements.
#include <array>
#include <vector>

#include <fmt/format.h>

#include "interpreter/files/formats.h"
#include "interpreter/interpreter.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"

namespace kiln::interp::files {
namespace {

struct IdxType {
  std::uint8_t code;
  kiln::DType dtype;
};
constexpr std::array<IdxType, 6> kTypes{{{0x08, kiln::DType::U8},
                                         {0x09, kiln::DType::I8},
                                         {0x0b, kiln::DType::I16},
                                         {0x0c, kiln::DType::I32},
                                         {0x0d, kiln::DType::F32},
                                         {0x0e, kiln::DType::F64}}};

}  // namespace

kiln::Tensor read_idx(Source& source) {
  if (source.big<std::uint16_t>() != 0) throw DamagedFile("it does not start like an idx file");
  const std::uint8_t code = source.byte();
  const std::uint8_t rank = source.byte();
  for (const IdxType& type : kTypes) {
    if (type.code != code) continue;
    kiln::Dims sizes;
    for (int d = 0; d < rank; ++d) sizes.push_back(source.big<std::uint32_t>());
    return source.tensor(sizes, type.dtype, true);
  }
  throw DamagedFile(fmt::format("its element type {:#04x} is unknown", code));
}

void write_idx(Sink& sink, const kiln::Tensor& tensor) {
  const kiln::Tensor x = kiln::ops::contiguous(kiln::ops::detach(tensor));
  for (const IdxType& type : kTypes) {
    if (type.dtype != x.dtype()) continue;
    const std::array<std::uint8_t, 4> start{0, 0, type.code, static_cast<std::uint8_t>(x.rank())};
    sink.write(start.data(), start.size());
    for (const std::int64_t size : kiln::ints(x.sizes())) {
      if (size > 0xffffffffLL)
        raise("ValueError", fmt::format("the idx format has no room for a size of {}", size));
      std::array<std::uint8_t, 4> bytes{};
      for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::uint8_t>(size >> (24 - 8 * i));
      sink.write(bytes.data(), bytes.size());
    }
    const kiln::HostView elements(x);
    std::vector<std::byte> swapped(elements.bytes(), elements.bytes() + elements.byte_count());
    swap_bytes(swapped.data(), static_cast<std::size_t>(x.numel()), kiln::size_of(x.dtype()));
    return sink.write(swapped.data(), swapped.size());
  }
  raise("ValueError", fmt::format("the idx format has no {}", kiln::name(x.dtype())),
        "it has u8 i8 i16 i32 f32 f64");
}

}  // namespace kiln::interp::files
