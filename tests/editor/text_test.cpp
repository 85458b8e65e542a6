// Lines, characters and bytes of a text; a text that is edited is the one that was typed.
#include "editor/text.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "editor/document.h"
#include "tests/effort.h"

namespace kiln::editor::text_test {
namespace {

const std::string kSmile = "\xF0\x9F\x98\x80";  // two units of UTF-16

TEST_CASE("positions count what was agreed on", "[editor][text]") {
  const Text text("x\r\n" + kSmile + "é = 1\rlast");
  REQUIRE(text.lines() == 3);
  CHECK(text.offset({1, 3}, Encoding::Utf16) == 3 + 6);
  CHECK(text.offset({1, 2}, Encoding::Utf32) == 3 + 6);
  CHECK(text.offset({1, 6}, Encoding::Utf8) == 3 + 6);
  CHECK(text.position(9, Encoding::Utf16) == Position{1, 3});
  CHECK(text.position(9, Encoding::Utf8) == Position{1, 6});
  CHECK(text.position(9, Encoding::Utf32) == Position{1, 2});
  // Within a character, behind a line, behind the text.
  CHECK(text.offset({1, 1}, Encoding::Utf16) == 3);
  CHECK(text.offset({0, 99}, Encoding::Utf16) == 1);
  CHECK(text.offset({9, 0}, Encoding::Utf16) == text.str().size());
  CHECK(Text("").position(5, Encoding::Utf16) == Position{0, 0});
}

TEST_CASE("a text that is edited in steps is the text as a whole", "[editor][text]") {
  std::mt19937 random(7);
  const std::vector<std::string> pieces = {"x = 1\n", "\r\n",        "\r", "\n", "é",
                                           kSmile,    "fn f(x) {\n", "}",  ""};
  Text edited;
  std::string whole;
  for (int step = 0; step < 10'000 / static_cast<int>(kiln::testing::kEvery); ++step) {
    const Encoding encoding = static_cast<Encoding>(random() % 3);
    const Position a{static_cast<std::uint32_t>(random() % (edited.lines() + 1)),
                     static_cast<std::uint32_t>(random() % 12)};
    const std::size_t begin = edited.offset(a, encoding);
    std::size_t end = std::min(whole.size(), begin + random() % 9);
    while (end < whole.size() && (static_cast<unsigned char>(whole[end]) & 0xC0) == 0x80) ++end;
    const std::string& piece = pieces[random() % pieces.size()];
    edited.replace(begin, end, piece);
    whole.replace(begin, end - begin, piece);
    if (whole.size() > 400) edited.assign(whole = "");
    const Text fresh(whole);
    REQUIRE(edited.str() == whole);
    REQUIRE(edited.lines() == fresh.lines());
    const Position back = edited.position(begin, encoding);
    REQUIRE(back == fresh.position(begin, encoding));
    // Between the two characters that end a line there is no position.
    const bool is_within_end =
        begin > 0 && begin < whole.size() && whole[begin - 1] == '\r' && whole[begin] == '\n';
    REQUIRE(edited.offset(back, encoding) == (is_within_end ? begin - 1 : begin));
  }
}

TEST_CASE("types move with the text", "[editor][types]") {
  KnownTypes types({{0, 1, "int"}, {4, 9, "f32[2]"}, {12, 13, "str"}});
  types.edit(2, 2, 3);
  CHECK(types.type_of(0, 1) == "int");
  CHECK(types.type_of(7, 12) == "f32[2]");
  types.edit(8, 9, 1);
  CHECK(types.type_of(7, 12).empty());
  CHECK(types.type_of(15, 16) == "str");
}

}  // namespace
}  // namespace kiln::editor::text_test
