// Every file format: round trips of every dtype it knows, files of other programs, damage.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "interpreter/files/atomic_file.h"
#include "interpreter/files/formats.h"
#include "interpreter/files/gzip.h"
#include "interpreter/natives.h"
#include "lang/diagnostic.h"
#include "tensor/error.h"
#include "tensor/functions.h"

namespace kiln::interp::files {
namespace {

namespace fs = std::filesystem;
using kiln::DType;
using kiln::Tensor;

// A folder that goes when the test does.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("kiln-files-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path / name).string(); }
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void put(const std::string& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// Elements that differ in every byte.
Tensor sample(DType dtype, std::initializer_list<kiln::Dim> sizes) {
  const kiln::Dims dims(sizes);
  const Tensor x = Tensor::empty(dims, DType::F64);
  double* out = x.writable<double>();
  for (std::int64_t i = 0; i < x.numel(); ++i)
    out[i] = dtype == DType::Bool ? static_cast<double>(i % 2) : 1.5 * static_cast<double>(i) + 1;
  return kiln::ops::to(x, dtype);
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.sizes() == b.sizes())) return false;
  const Tensor x = kiln::ops::contiguous(a);
  const Tensor y = kiln::ops::contiguous(b);
  return std::memcmp(x.raw(), y.raw(), static_cast<std::size_t>(x.numel()) * kiln::size_of(x.dtype())) == 0;
}

constexpr std::array kAll{DType::Bool, DType::U8,  DType::I8,   DType::I16, DType::I32,
                          DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64};

std::string npy_of(const Tensor& x) {
  MemorySink sink;
  write_npy(sink, x);
  return sink.content;
}
Tensor npy_from(std::string_view bytes) {
  MemorySource source(bytes);
  return read_npy(source);
}

TEST_CASE("npy keeps every dtype and shape") {
  for (const DType dtype : kAll) {
    if (dtype == DType::BF16) continue;
    INFO(kiln::name(dtype));
    for (const auto& x : {sample(dtype, {}), sample(dtype, {3}), sample(dtype, {2, 3}),
                          sample(dtype, {2, 0, 3}), sample(dtype, {1, 2, 1, 5})}) {
      const std::string bytes = npy_of(x);
      CHECK(bytes.size() % 64 == static_cast<std::size_t>(x.numel()) * kiln::size_of(dtype) % 64);
      CHECK(same(npy_from(bytes), x));
    }
  }
  CHECK_THROWS_AS(npy_of(sample(DType::BF16, {2})), lang::UserError);
}

TEST_CASE("npy of views is written row by row") {
  const Tensor x = sample(DType::F32, {2, 3});
  const Tensor turned = kiln::ops::transpose(x, 0, 1);
  CHECK(same(npy_from(npy_of(turned)), turned));
}

std::string npy_bytes(const std::string& header, std::string_view data) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + std::string(data);
}

TEST_CASE("npy reads what NumPy writes") {
  const std::string fortran = npy_bytes("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n",
                                        std::string_view("\x01\0\x04\0\x02\0\x05\0\x03\0\x06\0", 12));
  const Tensor x = npy_from(fortran);
  CHECK(x.dtype() == DType::I16);
  CHECK(x.sizes() == kiln::Dims{2, 3});
  for (std::int16_t i = 0; i < 6; ++i) CHECK(x.data<std::int16_t>()[i] == i + 1);
  const Tensor big = npy_from(npy_bytes("{'descr': '>i4', 'fortran_order': False, 'shape': (1,), }\n",
                                        std::string_view("\0\0\x01\x02", 4)));
  CHECK(*big.data<std::int32_t>() == 258);
  const Tensor wide = npy_from(npy_bytes("{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }\n",
                                         std::string_view("\xff\xff", 2)));
  CHECK(wide.dtype() == DType::I32);
  CHECK(*wide.data<std::int32_t>() == 65535);
}

// Reading gives a tensor or one of the two errors that `load` reports; anything else fails the test.
template <class Read>
bool survives(const Read& read) {
  try {
    read();
  } catch (const DamagedFile&) {
  } catch (const lang::UserError&) {
  } catch (const kiln::OpError&) {
  }
  return true;
}

// Every prefix, and every byte replaced by several others.
template <class Read>
void damage(const std::string& bytes, const Read& read) {
  for (std::size_t n = 0; n < bytes.size(); ++n) REQUIRE(survives([&] { read(bytes.substr(0, n)); }));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      REQUIRE(survives([&] { read(damaged); }));
    }
  }
}

