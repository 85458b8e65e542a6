// Machine code on disk: found again by what it depends on, never when damaged, bounded, shared by processes.
#include "jit/pipeline/code_cache.h"
#include "jit/loops/kernel_op.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "jit/cpu/build_id.h"
#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/loops/code_key.h"
#include "jit/pipeline/fused.h"
#include "tests/jit/graphs.h"

namespace kiln::code_cache_test {

using namespace kiln::jit;
namespace fs = std::filesystem;

namespace {

// A cache in a folder of its own, and none afterwards.
class Cache {
 public:
  explicit Cache(std::size_t most = kCodeCacheBytes) {
    std::string name = (fs::temp_directory_path() / "kiln_cache_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
    again(most);
  }
  ~Cache() {
    use_code_cache({});
    fs::remove_all(path_);
    fs::remove(key());
  }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // As another process would find it.
  void again(std::size_t most = kCodeCacheBytes) {
    use_code_cache({[path = path_.string()] { return path; }, most});
  }
  const fs::path& path() const { return path_; }
  fs::path key() const { return path_.string() + ".key"; }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& each : fs::directory_iterator(path_)) found.push_back(each.path());
    return found;
  }
  std::size_t bytes() const {
    std::size_t total = 0;
    for (const fs::path& each : files()) total += fs::file_size(each);
    return total;
  }

 private:
  fs::path path_;
};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

Graph graph_of(const std::string& name, const std::string& number, int size) {
  const std::string type = "f32[" + std::to_string(size) + "]";
  return parse_graph("graph functional " + name + "(%x: " + type + ") {\n  %y = exp(%x) : " + type +
                     "\n  %z = add(%y, " + number + ") : " + type + "\n  return %z\n}\n");
}
std::vector<ScheduledNest> nests_in(const Graph& fused) {
  const FusedKernel kernel = kernels_of(fused)[0];
  return nests_of(kernel.lowered->passes, *kernel.schedule);
}
std::string key_of(const Graph& graph) {
  const Graph fused = fuse(graph).graph;
  return code_key(nests_in(fused), "compiler", "processor");
}

}  // namespace

TEST_CASE("code that was kept is found again by its key", "[jit][cache]") {
  const Cache cache;
  CHECK_FALSE(cached_code("a"));
  keep_code("a", "code of a");
  keep_code("b", "");
  CHECK(cached_code("a") == "code of a");
  CHECK(cached_code("b") == "");
  CHECK_FALSE(cached_code("c"));
  keep_code("a", "other code");
  CHECK(cached_code("a") == "other code");
  CHECK(cache.files().size() == 2);
}

TEST_CASE("what is damaged is as if it were not there", "[jit][cache]") {
  Cache cache;
  keep_code("key", "some code that matters");
  const fs::path file = cache.files().at(0);
  const std::string good = read(file);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    write(file, bad);
    CHECK_FALSE(cached_code("key"));
    write(file, std::string_view(good).substr(0, at));
    CHECK_FALSE(cached_code("key"));
  }
  write(file, good + "more");
  CHECK_FALSE(cached_code("key"));
  write(file, good);
  CHECK(cached_code("key") == "some code that matters");
}

