// Machine code from objects: what is no object is refused, whatever its bytes.
#include "jit/cpu/object.h"
#include "jit/loops/kernel_op.h"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "jit/cpu/compiler.h"
#include "jit/graph/text.h"
#include "jit/pipeline/fused.h"
#include "tensor/error.h"

namespace kiln::object_test {

using namespace kiln::jit;

namespace {

std::string an_object() {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[8]) {\n  %y = exp(%x) : f32[8]\n  %z = sin(%y) : f32[8]\n  return %z\n}\n");
  const Graph fused = fuse(graph).graph;
  const FusedKernel kernel = kernels_of(fused)[0];
  return emit_with_llvm(nests_of(kernel.lowered->passes, *kernel.schedule));
}

}  // namespace

TEST_CASE("an object is loaded, and has the functions that are in it", "[jit][object]") {
  const std::string object = an_object();
  const std::shared_ptr<Code> code = Code::load(object);
  CHECK(code->find("kernel0") != nullptr);
  CHECK_THROWS_AS(code->find("kernel1"), InternalError);
  CHECK(code->bytes() > 0);
}

TEST_CASE("a library of another build is refused", "[jit][object]") {
  const auto complaint = [](const std::string& path) -> std::string {
    try {
      compile_function_of(path);
    } catch (const InternalError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(complaint("libm.so.6") ==
        "kernels cannot be compiled: libm.so.6 belongs to another build of Kiln; build it again");
  CHECK_THAT(complaint("libnowhere.so"), Catch::StartsWith("kernels cannot be compiled: libnowhere.so"));
}

TEST_CASE("what is no object is refused", "[jit][object]") {
  CHECK_THROWS_AS(Code::load(""), InternalError);
  CHECK_THROWS_AS(Code::load("graph functional f() {}"), InternalError);
  const std::string object = an_object();
  for (const std::size_t length : {std::size_t{63}, std::size_t{64}, object.size() / 2, object.size() - 1}) {
    CHECK_THROWS_AS(Code::load(object.substr(0, length)), InternalError);
  }
  std::string other = object;
  other[18] = 40;  // another machine
  CHECK_THROWS_AS(Code::load(other), InternalError);
}

namespace {

// True when it is loaded, with its function in its own memory; false when it is refused. Anything else ends
// the test, or the process under a sanitizer.
bool is_loaded(const std::string& object) {
  try {
    const std::shared_ptr<Code> code = Code::load(object);
    const auto* const at = static_cast<const std::byte*>(code->find("kernel0"));
    return at != nullptr;
  } catch (const InternalError&) {
    return false;
  }
}

// The parts of an object that say how it is to be read: its header, that of a section, a symbol, a
// relocation.
class Parts {
 public:
  explicit Parts(const std::string& object) : object_(object) {
    std::memcpy(&header_, object.data(), sizeof header_);
    add(0, sizeof header_);
    for (std::size_t i = 0; i < header_.e_shnum; ++i) {
      const std::size_t at = header_.e_shoff + i * sizeof(Elf64_Shdr);
      add(at, sizeof(Elf64_Shdr));
      Elf64_Shdr section;
      std::memcpy(&section, object.data() + at, sizeof section);
      if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_RELA || section.sh_type == SHT_STRTAB)
        add(section.sh_offset, section.sh_size);
    }
  }
  // A place among them, and how many bytes follow in the same part.
  std::pair<std::size_t, std::size_t> draw(std::mt19937& random) const {
    const auto& [begin, size] = parts_[random() % parts_.size()];
    const std::size_t at = random() % size;
    return {begin + at, size - at};
  }
  std::vector<std::size_t> section_headers() const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < header_.e_shnum; ++i)
      found.push_back(header_.e_shoff + i * sizeof(Elf64_Shdr));
    return found;
  }

 private:
  void add(std::size_t begin, std::size_t size) {
    if (size > 0) parts_.emplace_back(begin, size);
  }
  const std::string& object_;
  Elf64_Ehdr header_;
  std::vector<std::pair<std::size_t, std::size_t>> parts_;
};

}  // namespace

TEST_CASE("malformed objects are refused, whatever is wrong", "[jit][object]") {
  const std::string object = an_object();
  REQUIRE(is_loaded(object));
  const Parts parts(object);
  std::mt19937 random(1);
  constexpr std::uint64_t kValues[] = {0,
                                       1,
                                       7,
                                       0x7f,
                                       0xff,
                                       0xffff,
                                       0x7fffffff,
                                       0xffffffff,
                                       0x7fffffffffffffff,
                                       ~std::uint64_t{0},
                                       std::uint64_t{1} << 63,
                                       4096,
                                       1 << 20,
                                       std::uint64_t{1} << 40};
  int loaded = 0;
  constexpr int kMutations = 20'000;
  for (int i = 0; i < kMutations; ++i) {
    std::string bad = object;
    for (int changes = 1 + static_cast<int>(random() % 3); changes-- > 0;) {
      const auto [at, room] = parts.draw(random);
      const std::uint64_t value = random() % 2 == 0 ? kValues[random() % std::size(kValues)]
                                                    : std::uint64_t{random()} << (random() % 33);
      const std::size_t width = std::min<std::size_t>(std::size_t{1} << (random() % 4), room);
      std::memcpy(bad.data() + at, &value, width);
    }
    if (random() % 8 == 0) bad.resize(random() % bad.size());
    loaded += is_loaded(bad) ? 1 : 0;
  }
  CHECK(loaded < kMutations);  // names, and fields that nobody reads, may be anything
  CHECK(loaded > 0);
}

TEST_CASE("sections of an object may say anything of where they are and how long", "[jit][object]") {
  const std::string object = an_object();
  for (const std::size_t at : Parts(object).section_headers()) {
    for (const std::size_t field : {offsetof(Elf64_Shdr, sh_offset), offsetof(Elf64_Shdr, sh_size),
                                    offsetof(Elf64_Shdr, sh_addralign), offsetof(Elf64_Shdr, sh_flags)}) {
      for (const std::uint64_t value :
           {~std::uint64_t{0}, ~std::uint64_t{0} - 63, std::uint64_t{1} << 63, std::uint64_t{1} << 40,
            static_cast<std::uint64_t>(object.size()), std::uint64_t{3}, std::uint64_t{0}}) {
        std::string bad = object;
        std::memcpy(bad.data() + at + field, &value, sizeof value);
        is_loaded(bad);
      }
    }
  }
  // Each kind of relocation at each place, to each symbol.
  std::mt19937 random(2);
  std::string bad = object;
  for (const std::size_t at : Parts(object).section_headers()) {
    Elf64_Shdr section;
    std::memcpy(&section, object.data() + at, sizeof section);
    if (section.sh_type != SHT_RELA) continue;
    for (int i = 0; i < 5000; ++i) {
      Elf64_Rela entry;
      entry.r_offset = random() % 5 == 0 ? ~std::uint64_t{0} - random() % 16 : random() % 100'000;
      entry.r_info = ELF64_R_INFO(std::uint64_t{random() % 40}, random() % 45);
      entry.r_addend =
          static_cast<std::int64_t>(random() % 3 == 0 ? std::uint64_t{random()} << 32 : random() % 64);
      std::memcpy(bad.data() + section.sh_offset + random() % (section.sh_size / sizeof entry) * sizeof entry,
                  &entry, sizeof entry);
      is_loaded(bad);
      if (i % 50 == 0) bad = object;
    }
  }
  CHECK(is_loaded(object));  // none of the loads above ended the process, and a whole object still loads
}

}  // namespace kiln::object_test