TEST_CASE("damaged npy files are errors") {
  damage(npy_of(sample(DType::F32, {2, 3})), [](const std::string& b) { npy_from(b); });
  const char* const shapes[] = {"(9223372036854775807, 9223372036854775807)", "(-1,)",
                                "(4611686018427387904,)", "(1000000000000,)", "(1, 2"};
  for (const char* shape : shapes) {
    INFO(shape);
    CHECK_THROWS_AS(
        npy_from(npy_bytes(
            std::string("{'descr': '<f8', 'fortran_order': False, 'shape': ") + shape + ", }\n", "12345678")),
        DamagedFile);
  }
  CHECK_THROWS_AS(
      npy_from(npy_bytes("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", "12345678")),
      DamagedFile);
  CHECK_THROWS_AS(npy_from(npy_bytes("{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }\n",
                                     "\xff\xff\xff\xff\xff\xff\xff\xff")),
                  DamagedFile);
  CHECK_THROWS_AS(npy_from("PK\x03\x04 and so on"), DamagedFile);
}

TEST_CASE("npz keeps names and tensors, and checks its sums") {
  const Folder folder;
  const std::string path = folder / "x.npz";
  const NamedTensors tensors{{"a", sample(DType::F32, {2, 3})},
                             {"layers.0.weight", sample(DType::I64, {4})},
                             {"n", sample(DType::Bool, {})}};
  write_npz(path, path, tensors);
  const NamedTensors back = read_npz(path);
  REQUIRE(back.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(back[i].first == tensors[i].first);
    CHECK(same(back[i].second, tensors[i].second));
  }
  const std::string bytes = content(path);
  std::string damaged = bytes;
  damaged[bytes.find("NUMPY") + 130] ^= 0x10;  // within the elements
  put(path, damaged);
  CHECK_THROWS_AS(read_npz(path), DamagedFile);
  damage(bytes, [&](const std::string& b) {
    put(path, b);
    read_npz(path);
  });
}

TEST_CASE("safetensors keeps every dtype") {
  NamedTensors tensors;
  for (const DType dtype : kAll)
    tensors.emplace_back(std::string("t_") + std::string(kiln::name(dtype)), sample(dtype, {2, 3}));
  tensors.emplace_back("empty \"quoted\"", sample(DType::F32, {0, 4}));
  tensors.emplace_back("scalar", sample(DType::F64, {}));
  MemorySink sink;
  write_safetensors(sink, tensors);
  MemorySource source(sink.content);
  const NamedTensors back = read_safetensors(source);
  REQUIRE(back.size() == tensors.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    CHECK(back[i].first == tensors[i].first);
    CHECK(same(back[i].second, tensors[i].second));
  }
}

Tensor first_of_safetensors(const std::string& header, std::string_view data) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i));
  bytes += header + std::string(data);
  MemorySource source(bytes);
  return read_safetensors(source).at(0).second;
}

TEST_CASE("damaged safetensors files are errors") {
  MemorySink sink;
  write_safetensors(sink, {{"a", sample(DType::F32, {2})}, {"b", sample(DType::U8, {3})}});
  damage(sink.content, [](const std::string& b) {
    MemorySource source(b);
    read_safetensors(source);
  });
  CHECK(first_of_safetensors(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "ab").numel() == 2);
  const char* const headers[] = {
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,3]}})",
      R"({"a":{"dtype":"U8","shape":[-2],"data_offsets":[0,2]}})",
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})",
      R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,2]}})",
      R"({"a":{"dtype":"U8","shape":[99999999999],"data_offsets":[0,99999999999]}})",
      R"({"a":{"dtype":"Q4","shape":[2],"data_offsets":[0,2]}})",
      R"({"a":{"dtype":7,"shape":[2],"data_offsets":[0,2]}})",
      R"({"a":5})",
      R"([1, 2])",
      R"({"a":)",
  };
  for (const char* header : headers) {
    INFO(header);
    CHECK_THROWS_AS(first_of_safetensors(header, "ab"), DamagedFile);
  }
}