TEST_CASE("what others could have written is as if it were not there", "[jit][cache]") {
  Cache cache;
  keep_code("key", "code");
  const fs::path file = cache.files().at(0);
  REQUIRE(cached_code("key") == "code");
  CHECK((fs::status(file).permissions() & fs::perms::all) == fs::perms(0600));
  CHECK((fs::status(cache.key()).permissions() & fs::perms::all) == fs::perms(0600));
  for (const int mode : {0666, 0620, 0602}) {
    fs::permissions(file, fs::perms(mode));
    CHECK_FALSE(cached_code("key"));
  }
  fs::permissions(file, fs::perms(0600));
  for (const int mode : {0777, 0770, 0702}) {
    fs::permissions(cache.path(), fs::perms(mode));
    CHECK_FALSE(cached_code("key"));
    keep_code("other", "code");
    CHECK(cache.files().size() == 1);
  }
  fs::permissions(cache.path(), fs::perms(0700));
  CHECK(cached_code("key") == "code");
  if (geteuid() == 0) {
    REQUIRE(chown(file.c_str(), 12345, 12345) == 0);
    CHECK_FALSE(cached_code("key"));
    REQUIRE(chown(file.c_str(), 0, 0) == 0);
    REQUIRE(chown(cache.path().c_str(), 12345, 12345) == 0);
    CHECK_FALSE(cached_code("key"));
    REQUIRE(chown(cache.path().c_str(), 0, 0) == 0);
  }
  const std::string good = read(file);
  const fs::path elsewhere = cache.path() / "elsewhere";
  write(elsewhere, good);
  fs::remove(file);
  fs::create_symlink(elsewhere, file);
  CHECK_FALSE(cached_code("key"));
  fs::remove(file);
  fs::create_directory(file);
  CHECK_FALSE(cached_code("key"));
}

TEST_CASE("what is no file of code is passed over at once", "[jit][cache]") {
  Cache cache;
  keep_code("key", "code");
  const fs::path file = cache.files().at(0);
  const std::string good = read(file);
  fs::remove(file);
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  CHECK_FALSE(cached_code("key"));  // does not wait for somebody to write
  keep_code("key", "code");
  CHECK(cached_code("key") == "code");
  // A file of a terabyte, of holes, with the right beginning.
  fs::resize_file(file, std::uintmax_t{1} << 40U);
  CHECK_FALSE(cached_code("key"));
  // It does not make room by removing all others.
  keep_code("b", "code of b");
  keep_code("large", std::string(kCodeCacheBytes / 2, 'x'));
  CHECK(cached_code("b") == "code of b");
}

TEST_CASE("code is of the key that sealed it, and of the version", "[jit][cache]") {
  Cache cache;
  keep_code("key", "code");
  const std::string seal = read(cache.key());
  CHECK(seal.size() == 32);
  const auto with_key = [&](const std::string& bytes, int mode) {
    fs::remove(cache.key());
    write(cache.key(), bytes);
    fs::permissions(cache.key(), fs::perms(mode));
    cache.again();
    return cached_code("key");
  };
  CHECK(with_key(seal, 0600) == "code");
  CHECK_FALSE(with_key(std::string(32, 'x'), 0600));
  CHECK(with_key(seal, 0600) == "code");
  // A key that others could read is given up, and so is what it sealed.
  CHECK_FALSE(with_key(seal, 0644));
  CHECK(read(cache.key()) != seal);
  keep_code("key", "new code");
  CHECK(cached_code("key") == "new code");
  CHECK_FALSE(with_key(seal.substr(1), 0600));
  fs::remove(cache.key());
  fs::create_directory(cache.key());
  cache.again();
  CHECK_FALSE(cached_code("key"));
  keep_code("key", "code");
  CHECK_FALSE(cached_code("key"));
}

TEST_CASE("the folder is bounded: what was not used for longest goes", "[jit][cache]") {
  constexpr std::size_t kMost = 20'000;
  Cache cache(kMost);
  const std::string code(900, 'x');
  for (int i = 0; i < 100; ++i) {
    keep_code("key " + std::to_string(i), code);
    CHECK(cache.bytes() <= kMost);
    CHECK(cached_code("key " + std::to_string(i)));
    REQUIRE(cached_code("key 0"));  // in use all the time
  }
  CHECK(cache.files().size() > 10);
  keep_code("large", std::string(kMost, 'x'));
  CHECK_FALSE(cached_code("large"));
}

TEST_CASE("the folder is bounded by processes that keep little, of which few look at it", "[jit][cache]") {
  constexpr std::size_t kMost = 100'000;
  Cache cache(kMost);
  const std::string code(900, 'x');
  for (int process = 0; process < 1000; ++process) {
    cache.again(kMost);
    keep_code("key " + std::to_string(process), code);
  }
  CHECK(cache.bytes() > kMost / 2);
  CHECK(cache.bytes() <= 2 * kMost);
}

