// Pictures: samples are what a file stores, and what a format cannot keep is an error.
#include <zlib.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "interpreter/files/formats.h"
#include "interpreter/files/picture.h"
#include "tests/interpreter/files.h"

namespace kiln::interp::files::picture_files_test {
namespace {

TEST_CASE("pictures keep their pixels") {
  for (const auto& x :
       {sample(DType::U8, {4, 5}), sample(DType::U8, {4, 5, 3}), sample(DType::U8, {4, 5, 4})}) {
    MemorySink png;
    write_png(png, x);
    CHECK(same(read_png(png.content), x));
    damage(png.content, [](const std::string& b) { read_png(b); });
    if (x.rank() == 3 && x.size(2) == 4) continue;
    MemorySink ppm;
    write_ppm(ppm, x);
    CHECK(same(read_ppm(ppm.content), x));
    damage(ppm.content, [](const std::string& b) { read_ppm(b); });
  }
}

TEST_CASE("the other Netpbm formats are read") {
  const auto bytes_of = [](std::string_view text) {
    const Tensor x = read_ppm(text);
    return std::vector<int>(x.data<std::uint8_t>(), x.data<std::uint8_t>() + x.numel());
  };
  CHECK(bytes_of("P1\n# a comment\n3 1\n0 1 1\n") == std::vector<int>{255, 0, 0});
  CHECK(bytes_of("P2 2 1 255 7 9") == std::vector<int>{7, 9});
  CHECK(bytes_of("P3 1 1 255 1 2 3") == std::vector<int>{1, 2, 3});
  CHECK(bytes_of(std::string_view("P4 3 1\n\xa0", 8)) == std::vector<int>{0, 255, 0});
  const Tensor wide = read_ppm(std::string_view("P5 1 1 65535\n\x01\x02", 15));
  CHECK(wide.dtype() == DType::I32);
  CHECK(*wide.data<std::int32_t>() == 258);
  CHECK_THROWS_AS(read_ppm("P6 1000000 1000000 255\n"), DamagedFile);
  CHECK_THROWS_AS(read_ppm("P2 2 1 255 7 900"), DamagedFile);
}

TEST_CASE("what is a picture") {
  CHECK(as_picture(sample(DType::U8, {3, 8, 9})).sizes() == kiln::Dims{8, 9, 3});
  CHECK(as_shown(sample(DType::F32, {3, 8, 9})).sizes() == kiln::Dims{8, 9, 3});
  CHECK(as_picture(sample(DType::Bool, {8, 9})).data<std::uint8_t>()[1] == 255);
  for (const auto& x : {sample(DType::F32, {8}), sample(DType::F32, {2, 8, 9}), sample(DType::F32, {0, 9})}) {
    CHECK_THROWS_AS(as_picture(x), lang::UserError);
    CHECK_THROWS_AS(as_shown(x), lang::UserError);
  }
}

std::string big(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = bytes; i-- > 0;) text += static_cast<char>(value >> (8 * i));
  return text;
}
std::string chunk(const std::string& name, const std::string& data) {
  const std::string body = name + data;
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big(static_cast<std::uint32_t>(data.size()), 4) + body + big(static_cast<std::uint32_t>(sum), 4);
}
// A PNG of rows of samples as they are stored, `extra` chunks before them.
std::string png(int width, int depth, int color, const std::vector<std::string>& rows,
                const std::string& extra = "") {
  std::string raw;
  for (const std::string& row : rows) raw += '\0' + row;
  uLongf size = compressBound(raw.size());
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(raw.data()),
           raw.size());
  packed.resize(size);
  const std::string header = big(static_cast<std::uint32_t>(width), 4) +
                             big(static_cast<std::uint32_t>(rows.size()), 4) + static_cast<char>(depth) +
                             static_cast<char>(color) + std::string(3, '\0');
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + extra + chunk("IDAT", packed) + chunk("IEND", "");
}
std::string words(const std::vector<int>& samples) {
  std::string text;
  for (const int each : samples) text += big(static_cast<std::uint32_t>(each), 2);
  return text;
}
std::string bytes(const std::vector<int>& samples) { return {samples.begin(), samples.end()}; }
std::vector<int> samples_of(const Tensor& x) {
  const Tensor wide = kiln::ops::contiguous(kiln::ops::to(x, DType::I32));
  return {wide.data<std::int32_t>(), wide.data<std::int32_t>() + wide.numel()};
}
void check_png(const std::string& file, DType dtype, const kiln::Dims& sizes,
               const std::vector<int>& samples) {
  const Tensor x = read_png(file);
  CHECK(x.dtype() == dtype);
  CHECK(x.sizes() == sizes);
  CHECK(samples_of(x) == samples);
}

constexpr int kGrey = 0, kColor = 2, kPalette = 3, kGreyAlpha = 4, kColorAlpha = 6;