TEST_CASE("idx keeps its dtypes, big-endian") {
  for (const DType dtype : {DType::U8, DType::I8, DType::I16, DType::I32, DType::F32, DType::F64}) {
    INFO(kiln::name(dtype));
    MemorySink sink;
    const Tensor x = sample(dtype, {2, 3});
    write_idx(sink, x);
    CHECK(sink.content.substr(4, 8) == std::string("\0\0\0\x02\0\0\0\x03", 8));
    MemorySource source(sink.content);
    CHECK(same(read_idx(source), x));
    damage(sink.content, [](const std::string& b) {
      MemorySource damaged(b);
      read_idx(damaged);
    });
  }
  MemorySink sink;
  CHECK_THROWS_AS(write_idx(sink, sample(DType::I64, {2})), lang::UserError);
  const std::string huge("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16);
  MemorySource source(huge);
  CHECK_THROWS_AS(read_idx(source), DamagedFile);
}

TEST_CASE("gzip packs and unpacks, also members that follow each other") {
  MemorySink packed;
  {
    GzipSink sink(packed);
    sink.text("hello ");
    sink.finish();
  }
  {
    GzipSink sink(packed);
    for (int i = 0; i < 10000; ++i) sink.text("world ");
    sink.finish();
  }
  MemorySource source(packed.content);
  GzipSource unpacked(source);
  const std::string text = unpacked.rest(1 << 20);
  CHECK(text.size() == 60006);
  CHECK(text.substr(0, 12) == "hello world ");
  damage(packed.content, [](const std::string& b) {
    MemorySource damaged(b);
    GzipSource(damaged).rest(1 << 20);
  });
  // A damaged byte of the data is found by the sum at the end.
  std::string flipped = packed.content;
  flipped[flipped.size() - 6] ^= 1;
  MemorySource wrong(flipped);
  GzipSource reader(wrong);
  CHECK_THROWS_AS(reader.rest(1 << 20), DamagedFile);
}

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
  CHECK(as_image(sample(DType::F32, {3, 8, 9})).sizes() == kiln::Dims{8, 9, 3});
  CHECK(as_image(sample(DType::Bool, {8, 9})).data<std::uint8_t>()[1] == 255);
  CHECK_THROWS_AS(as_image(sample(DType::F32, {8})), lang::UserError);
  CHECK_THROWS_AS(as_image(sample(DType::F32, {2, 8, 9})), lang::UserError);
  CHECK_THROWS_AS(as_image(sample(DType::F32, {0, 9})), lang::UserError);
}

Table csv(std::string_view text, CsvOptions options = {}) { return read_csv(text, options); }

TEST_CASE("csv tells numbers, texts and headers apart") {
  const Table table = csv("name,x,n\n\"a, \"\"b\"\"\",1.5,1\nc,,2\r\n");
  REQUIRE(table.names == std::vector<std::string>{"name", "x", "n"});
  CHECK(std::get<std::vector<std::string>>(table.columns[0]) == std::vector<std::string>{"a, \"b\"", "c"});
  const Tensor x = std::get<Tensor>(table.columns[1]);
  CHECK(x.dtype() == kiln::default_float());
  CHECK(x.data<float>()[0] == 1.5F);
  CHECK(std::isnan(x.data<float>()[1]));
  CHECK(std::get<Tensor>(table.columns[2]).dtype() == DType::I64);

  CHECK(csv("1,2\n3,4\n").names.empty());
  CHECK(csv("# note\n1,2\n", {std::nullopt, 1, ',', {}}).columns.size() == 2);
  CHECK(csv("a,b\n", {true, 0, ',', {}}).names.size() == 2);
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
  CHECK(same(std::get<Tensor>(back.columns[1]), sample(DType::F32, {2})));
}

std::size_t entries(const Folder& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()));
}

TEST_CASE("a file that is not committed leaves the old one and nothing else") {
  const Folder folder;
  const std::string path = folder / "x";
  put(path, "old");
  ::chmod(path.c_str(), 0640);
  {
    AtomicFile file(path);
    file.text("half");
  }
  CHECK(content(path) == "old");
  CHECK(entries(folder) == 1);
  AtomicFile file(path);
  file.text("new");
  file.commit();
  CHECK(content(path) == "new");
  CHECK(entries(folder) == 1);
  struct stat status{};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("a full disk is an IOError that leaves the old file") {
  const Folder folder;
  const Tensor x = sample(DType::F32, {1000, 1000});
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const std::string name : {"x.npy", "x.npz"}) {
    const std::string path = folder / name;
    put(path, "old");
    rlimit small = before;
    small.rlim_cur = 1U << 16U;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    std::string kind;
    std::string message;
    try {
      AtomicFile file(path);
      if (name == "x.npz") {
        write_npz(file.working_path(), path, {{"x", x}});
      } else {
        write_npy(file, x);
      }
      file.commit();
    } catch (const lang::UserError& error) {
      kind = error.diagnostic().kind;
      message = error.diagnostic().message;
    }
    ::setrlimit(RLIMIT_FSIZE, &before);
    CHECK(kind == "IOError");
    CHECK(message.find(path) != std::string::npos);
    CHECK(content(path) == "old");
  }
  CHECK(entries(folder) == 2);
  std::signal(SIGXFSZ, handler);
}

TEST_CASE("devices are written into, not replaced") {
  AtomicFile null("/dev/null");
  null.text("x");
  null.commit();
  CHECK(fs::is_character_file("/dev/null"));
  AtomicFile full("/dev/full");
  CHECK_THROWS_AS(full.text("x"), lang::UserError);
}

TEST_CASE("missing folders and folders as files are IOErrors") {
  const Folder folder;
  CHECK_THROWS_AS(AtomicFile(folder / "none/x"), lang::UserError);
  CHECK_THROWS_AS(AtomicFile(folder.path.string()), lang::UserError);
  CHECK_THROWS_AS(FileSource(folder / "none"), lang::UserError);
  CHECK_THROWS_AS(FileSource(folder.path.string()), lang::UserError);
}

}  // namespace
}  // namespace kiln::interp::files
