// Every file format: round trips of every dtype it knows, files of other programs, damage.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>

#include "interpreter/files/atomic_file.h"
#include "interpreter/files/formats.h"
#include "interpreter/files/gzip.h"
#include "interpreter/files/part_file.h"
#include "lang/diagnostic.h"
#include "tensor/functions.h"
#include "tests/effort.h"
#include "tests/interpreter/files.h"

namespace kiln::interp::files::file_formats_test {
namespace {

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

TEST_CASE("npy reads and writes complex numbers as NumPy") {
  // What numpy.save writes of [1+2j, -3j].
  const std::string_view small("\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x00\x80\x00\x00\x40\xc0", 16);
  const std::string_view big(
      "\x3f\xf0\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00"
      "\x80\x00\x00\x00\x00\x00\x00\x00\xc0\x08\x00\x00\x00\x00\x00\x00",
      32);
  const Tensor x = npy_from(npy_bytes("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }\n", small));
  REQUIRE(x.dtype() == DType::C64);
  CHECK(x.data<kiln::Complex<float>>()[0] == kiln::Complex<float>{1, 2});
  CHECK(x.data<kiln::Complex<float>>()[1] == kiln::Complex<float>{0, -3});
  const std::string written = npy_of(x);
  CHECK(written.find("'descr': '<c8'") != std::string::npos);
  CHECK(written.substr(written.size() - 16) == small);
  const Tensor wide =
      npy_from(npy_bytes("{'descr': '>c16', 'fortran_order': False, 'shape': (2,), }\n", big));
  REQUIRE(wide.dtype() == DType::C128);
  CHECK(wide.data<kiln::Complex<double>>()[0] == kiln::Complex<double>{1, 2});
  CHECK(wide.data<kiln::Complex<double>>()[1] == kiln::Complex<double>{0, -3});
  CHECK(npy_of(wide).find("'descr': '<c16'") != std::string::npos);
  CHECK(same(npy_from(npy_of(wide)), wide));
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

TEST_CASE("an archive without members has no tensors") {
  const Folder folder;
  const std::string path = folder / "x.npz";
  write_npz(path, path, {});
  CHECK(read_npz(path).empty());
  const std::string end("PK\x05\x06" + std::string(16, '\0'));
  put(path, end + std::string(2, '\0'));  // as NumPy writes it
  CHECK(read_npz(path).empty());
  put(path, end + std::string("\x03\0one", 5));  // with a comment
  CHECK(read_npz(path).empty());
  for (const std::string& bytes :
       {end, end + std::string(3, '\0'), end + std::string("\x03\0on", 4), std::string()}) {
    put(path, bytes);
    CHECK_THROWS_AS(read_npz(path), DamagedFile);
  }
}

// Of what is refused; empty when nothing is.
std::string reason_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const DamagedFile& error) {
    return error.reason;
  } catch (const lang::UserError& error) {
    return error.diagnostic().kind + " " + error.diagnostic().message;
  }
  return "";
}

TEST_CASE("archives keep all members, and say what they cannot keep") {
  const Folder folder;
  const std::string path = folder / "x.npz";
  const Tensor x = sample(DType::F32, {2});
  write_npz(path, path, {{"a", x}, {"a", x}});
  CHECK(reason_of([&] { read_npz(path); }) == "two of its members have the name 'a'");
  write_npz(path, path, {{"größe", x}, {"b.npy", x}});
  CHECK(read_npz(path).at(0).first == "größe");
  CHECK(read_npz(path).at(1).first == "b.npy");
  CHECK((static_cast<unsigned char>(content(path)[7]) & 8) == 8);  // the name is marked as UTF-8
  CHECK(reason_of([&] { write_npz(path, path, {{std::string("a\0b", 3), x}}); }) ==
        "ValueError save: the name 'a' holds a NUL character, which an archive cannot keep");
  CHECK(reason_of([&] { write_npz(path, path, {{std::string(70'000, 'a'), x}}); }).starts_with("ValueError"));
  // A member that is no array is its bytes.
  std::string bytes = [&] {
    write_npz(path, path, {{"note", x}});
    return content(path);
  }();
  for (std::size_t at = 0; (at = bytes.find("note.npy", at)) != std::string::npos;)
    bytes.replace(at, 8, "note.txt");
  put(path, bytes);
  CHECK(read_npz(path).at(0).first == "note.txt");
  CHECK(read_npz(path).at(0).second.dtype() == DType::U8);
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

TEST_CASE("a name comes once in safetensors, and stays what it is") {
  const auto reason = [](const std::string& header) {
    return reason_of([&] { first_of_safetensors(header, "ab"); });
  };
  const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  CHECK(reason("{" + a + "}").empty());
  CHECK(reason("{" + a + "," + a + "}") == "two of its tensors have the name 'a'");
  CHECK(reason(R"({"a":{"dtype":"U8","dtype":"I8","shape":[2],"data_offsets":[0,2]}})") ==
        "tensor 'a' has two fields 'dtype'");
  CHECK(reason(R"({"__metadata__":{"k":"v"},)" + a + "}").empty());
  CHECK(reason(R"({"__metadata__":{},"__metadata__":{}})") ==
        "two of its tensors have the name '__metadata__'");
  MemorySink sink;
  const Tensor x = sample(DType::U8, {2});
  CHECK(reason_of([&] { write_safetensors(sink, {{"__metadata__", x}}); }).starts_with("ValueError"));
  CHECK(reason_of([&] {
          write_safetensors(sink, {{"caf\xe9", x}});
        }).starts_with("ValueError save: a name is not UTF-8"));
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
  // Where the sum and the length stand, too, and when only these are missing.
  for (std::size_t missing = 1; missing <= 8; ++missing) {
    MemorySource cut(std::string_view(packed.content).substr(0, packed.content.size() - missing));
    GzipSource short_one(cut);
    std::string all(60006, '\0');
    CHECK(reason_of([&] {
            short_one.read(all.data(), all.size());
            short_one.expect_end();
          }) == "its compressed data ends early");
  }
  // A damaged byte of the data is found by the sum at the end.
  std::string flipped = packed.content;
  flipped[flipped.size() - 6] ^= 1;
  MemorySource wrong(flipped);
  GzipSource reader(wrong);
  CHECK_THROWS_AS(reader.rest(1 << 20), DamagedFile);
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

TEST_CASE("what a killed process left is removed by the next save, and nothing else") {
  const Folder folder;
  const std::string left = folder / ".x.npy.kiln-12345-6.part", used = folder / ".y.kiln-1-1.part";
  const std::vector<std::string> others{folder / ".x.npy.part", folder / "x.kiln-1-2.part",
                                        folder / ".x.kiln-a-2.part"};
  for (const std::string& path : others) put(path, "mine");
  put(left, "half");
  put(used, "half");
  const int descriptor = ::open(used.c_str(), O_RDONLY);
  REQUIRE(::flock(descriptor, LOCK_EX) == 0);  // as who writes it has it
  const auto save = [&](const std::string& name) {
    AtomicFile file(folder / name);
    file.text("new");
    file.commit();
  };
  save("x.npy");
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(used));
  for (const std::string& path : others) CHECK(fs::exists(path));
  ::close(descriptor);
  // Looked for again, but not at every save.
  for (int i = 0; i < 1000 && fs::exists(used); ++i) {
    ::usleep(10'000);
    save("z");
  }
  CHECK_FALSE(fs::exists(used));
  ::symlink((folder / "z").c_str(), left.c_str());
  CHECK(::mkfifo(used.c_str(), 0600) == 0);
  ::usleep(100'000);
  save("z");
  CHECK(fs::is_symlink(left));
  CHECK(fs::is_fifo(used));
}

TEST_CASE("a save goes on while another process looks for what was left in the folder") {
  const Folder folder;
  const pid_t sweeper = ::fork();
  if (sweeper == 0) {
    // Looks at a folder are far apart in time, so this process spells its name in a thousand ways.
    for (std::string spelled = folder / "";; spelled += "./") {
      if (spelled.size() > 2000) spelled = folder / "";
      sweep_part_files(spelled + "x");
    }
  }
  for (int i = 0; i < 300; ++i) {
    AtomicFile file(folder / "x");
    file.text("new");
    CHECK_NOTHROW(file.commit());
  }
  ::kill(sweeper, SIGKILL);
  ::waitpid(sweeper, nullptr, 0);
  CHECK(entries(folder) == 1);
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

// Seconds of the fastest of three.
double seconds_of(const std::function<void()>& f) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

TEST_CASE("twice as many names take twice as long") {
  const Folder folder;
  const std::string path = folder / "x.npz";
  const Tensor x = sample(DType::U8, {1});
  const auto named = [&](int count) {
    NamedTensors tensors;
    for (int i = 0; i < count; ++i) tensors.emplace_back("layers." + std::to_string(i) + ".weight", x);
    return tensors;
  };
  const auto through_safetensors = [&](const NamedTensors& tensors) {
    MemorySink sink;
    write_safetensors(sink, tensors);
    MemorySource source(sink.content);
    CHECK(read_safetensors(source).size() == tensors.size());
  };
  const auto through_npz = [&](const NamedTensors& tensors) {
    write_npz(path, path, tensors);
    CHECK(read_npz(path).size() == tensors.size());
  };
  for (const auto& [run, count] :
       {std::pair<std::function<void(const NamedTensors&)>, int>{through_safetensors, 20'000},
        {through_npz, 3'000}}) {
    const NamedTensors few = named(count / kiln::testing::kEvery),
                       many = named(4 * (count / kiln::testing::kEvery));
    const double once = seconds_of([&] { run(few); });
    CHECK(seconds_of([&] { run(many); }) < 8 * once);
  }
}

}  // namespace
}  // namespace kiln::interp::files::file_formats_test