TEST_CASE("a png of 16 bits is i32, sample by sample") {
  check_png(png(2, 16, kGrey, {words({4660, 65535})}), DType::I32, {1, 2}, {4660, 65535});
  check_png(png(1, 16, kColor, {words({256, 512, 65535}), words({0, 1, 255})}), DType::I32, {2, 1, 3},
            {256, 512, 65535, 0, 1, 255});
  check_png(png(1, 16, kColorAlpha, {words({1, 2, 3, 40000})}), DType::I32, {1, 1, 4}, {1, 2, 3, 40000});
  check_png(png(2, 16, kGreyAlpha, {words({300, 0, 5, 65535})}), DType::I32, {1, 2, 4},
            {300, 300, 300, 0, 5, 5, 5, 65535});
}

TEST_CASE("colour spaces of a png are not applied") {
  const std::string space = chunk("cHRM", big(31270, 4) + big(32900, 4) + big(64000, 4) + big(33000, 4) +
                                              big(30000, 4) + big(60000, 4) + big(15000, 4) + big(6000, 4));
  for (const std::string& extra :
       {chunk("gAMA", big(100000, 4)), chunk("gAMA", big(45455, 4)), chunk("gAMA", big(220000, 4)) + space,
        chunk("sRGB", std::string(1, '\0')), chunk("sBIT", std::string(1, '\4')), chunk("bKGD", big(7, 2))}) {
    check_png(png(3, 8, kGrey, {bytes({0, 128, 200})}, extra), DType::U8, {1, 3}, {0, 128, 200});
    check_png(png(1, 16, kGrey, {words({4660})}, extra), DType::I32, {1, 1}, {4660});
  }
  for (const int gamma : {100000, 45455})
    check_png(png(1, 8, kColorAlpha, {bytes({10, 20, 30, 40})},
                  chunk("gAMA", big(static_cast<std::uint32_t>(gamma), 4))),
              DType::U8, {1, 1, 4}, {10, 20, 30, 40});
}

TEST_CASE("few bits of a png are spread over 8, palettes are their colours, a transparent colour is alpha") {
  check_png(png(8, 1, kGrey, {bytes({0xa5})}), DType::U8, {1, 8}, {255, 0, 255, 0, 0, 255, 0, 255});
  check_png(png(4, 2, kGrey, {bytes({0x1b})}), DType::U8, {1, 4}, {0, 85, 170, 255});
  check_png(png(2, 4, kGrey, {bytes({0x2f})}), DType::U8, {1, 2}, {34, 255});
  const std::string palette = chunk("PLTE", bytes({1, 2, 3, 250, 251, 252}));
  check_png(png(2, 8, kPalette, {bytes({1, 0})}, chunk("gAMA", big(100000, 4)) + palette), DType::U8,
            {1, 2, 3}, {250, 251, 252, 1, 2, 3});
  check_png(png(2, 1, kPalette, {bytes({0x40})}, palette + chunk("tRNS", bytes({9}))), DType::U8, {1, 2, 4},
            {1, 2, 3, 9, 250, 251, 252, 255});
  check_png(png(2, 8, kGrey, {bytes({5, 6})}, chunk("tRNS", big(6, 2))), DType::U8, {1, 2, 4},
            {5, 5, 5, 255, 6, 6, 6, 0});
  check_png(png(2, 16, kGrey, {words({5, 600})}, chunk("tRNS", big(600, 2))), DType::I32, {1, 2, 4},
            {5, 5, 5, 65535, 600, 600, 600, 0});
  check_png(png(1, 8, kColor, {bytes({1, 2, 3})}, chunk("tRNS", words({1, 2, 3}))), DType::U8, {1, 1, 4},
            {1, 2, 3, 0});
  check_png(png(1, 8, kGreyAlpha, {bytes({10, 128})}), DType::U8, {1, 1, 4}, {10, 10, 10, 128});
}

std::string refused(const std::string& file) {
  try {
    read_png(file);
  } catch (const DamagedFile& error) {
    return error.reason;
  }
  return "";
}

TEST_CASE("what a tensor cannot hold of a png is told") {
  const std::string one = png(1, 8, kGrey, {bytes({7})});
  CHECK(refused(one).empty());
  CHECK(refused(one + std::string(5, '\0')).empty());
  CHECK(refused(one + one) == std::to_string(one.size()) + " bytes follow the end of the picture");
  CHECK(refused(png(1, 8, kGrey, {bytes({7})}, chunk("acTL", big(3, 4) + big(0, 4)))) ==
        "it is an animation of 3 pictures, a tensor holds one");
  CHECK(refused(png(1, 8, kGrey, {bytes({7})}, chunk("acTL", big(1, 4) + big(0, 4)))).empty());
  // What is not kept anyway may be unknown, or wrong; what a picture cannot do without may not.
  for (const char* name : {"prVt", "iCCP", "gAMA", "tIME", "zTXt", "bKGD", "eXIf", "caBX"})
    CHECK(refused(png(1, 8, kGrey, {bytes({7})}, chunk(name, "nothing of that kind"))).empty());
  CHECK(refused(png(1, 8, kGrey, {bytes({7})}, chunk("NeED", ""))).find("NeED") != std::string::npos);
  CHECK(refused(png(1, 8, kGrey, {bytes({7})}, chunk("tRNS", big(7, 3)))).find("tRNS") != std::string::npos);
  // Sums of all chunks are checked, of those that are not needed, too.
  std::string clear = png(1, 8, kGrey, {bytes({7})}, chunk("tRNS", big(7, 2)));
  clear[clear.find("tRNS") + 5] ^= 1;
  CHECK(refused(clear).find("CRC") != std::string::npos);
  for (std::size_t missing = 1; missing < one.size(); ++missing)
    CHECK_FALSE(refused(one.substr(0, one.size() - missing)).empty());
}

