#include "tests/cuda/fake/lines.h"

#include <cstring>
#include <vector>

namespace kiln::fake {
namespace {

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  bool is_at_end() const { return bytes_.empty(); }

  template <class T>
  T number() {
    T value{};
    const std::string_view part = take(sizeof(T));
    std::memcpy(&value, part.data(), part.size());
    return value;
  }
  // Seven bits in each byte, the lowest first.
  std::uint64_t packed() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = number<unsigned char>();
      value |= std::uint64_t{byte & 0x7FU} << shift;
      last_shift_ = shift + 7;
      is_negative_ = (byte & 0x40U) != 0;
      if ((byte & 0x80U) == 0) break;
    }
    return value;
  }
  std::int64_t signed_packed() {
    const std::uint64_t value = packed();
    const bool extends = is_negative_ && last_shift_ < 64;
    return static_cast<std::int64_t>(extends ? value | ~std::uint64_t{0} << last_shift_ : value);
  }
  std::string_view text() {
    const std::string_view found = take(bytes_.find('\0'));
    take(1);
    return found;
  }
  // What comes next, which is gone from here.
  std::string_view take(std::size_t count) {
    const std::string_view part = bytes_.substr(0, count);
    bytes_.remove_prefix(part.size());
    return part;
  }

 private:
  std::string_view bytes_;
  unsigned last_shift_ = 0;
  bool is_negative_ = false;
};

struct Row {
  std::uint64_t address = 0, file = 1;
  std::int64_t line = 1;
};

// The table of one translation unit: a program that writes rows, each of which holds up to the next one's
// address.
class Unit {
 public:
  Unit(std::string_view bytes, std::uint64_t wanted) : program_(bytes), wanted_(wanted) { read_head(); }

  std::string line() {
    while (!program_.is_at_end() && !is_found_) step();
    if (!is_found_ || found_.line == 0 || found_.file == 0 || found_.file > files_.size()) return "";
    std::string_view file = files_[found_.file - 1];
    if (file.starts_with("./")) file.remove_prefix(2);
    return std::string(file) + ":" + std::to_string(found_.line);
  }

 private:
  void read_head() {
    program_.number<std::uint16_t>();  // the version
    Bytes head(program_.take(program_.number<std::uint32_t>()));
    smallest_ = head.number<std::uint8_t>();
    head.take(2);  // operations of an instruction, and whether rows begin statements
    line_base_ = head.number<std::int8_t>();
    line_range_ = head.number<std::uint8_t>();
    const auto first_special = head.number<std::uint8_t>();
    for (int code = 1; code < first_special; ++code) operands_.push_back(head.number<std::uint8_t>());
    while (!head.text().empty()) {
    }  // the folders
    for (std::string_view name; !(name = head.text()).empty();) {
      files_.push_back(name);
      for (int i = 0; i < 3; ++i) head.packed();  // folder, time and size
    }
  }

  void step() {
    const auto code = program_.number<std::uint8_t>();
    if (code == 0) return step_extended();
    if (code > operands_.size()) return step_special(code - static_cast<unsigned>(operands_.size()) - 1);
    switch (code) {
      case 1:
        return add_row();
      case 2:
        row_.address += program_.packed() * smallest_;
        return;
      case 3:
        row_.line += program_.signed_packed();
        return;
      case 4:
        row_.file = program_.packed();
        return;
      case 8:
        row_.address += special_advance(255 - static_cast<unsigned>(operands_.size()) - 1);
        return;
      case 9:
        row_.address += program_.number<std::uint16_t>();
        return;
      default:
        for (int i = 0; i < operands_[code - 1U]; ++i) program_.packed();
    }
  }

  void step_extended() {
    Bytes given(program_.take(program_.packed()));
    const auto code = given.number<std::uint8_t>();
    if (code == 2) row_.address = given.number<std::uint64_t>();
    if (code != 1) return;
    add_row();  // behind the last instruction
    row_ = Row{};
    has_before_ = false;
  }

  std::uint64_t special_advance(unsigned code) const { return code / line_range_ * smallest_; }
  void step_special(unsigned code) {
    row_.address += special_advance(code);
    row_.line += line_base_ + static_cast<int>(code % line_range_);
    add_row();
  }

  void add_row() {
    is_found_ = is_found_ || (has_before_ && before_.address <= wanted_ && wanted_ < row_.address);
    if (is_found_) {
      found_ = before_;
      return;
    }
    before_ = row_;
    has_before_ = true;
  }

  Bytes program_;
  std::uint64_t wanted_;
  std::uint64_t smallest_ = 1;  // bytes of an instruction
  int line_base_ = 0;
  unsigned line_range_ = 1;
  std::vector<std::uint8_t> operands_;  // how many each code has, from code 1 on
  std::vector<std::string_view> files_;
  Row row_, before_, found_;
  bool has_before_ = false, is_found_ = false;
};

}  // namespace

std::string line_at(std::string_view table, std::uint64_t offset) {
  Bytes units(table);
  while (!units.is_at_end()) {
    const auto bytes = units.number<std::uint32_t>();
    if (std::string line = Unit(units.take(bytes), offset).line(); !line.empty()) return line;
  }
  return "";
}

}  // namespace kiln::fake