TEST_CASE("a folder that is not there keeps nothing and breaks nothing", "[jit][cache]") {
  use_code_cache({[] { return std::string("/dev/null/kernels"); }, kCodeCacheBytes});
  keep_code("a", "code");
  CHECK_FALSE(cached_code("a"));
  use_code_cache({[] { return std::string(); }, kCodeCacheBytes});
  keep_code("a", "code");
  CHECK_FALSE(cached_code("a"));
  use_code_cache({});
  CHECK(code_cache_bytes() == 0);
}

TEST_CASE("the key is what code depends on, and nothing else", "[jit][cache]") {
  CHECK(key_of(graph_of("f", "1", 8)) == key_of(graph_of("g", "1", 5000)));
  CHECK(key_of(graph_of("f", "1", 8)) != key_of(graph_of("f", "2", 8)));
  CHECK(key_of(graph_of("f", "1", 8)) != key_of(graph_of("f", "1.0", 8)));
  const Graph fused = fuse(graph_of("f", "1", 8)).graph;
  const std::vector<ScheduledNest> nests = nests_in(fused);
  CHECK(code_key(nests, "a", "b") != code_key(nests, "ab", ""));
  CHECK(code_key(nests, "a", "b") != code_key(nests, "a", "c"));
}

TEST_CASE("kernels from disk compute what compiled ones do", "[jit][cache]") {
  Cache cache;
  const Graph graph = graph_of("f", "1", 100);
  const std::vector<Tensor> arguments = {kiln::testing::noise({100}, DType::F32, 1, -2.0, 2.0)};
  const Tensors compiled = evaluate(fuse(graph).graph, arguments);
  REQUIRE(cache.files().size() == 1);
  cache.again();
  const Tensors loaded = evaluate(fuse(graph).graph, arguments);
  CHECK(cache.files().size() == 1);
  CHECK(kiln::testing::same_bits(loaded[0], compiled[0]));
  // One that is whole but no object is compiled anew, and put right.
  const std::string key = [&] {
    const std::string bytes = read(cache.files()[0]);
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + 8, sizeof length);
    return bytes.substr(32, length);
  }();
  const std::string whole = *cached_code(key);
  std::string unnamed = whole;  // an object, but of none of the functions that are wanted
  for (std::size_t at = 0; (at = unnamed.find("kernel0", at)) != std::string::npos;) unnamed[at] = 'x';
  for (const std::string& other :
       {std::string("no object"), std::string(), whole.substr(0, whole.size() / 2), unnamed}) {
    keep_code(key, other);
    CHECK(kiln::testing::same_bits(evaluate(fuse(graph).graph, arguments)[0], compiled[0]));
    CHECK(cached_code(key) != other);
  }
}

TEST_CASE("many processes share a folder", "[jit][cache]") {
  constexpr std::size_t kMost = 30'000;
  Cache cache(kMost);
  constexpr int kProcesses = 4, kRounds = 200;
  const auto code_for = [](int i) { return std::string(static_cast<std::size_t>(500 + 40 * i), 'x'); };
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      bool good = true;
      for (int round = 0; round < kRounds; ++round) {
        const int i = (round * 7 + p) % 40;
        const auto found = cached_code("key " + std::to_string(i));
        good = good && (!found || *found == code_for(i));
        keep_code("key " + std::to_string(i), code_for(i));
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t each : children) {
    int status = 0;
    waitpid(each, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  for (const fs::path& each : cache.files()) CHECK(each.extension() == ".code");
}

TEST_CASE("a library tells what it was made of", "[jit][cache]") {
  CHECK(build_id(KILN_LLVM_LIBRARY).size() == 20);
  CHECK(build_id("/dev/null").empty());
  CHECK(build_id("/nowhere").empty());
}

}  // namespace kiln::code_cache_test
