#include "tests/cuda/fake/compile.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "tests/cuda/fake/kernel_text.h"
#include "tests/cuda/fake/process.h"
#include "tests/cuda/fake/settings.h"

namespace kiln::fake {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShim[] = {"abi.h", "arithmetic.h", "atomics.h", "cuda.h", "vectors.h", "warp.h"};

// Two sums of FNV-1a with different starts: 128 bits are as good as equality here.
class Digest {
 public:
  void add(std::string_view text) {
    for (const char c : text) step(static_cast<unsigned char>(c));
    step(256);  // an end: two texts are not one
  }
  std::string text() const {
    char digits[33];
    std::snprintf(digits, sizeof digits, "%016llx%016llx", first_, second_);
    return digits;
  }

 private:
  void step(unsigned value) {
    first_ = (first_ ^ value) * 0x100000001b3ULL;
    second_ = (second_ ^ (value + 0x9e37U)) * 0x100000001b3ULL;
  }
  unsigned long long first_ = 0xcbf29ce484222325ULL, second_ = 0x84222325cbf29ce4ULL;
};

std::string compiler() {
  static const std::string found = [] {
    const std::string set = text_setting("KILN_FAKE_COMPILER", "");
    if (!set.empty()) return set;
    for (const char* const name : {"clang++-19", "clang++"}) {
      if (run_program({name, "--version"}, "/", nullptr).status == 0) return std::string(name);
    }
    return std::string();
  }();
  return found;
}

fs::path cache_folder() {
  const std::string set = text_setting("KILN_FAKE_CACHE", "");
  if (!set.empty()) return set;
  return fs::temp_directory_path() / ("kiln_fake_cache_" + std::to_string(getuid()));
}

std::string key_of(const Source& source) {
  Digest digest;
  digest.add(compiler());
  for (const char* const file : kShim) digest.add(read_file(fs::path(KILN_FAKE_SHIM) / file));
  digest.add(library_text(""));
  digest.add(source.name);
  digest.add(source.text);
  for (const auto& [name, text] : source.headers) {
    digest.add(name);
    digest.add(text);
  }
  for (const std::string& option : source.options) digest.add(option);
  return digest.text();
}

// Many processes may write the same file at once: each its own, which it then gives the name.
void keep(const fs::path& path, const std::string& library) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  const fs::path own = path.string() + "." + std::to_string(getpid());
  if (!error && write_file(own, library)) fs::rename(own, path, error);
  if (error) fs::remove(own, error);
}

// A name that leads out of the folder is none.
bool write_header(const fs::path& folder, const std::string& name, const std::string& text) {
  const fs::path path = fs::path(name).lexically_normal();
  if (path.empty() || path.is_absolute() || *path.begin() == "..") return false;
  std::error_code error;
  fs::create_directories((folder / path).parent_path(), error);
  return !error && write_file(folder / path, text);
}

bool write_sources(const fs::path& folder, const Source& source) {
  for (const auto& [name, text] : source.headers) {
    if (!write_header(folder, name, text)) return false;
  }
  return write_file(folder / source.name, source.text);
}

class Compilation {
 public:
  Compilation(const Source& source, const std::function<bool()>& must_stop)
      : source_(source), must_stop_(must_stop) {}

  Compiled result() {
    if (compiler().empty()) {
      result_.log = "fake NVRTC: no clang++-19 or clang++ is found, which KILN_FAKE_COMPILER may name\n";
      return std::move(result_);
    }
    result_.outcome = Outcome::Refused;
    if (!write_sources(folder_.path(), source_)) {
      result_.log = "fake NVRTC: a header's name leads out of the folder, or the folder cannot be written\n";
    } else if (preprocess() && make_library()) {
      result_.outcome = Outcome::Compiled;
      result_.library = read_file(folder_.path() / "library.so");
    }
    return std::move(result_);
  }

 private:
  bool run(std::vector<std::string> words) {
    words.insert(words.begin(), compiler());
    const Ended ended = run_program(words, folder_.path(), must_stop_);
    result_.log += ended.out;
    if (!ended.is_started) result_.outcome = Outcome::NoCompiler;
    if (ended.is_stopped) result_.outcome = Outcome::Stopped;
    return ended.is_started && !ended.is_stopped && ended.status == 0;
  }

  // As with NVRTC there is no standard header.
  bool preprocess() {
    std::vector<std::string> words = {"-E", "-x", "c++", "-std=c++20", "-nostdinc", "-nostdinc++", "-I."};
    words.insert(words.end(), {"-include", fs::path(KILN_FAKE_SHIM) / "cuda.h"});
    for (const std::string& option : source_.options) words.push_back(option);
    words.insert(words.end(), {source_.name, "-o", "preprocessed"});
    return run(std::move(words));
  }

  bool make_library() {
    const std::string text = library_text(read_file(folder_.path() / "preprocessed"));
    if (!write_file(folder_.path() / "library.cpp", text)) return false;
    std::vector<std::string> words = {"-std=c++20",
                                      "-O2",
                                      "-fno-math-errno",
                                      "-fno-exceptions",
                                      "-fno-rtti",
                                      "-w",
                                      "-shared",
                                      "-fPIC",
                                      "-fvisibility=hidden",
                                      "-g0",
                                      "-nostdlib",
                                      "-fno-strict-aliasing",
                                      "-fno-stack-protector",
                                      "-fstack-clash-protection"};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) words.push_back("-march=x86-64-v3");
    for (const std::string& option : source_.options) {
      if (option.starts_with("-f")) words.push_back(option);
    }
    words.insert(words.end(), {"library.cpp", "-o", "library.so"});
    return run(std::move(words));
  }

  const Source& source_;
  const std::function<bool()>& must_stop_;
  TemporaryFolder folder_;
  Compiled result_;
};

}  // namespace

Compiled compile(const Source& source, const std::function<bool()>& must_stop) {
  const fs::path kept = cache_folder() / (key_of(source) + ".so");
  if (std::string library = read_file(kept); !library.empty())
    return {Outcome::Compiled, std::move(library), ""};
  Compiled compiled = Compilation(source, must_stop).result();
  if (compiled.outcome == Outcome::Compiled) keep(kept, compiled.library);
  return compiled;
}

}  // namespace kiln::fake
