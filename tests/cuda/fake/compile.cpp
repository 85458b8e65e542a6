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

constexpr const char* kShimFolder = "tests/cuda/fake/shim";
constexpr const char* kShim[] = {"abi.h",  "arithmetic.h", "atomics.h", "checks.h",
                                 "cuda.h", "vectors.h",    "warp.h"};
constexpr const char* kTranslatorFolder = "tests/cuda/ptx";
constexpr const char* kTranslator[] = {"arithmetic.py", "flow.py",     "kernel_library.py", "memory.py",
                                       "nvrtc.py",      "operands.py", "rounding.py",       "threads.py",
                                       "translate.py",  "card.h",      "runtime.h"};

const std::vector<std::string> kUnchecked = {"-g0"};
// The shim has the functions of the thread sanitizer that are called before accesses, and tells of atomic
// ones itself. Accesses of more than 16 bytes would be left out: vectors of the host are such. Lines are in
// the form that the driver reads.
const std::vector<std::string> kChecked = {"-fsanitize=thread",
                                           "-mllvm",
                                           "-tsan-instrument-func-entry-exit=0",
                                           "-mllvm",
                                           "-tsan-instrument-atomics=0",
                                           "-fno-vectorize",
                                           "-fno-slp-vectorize",
                                           "-gline-tables-only",
                                           "-gdwarf-4"};

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

// The library whose PTX runs; "" where the compiler reads the text itself.
std::string real_nvrtc() { return text_setting("KILN_FAKE_PTX", ""); }
fs::path path_in(const char* folder, const char* file) { return fs::path(KILN_FAKE_ROOT) / folder / file; }

// PTX says nothing of the text's accesses.
const std::vector<std::string>& more_options() {
  return checks_kernels() && real_nvrtc().empty() ? kChecked : kUnchecked;
}

// What decides, beside the text, what runs by a real NVRTC.
void add_translation(Digest& digest) {
  const std::string nvrtc = real_nvrtc();
  if (nvrtc.empty()) return;
  std::error_code none;
  digest.add(nvrtc);
  digest.add(std::to_string(fs::last_write_time(nvrtc, none).time_since_epoch().count()));
  for (const char* const file : kTranslator) digest.add(read_file(path_in(kTranslatorFolder, file)));
}

std::string key_of(const Source& source) {
  Digest digest;
  digest.add(compiler());
  for (const char* const file : kShim) digest.add(read_file(path_in(kShimFolder, file)));
  add_translation(digest);
  digest.add(library_text(""));
  digest.add(source.name);
  digest.add(source.text);
  for (const auto& [name, text] : source.headers) {
    digest.add(name);
    digest.add(text);
  }
  for (const std::string& option : source.options.for_compiler) digest.add(option);
  for (const std::string& option : source.options.for_nvrtc) digest.add(option);
  for (const std::string& option : more_options()) digest.add(option);
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
    } else if ((real_nvrtc().empty() ? write_text() : translate_ptx()) && make_library()) {
      result_.outcome = Outcome::Compiled;
      result_.library = read_file(folder_.path() / "library.so");
    }
    return std::move(result_);
  }

 private:
  bool run(const std::vector<std::string>& words) {
    const Ended ended = run_program(words, folder_.path(), must_stop_);
    result_.log += ended.out;
    if (!ended.is_started) result_.outcome = Outcome::NoCompiler;
    if (ended.is_stopped) result_.outcome = Outcome::Stopped;
    return ended.is_started && !ended.is_stopped && ended.status == 0;
  }

  // As with NVRTC there is no standard header.
  bool write_text() {
    std::vector<std::string> words = {
        compiler(),  "-E",          "-x",  "c++",      "-std=c++20",
        "-nostdinc", "-nostdinc++", "-I.", "-include", path_in(kShimFolder, "cuda.h")};
    for (const std::string& option : source_.options.for_compiler) words.push_back(option);
    words.insert(words.end(), {source_.name, "-o", "preprocessed"});
    return run(words) && write_file(folder_.path() / "library.cpp",
                                    library_text(read_file(folder_.path() / "preprocessed")));
  }

  bool translate_ptx() {
    std::vector<std::string> words = {"python3",    path_in(kTranslatorFolder, "kernel_library.py"),
                                      real_nvrtc(), source_.options.virtual_architecture,
                                      source_.name, "library.cpp"};
    for (const std::string& option : source_.options.for_nvrtc) words.push_back(option);
    return run(words);
  }

  bool make_library() {
    std::vector<std::string> words = {compiler(),
                                      "-std=c++20",
                                      "-O2",
                                      "-fno-math-errno",
                                      "-fno-exceptions",
                                      "-fno-rtti",
                                      "-w",
                                      "-shared",
                                      "-fPIC",
                                      "-fvisibility=hidden",
                                      "-nostdlib",
                                      "-fno-strict-aliasing",
                                      "-fno-stack-protector",
                                      "-fstack-clash-protection"};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) words.push_back("-march=x86-64-v3");
    for (const std::string& option : more_options()) words.push_back(option);
    for (const std::string& option : source_.options.for_compiler) {
      if (option.starts_with("-f")) words.push_back(option);
    }
    // Signed numbers of PTX wrap, and it says where sums and products are rounded together.
    if (!real_nvrtc().empty())
      words.insert(words.end(), {"-fwrapv", "-ffp-contract=off", std::string("-I") + KILN_FAKE_ROOT});
    words.insert(words.end(), {"library.cpp", "-o", "library.so"});
    return run(words);
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