std::string write_refused(void (*write)(Sink&, const Tensor&), const Tensor& x) {
  MemorySink sink;
  try {
    write(sink, x);
  } catch (const lang::UserError& error) {
    return error.diagnostic().kind + " " + error.diagnostic().message;
  }
  return "";
}
Tensor numbers(DType dtype, const std::vector<double>& values) {
  const kiln::Dims sizes{1, static_cast<kiln::Dim>(values.size())};
  const Tensor x = Tensor::empty(sizes, DType::F64);
  std::copy(values.begin(), values.end(), x.writable<double>());
  return kiln::ops::to(x, dtype);
}

TEST_CASE("an i32 is saved with 16 bits, and nothing is cut") {
  for (const auto& x :
       {numbers(DType::I32, {0, 255, 256, 65535}), kiln::ops::to(sample(DType::F32, {4, 5, 3}), DType::I32),
        kiln::ops::to(sample(DType::F32, {4, 5, 4}), DType::I32)}) {
    MemorySink png_file, ppm_file;
    write_png(png_file, x);
    CHECK(same(read_png(png_file.content), x));
    if (x.rank() == 3 && x.size(2) == 4) continue;
    write_ppm(ppm_file, x);
    CHECK(same(read_ppm(ppm_file.content), x));
  }
  for (const auto write : {write_png, write_ppm}) {
    CHECK(write_refused(write, numbers(DType::I64, {0, 255})).empty());
    CHECK(write_refused(write, numbers(DType::I64, {0, 256})) ==
          "ValueError a picture of i64 has elements from 0 to 255, here is 256");
    CHECK(write_refused(write, numbers(DType::I8, {-1})) ==
          "ValueError a picture of i8 has elements from 0 to 255, here is -1");
    CHECK(write_refused(write, numbers(DType::I32, {65536})) ==
          "ValueError a picture of i32 has elements from 0 to 65535, here is 65536");
    CHECK(write_refused(write, numbers(DType::F32, {0, 1})).empty());
    CHECK(write_refused(write, numbers(DType::F32, {1.5})) ==
          "ValueError a picture of f32 has elements from 0 to 1, here is 1.5");
    CHECK(write_refused(write, numbers(DType::F16, {-0.5})).starts_with("ValueError"));
    CHECK(write_refused(write, numbers(DType::F64, {NAN})).starts_with("ValueError"));
  }
  CHECK(write_refused(write_ppm, sample(DType::U8, {2, 2, 4})) ==
        "ValueError u8[2, 2, 4] has four channels, and Netpbm has no transparency");
}

TEST_CASE("pictures are shown, whatever their range") {
  CHECK(samples_of(as_shown(numbers(DType::F32, {-1, 0.5, 2, NAN}))) == std::vector<int>{0, 128, 255, 0});
  CHECK(samples_of(as_shown(numbers(DType::I32, {0, 255}))) == std::vector<int>{0, 255});
  CHECK(samples_of(as_shown(numbers(DType::I32, {0, 257, 65535}))) == std::vector<int>{0, 1, 255});
}

TEST_CASE("Netpbm samples are stored ones, whatever the brightest is") {
  const auto check = [](std::string_view text, DType dtype, const std::vector<int>& samples) {
    INFO(text);
    const Tensor x = read_ppm(text);
    CHECK(x.dtype() == dtype);
    CHECK(samples_of(x) == samples);
  };
  check("P2 3 1 15\n0 7 15\n", DType::U8, {0, 7, 15});
  check("P2 2 1 1000\n0 1000\n# done\n", DType::I32, {0, 1000});
  check(std::string_view("P5 2 1 100\n\x07\x64", 13), DType::U8, {7, 100});
  check(std::string_view("P6 1 1 65535\n\x01\x00\x02\x00\xff\xff", 19), DType::I32, {256, 512, 65535});
  check("P3 1 1 300 1 2 300", DType::I32, {1, 2, 300});
  for (const std::string_view text :
       {"P5 1 1 255\nabc", "P2 1 1 255 7 8", "P2 0 1 255", "P2 1 1 0 0", "P5 2 1 255\na", "P2 1 1 70000 7"})
    CHECK_THROWS_AS(read_ppm(text), DamagedFile);
}

}  // namespace
}  // namespace kiln::interp::files::picture_files_test
