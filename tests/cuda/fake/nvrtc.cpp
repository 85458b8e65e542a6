// The fake NVRTC: it compiles for the host, by clang, what the fake driver then runs there.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>

#include "tests/cuda/fake/compile.h"
#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/image.h"
#include "tests/cuda/fake/nvrtc_options.h"
#include "tests/cuda/fake/settings.h"

namespace kiln::cuda {

struct NvrtcProgramData {
  fake::Source source;
  std::string log, code;
  bool is_compiled = false;
  int (*callback)(void*, void*) = nullptr;
  void* given = nullptr;
};

namespace {

using namespace kiln::fake;

struct Programs {
  std::mutex mutex;
  std::set<NvrtcProgram> all;
};
Programs& programs() {
  static auto* const made = new Programs;  // never destroyed: programs may be destroyed late
  return *made;
}

bool is_program(NvrtcProgram program) {
  const std::lock_guard lock(programs().mutex);
  return programs().all.contains(program);
}

// An entry point that does something with a program.
template <class Body>
NvrtcResult use(std::string_view entry, NvrtcProgram program, const Body& body) {
  if (const int set = count_call(entry); set != 0) return set;
  if (!is_program(program)) return kNvrtcInvalidProgram;
  return body();
}

// The size of a text has its end in it.
NvrtcResult give_size(const std::string& text, std::size_t* bytes) {
  if (bytes == nullptr) return kNvrtcInvalidInput;
  *bytes = text.size() + 1;
  return kNvrtcSuccess;
}
NvrtcResult give_text(const std::string& text, char* place) {
  if (place == nullptr) return kNvrtcInvalidInput;
  std::memcpy(place, text.c_str(), text.size() + 1);
  return kNvrtcSuccess;
}

constexpr NvrtcResult result_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::Compiled:
      return kNvrtcSuccess;
    case Outcome::Refused:
      return kNvrtcCompilation;
    case Outcome::Stopped:
      return kNvrtcCancelled;
    case Outcome::NoCompiler:
      return kNvrtcInternalError;
  }
  return kNvrtcInternalError;
}

}  // namespace

extern "C" {

NvrtcResult nvrtcCreateProgram(NvrtcProgram* program, const char* text, const char* name, int count,
                               const char* const* headers, const char* const* header_names) {
  if (const int set = count_call("nvrtcCreateProgram"); set != 0) return set;
  if (program == nullptr || text == nullptr || count < 0) return kNvrtcInvalidInput;
  if (count > 0 && (headers == nullptr || header_names == nullptr)) return kNvrtcInvalidInput;
  auto made = std::make_unique<NvrtcProgramData>();
  made->source.text = text;
  made->source.name = std::filesystem::path(name == nullptr ? "default_program" : name).filename();
  if (made->source.name.empty()) made->source.name = "default_program";
  for (int i = 0; i < count; ++i) made->source.headers.emplace_back(header_names[i], headers[i]);
  const std::lock_guard lock(programs().mutex);
  *program = made.release();
  programs().all.insert(*program);
  return kNvrtcSuccess;
}

NvrtcResult nvrtcDestroyProgram(NvrtcProgram* program) {
  if (program == nullptr) return kNvrtcInvalidProgram;
  return use("nvrtcDestroyProgram", *program, [&] {
    const std::lock_guard lock(programs().mutex);
    programs().all.erase(*program);
    delete *program;
    *program = nullptr;
    return kNvrtcSuccess;
  });
}

NvrtcResult nvrtcSetFlowCallback(NvrtcProgram program, int (*callback)(void*, void*), void* given) {
  return use("nvrtcSetFlowCallback", program, [&] {
    program->callback = callback;
    program->given = given;
    return kNvrtcSuccess;
  });
}

NvrtcResult nvrtcCompileProgram(NvrtcProgram program, int option_count, const char* const* options) {
  return use("nvrtcCompileProgram", program, [&]() -> NvrtcResult {
    program->code.clear();
    const Options read = read_options(option_count, options);
    program->log = read.problem;
    if (!read.problem.empty()) return kNvrtcInvalidOption;
    program->source.options = read;
    const Compiled compiled = compile(program->source, [&] {
      return program->callback != nullptr && program->callback(program->given, nullptr) != 0;
    });
    program->log = compiled.log;
    program->is_compiled = compiled.outcome == Outcome::Compiled;
    if (program->is_compiled && read.makes_code)
      program->code = image_of(read.architecture, compiled.library);
    return result_of(compiled.outcome);
  });
}

NvrtcResult nvrtcGetProgramLogSize(NvrtcProgram program, std::size_t* bytes) {
  return use("nvrtcGetProgramLogSize", program, [&] { return give_size(program->log, bytes); });
}
NvrtcResult nvrtcGetProgramLog(NvrtcProgram program, char* log) {
  return use("nvrtcGetProgramLog", program, [&] { return give_text(program->log, log); });
}

// Code for no certain card has PTX alone.
NvrtcResult nvrtcGetCUBINSize(NvrtcProgram program, std::size_t* bytes) {
  return use("nvrtcGetCUBINSize", program, [&] {
    if (bytes == nullptr) return kNvrtcInvalidInput;
    if (!program->is_compiled) return kNvrtcInvalidProgram;
    *bytes = program->code.size();
    return kNvrtcSuccess;
  });
}
NvrtcResult nvrtcGetCUBIN(NvrtcProgram program, char* code) {
  return use("nvrtcGetCUBIN", program, [&] {
    if (code == nullptr) return kNvrtcInvalidInput;
    if (program->code.empty()) return kNvrtcInvalidProgram;
    std::memcpy(code, program->code.data(), program->code.size());
    return kNvrtcSuccess;
  });
}

// The text stands for PTX: it is there to be looked at.
NvrtcResult nvrtcGetPTXSize(NvrtcProgram program, std::size_t* bytes) {
  return use("nvrtcGetPTXSize", program, [&] {
    return program->is_compiled ? give_size(program->source.text, bytes) : kNvrtcInvalidProgram;
  });
}
NvrtcResult nvrtcGetPTX(NvrtcProgram program, char* text) {
  return use("nvrtcGetPTX", program, [&] {
    return program->is_compiled ? give_text(program->source.text, text) : kNvrtcInvalidProgram;
  });
}

}  // extern "C"
}  // namespace kiln::cuda
