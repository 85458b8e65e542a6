#include "tests/cuda/fake/kernel_text.h"

#include <optional>
#include <regex>
#include <utility>
#include <vector>

namespace kiln::fake {
namespace {

struct KernelName {
  std::string name, most_threads;
};

// Variables that are __shared__ are in a section of their own, whose bounds the linker knows. As long as one
// block runs at a time one copy of them will do.
constexpr std::string_view kBefore =
    "#define __global__\n"
    "#define __launch_bounds__(...)\n"
    "#define __shared__ static __attribute__((used, section(\"kiln_fake_shared\")))\n";

constexpr std::string_view kTable = R"(
namespace {
template <class T> struct KilnFakeValue { using Type = T; };
template <class T> struct KilnFakeValue<const T> { using Type = T; };
template <class T, T...> struct KilnFakePlaces {};
template <auto f> struct KilnFakeEntry;
template <class... P, void (*f)(P...)>
struct KilnFakeEntry<f> {
  static constexpr unsigned kSizes[sizeof...(P) + 1] = {sizeof(P)..., 0};
  // Arguments come from memory of the driver's own, which no check knows.
  template <int... i>
  __attribute__((no_sanitize("thread"))) static void call(void* const* given, KilnFakePlaces<int, i...>) {
    do f(*static_cast<typename KilnFakeValue<P>::Type*>(given[i])...);
    while (kiln_fake_place.runtime.next_thread());
  }
  __attribute__((no_sanitize("thread"))) static void run(void* const* given) {
    call(given, __make_integer_seq<KilnFakePlaces, int, sizeof...(P)>());
  }
  static constexpr KilnFakeKernel make(const char* name, unsigned most_threads) {
    return {name, run, sizeof...(P), kSizes, most_threads};
  }
};
}
extern "C" {
extern char __start_kiln_fake_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_kiln_fake_shared[] __attribute__((weak, visibility("hidden")));
alignas(1024) __attribute__((visibility("hidden"))) char kiln_fake_dynamic[240 * 1024];
}
)";

std::string kernel_row(const KernelName& kernel) {
  return "KilnFakeEntry<&" + kernel.name + ">::make(\"" + kernel.name + "\", " + kernel.most_threads + "), ";
}

std::string table_text(const std::vector<KernelName>& kernels) {
  std::string text = "\n# 1 \"the table of kernels\"" + std::string(kTable);
  text += "namespace { const KilnFakeKernel kiln_fake_kernels[] = {";
  for (const KernelName& kernel : kernels) text += kernel_row(kernel);
  text +=
      "{nullptr, nullptr, 0, nullptr, 0}}; }\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) KilnFakeLibrary kiln_fake_library = {\n"
      "&kiln_fake_place, kiln_fake_kernels, " +
      std::to_string(kernels.size()) +
      ", __start_kiln_fake_shared, __stop_kiln_fake_shared, kiln_fake_dynamic,\n"
      "kiln_fake_dynamic + sizeof(kiln_fake_dynamic)};\n";
  return text;
}

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Where the parenthesis that opens at `at` closes.
std::size_t closing(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at;
  }
  return text.size();
}

// The most threads, which is the first thing in the parentheses.
std::string first_bound(std::string_view inside) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < inside.size() && (depth > 0 || inside[end] != ','); ++end) {
    if (inside[end] == '(') ++depth;
    if (inside[end] == ')') --depth;
  }
  return "(" + std::string(inside.substr(0, end)) + ")";
}

// The kernel whose declaration goes on after the word __global__.
std::optional<KernelName> kernel_after(std::string_view text, std::size_t at) {
  KernelName kernel{"", "1024"};
  while (at < text.size()) {
    if (text[at] == '(') {
      if (kernel.name != "__launch_bounds__") return kernel;
      const std::size_t close = closing(text, at);
      kernel.most_threads = first_bound(text.substr(at + 1, close - at - 1));
      at = close + 1;
    } else if (is_of_name(text[at])) {
      const std::size_t begin = at;
      while (at < text.size() && is_of_name(text[at])) ++at;
      kernel.name = text.substr(begin, at - begin);
    } else if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      ++at;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// Kernels of C++ linkage have other names, by which nobody asks.
std::vector<KernelName> kernels_in(const std::string& text) {
  static const std::regex kWord("extern\\s*\"C\"\\s*__global__\\b");
  std::vector<KernelName> kernels;
  for (std::sregex_iterator each(text.begin(), text.end(), kWord), end; each != end; ++each) {
    const auto after = static_cast<std::size_t>(each->position() + each->length());
    if (std::optional<KernelName> kernel = kernel_after(text, after)) {
      bool is_known = false;  // declared before it is defined
      for (const KernelName& other : kernels) is_known = is_known || other.name == kernel->name;
      if (!is_known) kernels.push_back(std::move(*kernel));
    }
  }
  return kernels;
}

}  // namespace

std::string library_text(std::string_view preprocessed) {
  const std::string text(preprocessed);
  // Shared memory whose size the launch gives: all such variables are the same memory.
  static const std::regex kDynamic("extern\\s+__shared__\\s([^;\\[]*\\[\\s*\\])");
  return std::string(kBefore) +
         std::regex_replace(text, kDynamic, "extern $1 __asm__(\"kiln_fake_dynamic\")") +
         table_text(kernels_in(text));
}

}  // namespace kiln::fake
