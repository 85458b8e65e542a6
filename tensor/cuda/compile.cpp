#include "tensor/cuda/compile.h"

#include <locale.h>
#include <algorithm>

#include <fmt/format.h>

#include "tensor/cuda/devices.h"
#include "tensor/cuda/kernel_headers.h"
#include "tensor/cuda/refusal.h"
#include "tensor/error.h"
#include "tensor/interrupt.h"

namespace kiln::cuda {
namespace {

constexpr Version kHasMinimal{12, 4};   // leaves out what Kiln's programs do not use
constexpr Version kKeepsLocale{12, 7};  // older ones read numbers as the locale writes them

const NvrtcApi& nvrtc_api() { return nvrtc().api; }

// Numbers are read as C writes them for as long as it lives.
class PlainLocale {
 public:
  PlainLocale() : plain_(newlocale(LC_ALL_MASK, "C", nullptr)), before_(uselocale(plain_)) {}
  ~PlainLocale() {
    uselocale(before_);
    freelocale(plain_);
  }
  PlainLocale(const PlainLocale&) = delete;
  PlainLocale& operator=(const PlainLocale&) = delete;

 private:
  locale_t plain_, before_;
};

std::string words(std::string_view entry, NvrtcResult result) {
  return fmt::format("{} gave {}", entry, nvrtc_api().nvrtcGetErrorString(result));
}
void check(std::string_view entry, NvrtcResult result) {
  if (result == kNvrtcSuccess) return;
  throw OpError(ErrorKind::Device, "NVRTC failed: " + words(entry, result));
}

class Compilation {
 public:
  explicit Compilation(const std::string& text) {
    std::vector<const char*> names, texts;
    for (std::size_t i = 0; i < kKernelHeaderCount; ++i) {
      names.push_back(kKernelHeaders[i].name);
      texts.push_back(kKernelHeaders[i].text);
    }
    check("nvrtcCreateProgram",
          nvrtc_api().nvrtcCreateProgram(&program_, text.c_str(), "kernels.cu",
                                         static_cast<int>(names.size()), texts.data(), names.data()));
    if (nvrtc_api().nvrtcSetFlowCallback != nullptr)
      nvrtc_api().nvrtcSetFlowCallback(program_, [](void*, void*) { return interrupt_is_wanted(); }, nullptr);
  }
  ~Compilation() { nvrtc_api().nvrtcDestroyProgram(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  void run(int capability, CodeForm form) {
    std::vector<std::string> options = compile_options(capability);
    if (form == CodeForm::Ptx) options.emplace_back("-lineinfo");  // people ask which line it is of
    std::vector<const char*> given;
    for (const std::string& each : options) given.push_back(each.c_str());
    const NvrtcResult result =
        nvrtc_api().nvrtcCompileProgram(program_, static_cast<int>(given.size()), given.data());
    if (result == kNvrtcSuccess) return;
    check_interrupt();
    throw InternalError(fmt::format("a kernel does not compile for sm_{}: {}\n{}", capability,
                                    words("nvrtcCompileProgram", result), log()));
  }

  std::string result(CodeForm form) {
    const bool is_code = form == CodeForm::Cubin;
    std::size_t bytes = 0;
    check("nvrtcGetCUBINSize", is_code ? nvrtc_api().nvrtcGetCUBINSize(program_, &bytes)
                                       : nvrtc_api().nvrtcGetPTXSize(program_, &bytes));
    std::string code(bytes, '\0');
    check("nvrtcGetCUBIN", is_code ? nvrtc_api().nvrtcGetCUBIN(program_, code.data())
                                   : nvrtc_api().nvrtcGetPTX(program_, code.data()));
    if (!is_code) code.resize(std::min(code.size(), code.find('\0')));
    return code;
  }

 private:
  static int interrupt_is_wanted() {
    return interrupt_requested.load(std::memory_order_relaxed) && interrupt_is_due() ? 1 : 0;
  }
  std::string log() const {
    std::size_t bytes = 0;
    if (nvrtc_api().nvrtcGetProgramLogSize(program_, &bytes) != kNvrtcSuccess) return "";
    std::string text(bytes, '\0');
    if (nvrtc_api().nvrtcGetProgramLog(program_, text.data()) != kNvrtcSuccess) return "";
    text.resize(std::min(text.size(), text.find('\0')));
    return text;
  }

  NvrtcProgram program_ = nullptr;
};

}  // namespace

std::vector<std::string> compile_options(int capability) {
  std::vector<std::string> options = {fmt::format("--gpu-architecture=sm_{}", capability), "--fmad=false",
                                      "-std=c++20", "-default-device"};
  if (nvrtc().version >= kHasMinimal) options.emplace_back("--minimal");
  return options;
}

std::string compiled(const std::string& text, int capability, CodeForm form) {
  check_interrupt();
  std::optional<PlainLocale> plain;
  if (nvrtc().version < kKeepsLocale) plain.emplace();
  Compilation compilation(text);
  compilation.run(capability, form);
  return compilation.result(form);
}

}  // namespace kiln::cuda
