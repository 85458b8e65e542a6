// CSV: text that reads back is the number, and what a column cannot hold is an error that names the cell.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "interpreter/files/formats.h"
#include "tests/interpreter/files.h"

namespace kiln::interp::files::table_files_test {
namespace {

Table csv(std::string_view text, CsvOptions options = {}) { return read_csv(text, options); }

TEST_CASE("csv tells numbers, texts and headers apart") {
  const Table table = csv("name,x,n\n\"a, \"\"b\"\"\",1.5,1\nc,,2\r\n");
  REQUIRE(table.names == std::vector<std::string>{"name", "x", "n"});
  CHECK(std::get<std::vector<std::string>>(table.columns[0]) == std::vector<std::string>{"a, \"b\"", "c"});
  const Tensor x = std::get<Tensor>(table.columns[1]);
  CHECK(x.dtype() == DType::F64);
  CHECK(x.data<double>()[0] == 1.5);
  CHECK(std::isnan(x.data<double>()[1]));
  CHECK(std::get<Tensor>(table.columns[2]).dtype() == DType::I64);

  CHECK(csv("1,2\n3,4\n").names.empty());
  CHECK(csv("# note\n1,2\n", {std::nullopt, 1, ',', {}, false}).columns.size() == 2);
  CHECK(csv("a,b\n", {true, 0, ',', {}, false}).names.size() == 2);
  CHECK(csv("").columns.empty());
  CHECK(csv("\xef\xbb\xbfx\n1\n").names == std::vector<std::string>{"x"});
  CHECK(std::get<std::vector<std::string>>(csv("t\n\"two\nlines\"\n").columns[0]).front() == "two\nlines");
}

TEST_CASE("csv names the line that is wrong") {
  try {
    csv("a,b\n1,2\n3\n");
    FAIL("a short row was taken");
  } catch (const DamagedFile& error) {
    CHECK(error.reason == "line 3 has 1 field, the first row has 2");
  }
  CHECK_THROWS_AS(csv("a\n\"open\n"), DamagedFile);
  CHECK_THROWS_AS(csv("\"a\"b,c\n"), DamagedFile);
  damage("name,x\n\"a,\"\"b\"\"\",1.5\nc,2\n", [](const std::string& b) { csv(b); });
}

TEST_CASE("csv writes what it reads") {
  Table table{{"label", "x"}, {std::vector<std::string>{"a,b", "say \"hi\""}, sample(DType::F32, {2})}};
  MemorySink sink;
  write_csv(sink, table, ',');
  CHECK(sink.content == "label,x\n\"a,b\",1.0\n\"say \"\"hi\"\"\",2.5\n");
  const Table back = csv(sink.content);
  CHECK(std::get<std::vector<std::string>>(back.columns[0])[1] == "say \"hi\"");
  CHECK(same(std::get<Tensor>(back.columns[1]), sample(DType::F64, {2})));
}

CsvOptions as(DType dtype) {
  CsvOptions options;
  options.dtype = dtype;
  return options;
}
std::string refused(std::string_view text, CsvOptions options = {}) {
  try {
    csv(text, options);
  } catch (const DamagedFile& error) {
    return error.reason;
  }
  return "";
}
template <class T>
std::vector<T> elements(const Table& table, std::size_t column) {
  const Tensor& x = std::get<Tensor>(table.columns.at(column));
  return std::vector<T>(x.data<T>(), x.data<T>() + x.numel());
}

TEST_CASE("csv keeps integers, or says where it cannot") {
  const Table table = csv("a,b\n9223372036854775807,-9223372036854775808\n+5, 7 \n");
  CHECK(elements<std::int64_t>(table, 0) == std::vector<std::int64_t>{9223372036854775807, 5});
  CHECK(elements<std::int64_t>(table, 1).at(0) == std::numeric_limits<std::int64_t>::min());
  CHECK(refused("a,id\n1,2\n3,9223372036854775808\n") ==
        "line 3, column 'id': 9223372036854775808 does not fit in i64");
  CHECK(refused("1,2\n3,-9223372036854775809\n") ==
        "line 2, field 2: -9223372036854775809 does not fit in i64");
  CHECK(refused("id,v\n99999999999999999999,1\n,2\n").find("does not fit in i64") != std::string::npos);
  // Among empty cells and fractions f64 holds them, up to 2^53.
  const Table mixed = csv("a,b\n9007199254740992,1\n,2.5\n-9007199254740992,\n");
  CHECK(elements<double>(mixed, 0).at(0) == 9007199254740992.0);
  CHECK(std::isnan(elements<double>(mixed, 0).at(1)));
  CHECK(elements<double>(mixed, 0).at(2) == -9007199254740992.0);
  CHECK(elements<double>(mixed, 1).at(0) == 1);
  const std::string beyond =
      "is beyond 2^53, and is among fractions or empty cells, which make its column f64";
  CHECK(refused("id,v\n9007199254740993,1\n,2\n") == "line 2, column 'id': 9007199254740993 " + beyond);
  CHECK(refused("v\n1.5\n-9007199254740993\n") == "line 3, column 'v': -9007199254740993 " + beyond);
  // Text that stands beside is no number, and neither is the column.
  CHECK(std::get<std::vector<std::string>>(csv("h\n99999999999999999999\nx\n").columns[0]).size() == 2);
}

TEST_CASE("csv reads fractions as f64, and refuses what is beyond") {
  CHECK(elements<double>(csv("v\n1700000001.25\n0.1\n1e3\n5e-324\n1e-400\ninf\nnan\n-.5\n2.\n"), 0).at(0) ==
        1700000001.25);
  CHECK(elements<double>(csv("v\n0.1\n"), 0).at(0) == 0.1);
  CHECK(elements<double>(csv("v\n5e-324\n1e-400\n"), 0) == std::vector<double>{5e-324, 0});
  CHECK(refused("v\n1.5\n1e400\n") == "line 3, column 'v': 1e400 does not fit in f64");
}

TEST_CASE("columns without names are of the widest type") {
  const Table table = csv("1,2.5\n3,\n");
  CHECK(elements<double>(table, 0) == std::vector<double>{1, 3});
  CHECK(elements<double>(table, 1).at(0) == 2.5);
  CHECK(elements<std::int64_t>(csv("1,2\n3,4\n"), 1) == std::vector<std::int64_t>{2, 4});
  CHECK(
      refused("1,2.5\n9007199254740993,4\n").starts_with("line 2, field 1: 9007199254740993 is beyond 2^53"));
  // With texts among them they stay apart.
  CHECK(elements<std::int64_t>(csv("9007199254740993,2.5,x\n1,2,y\n", {false, 0, ',', {}, false}), 0).at(0) ==
        9007199254740993);
}

TEST_CASE("a dtype converts, and what it cannot hold is told") {
  CHECK(elements<float>(csv("v\n0.1\n16777217\n99999999999999999999\n\"\"\n", as(DType::F32)), 0).at(0) ==
        0.1F);
  CHECK(elements<double>(csv("v\n9223372036854775808\n", as(DType::F64)), 0).at(0) == 9223372036854775808.0);
  CHECK(elements<std::int32_t>(csv("v\n2.0\n-3\n", as(DType::I32)), 0) == std::vector<std::int32_t>{2, -3});
  CHECK(elements<bool>(csv("v\n1\n0\n", as(DType::Bool)), 0) == std::vector<bool>{true, false});
  CHECK(refused("v\n1.5\n", as(DType::I64)) == "line 2, column 'v': 1.5 does not fit in i64");
  CHECK(refused("v\n300\n", as(DType::U8)) == "line 2, column 'v': 300 does not fit in u8");
  CHECK(refused("v,w\n3,1\n,2\n", as(DType::I16)) == "line 3, column 'v': an empty cell does not fit in i16");
  CHECK(refused("v\n1e39\n", as(DType::F32)) == "line 2, column 'v': 1e39 does not fit in f32");
  CHECK(refused("v\n70000\n", as(DType::F16)) == "line 2, column 'v': 70000 does not fit in f16");
  CHECK(refused("v\n2\n", as(DType::Bool)) == "line 2, column 'v': 2 does not fit in bool");
  CsvOptions texts;
  texts.texts = true;
  CHECK(std::get<std::vector<std::string>>(csv("v\n007\n1e400\n", texts).columns[0]) ==
        std::vector<std::string>{"007", "1e400"});
}

TEST_CASE("every number that is written reads back") {
  for (const DType dtype : {DType::Bool, DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::F16,
                            DType::BF16, DType::F32, DType::F64}) {
    const Tensor x = sample(dtype, {50});
    MemorySink sink;
    write_csv(sink, {{}, {x}}, ',');
    CHECK(same(std::get<Tensor>(csv(sink.content, as(dtype)).columns[0]), x));
  }
  // Also of each kind of f32: the nearest of what was written is what it was.
  const auto size = kiln::Dim{200'000};
  const Tensor x = Tensor::empty(std::span(&size, 1), DType::F32);
  std::uint32_t bits = 1;
  for (std::int64_t i = 0; i < size; ++i) {
    bits = bits * 1664525U + 1013904223U;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    x.writable<float>()[i] = std::isnan(value) ? 1.0F : value;
  }
  MemorySink sink;
  write_csv(sink, {{}, {x}}, ',');
  CHECK(same(std::get<Tensor>(csv(sink.content, as(DType::F32)).columns[0]), x));
}

TEST_CASE("csv columns have names of their own, and no row is lost") {
  CHECK(refused("a,b,a\n1,2,3\n") == "line 1: two columns have the name 'a'");
  CHECK(refused("\n\n a ,a\n1,2\n") == "line 3: two columns have the name 'a'");
  CHECK(refused("a,,\n1,2,3\n") == "line 1: two columns have the name ''");
  CHECK(csv("a,a\n1,2\n", {false, 1, ',', {}, false}).columns.size() == 2);
  MemorySink sink;
  write_csv(sink, {{"t"}, {std::vector<std::string>{"x", "", "y"}}}, ',');
  CHECK(sink.content == "t\nx\n\"\"\ny\n");
  CHECK(std::get<std::vector<std::string>>(csv(sink.content).columns[0]) ==
        std::vector<std::string>{"x", "", "y"});
}

}  // namespace
}  // namespace kiln::interp::files::table_files_test
