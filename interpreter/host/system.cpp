// Files and folders by path, the environment, time.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "interpreter/files/io_error.h"
#include "interpreter/host/progress.h"
#include "interpreter/host/text_file.h"
#include "interpreter/shadow.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/tables.h"
#include "tensor/parallel.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;
namespace fs = std::filesystem;

Value open(Interpreter&, Args a) {
  return open_file(path_argument(a[0], "path"), text_argument(a[1], "mode"));
}

Value exists(Interpreter&, Args a) {
  shadow::need_run();
  std::error_code failed;
  return fs::exists(path_argument(a[0], "path"), failed);
}

Value is_folder(Interpreter&, Args a) {
  shadow::need_run();
  std::error_code failed;
  return fs::is_directory(path_argument(a[0], "path"), failed);
}

Value listdir(Interpreter&, Args a) {
  shadow::need_run();
  const std::string& path = path_argument(a[0], "path");
  std::error_code failed;
  std::vector<std::string> names;
  for (auto it = fs::directory_iterator(path, failed); !failed && it != fs::directory_iterator();
       it.increment(failed)) {
    names.push_back(it->path().filename().string());
  }
  if (failed) raise_io("list", path, failed.value());
  std::sort(names.begin(), names.end());
  return list_value(std::vector<Value>(names.begin(), names.end()));
}

Value mkdir(Interpreter&, Args a) {
  shadow::leave();
  const std::string& path = path_argument(a[0], "path");
  std::error_code failed;
  fs::create_directories(path, failed);
  if (failed) raise_io("make the folder", path, failed.value());
  return {};
}

// One file, or an empty folder.
Value remove(Interpreter&, Args a) {
  shadow::leave();
  const std::string& path = path_argument(a[0], "path");
  std::error_code failed;
  const bool removed = fs::remove(path, failed);
  if (failed) raise_io("remove", path, failed.value());
  if (!removed) raise_io("remove", path, ENOENT);
  return {};
}

Value env(Interpreter&, Args a) {
  shadow::need_run();
  const char* value = std::getenv(path_argument(a[0], "name").c_str());
  return value ? Value(value) : a[1];
}

Value exit(Interpreter& interpreter, Args a) {
  const std::int64_t code = int_argument(a[0], "code");
  interpreter.flush();
  throw Exit{static_cast<int>(code & 0xff)};
}

Value time(Interpreter&, Args) {
  shadow::leave();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

Value clock(Interpreter&, Args) {
  shadow::leave();
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

Value process_time(Interpreter&, Args) {
  shadow::leave();
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

// In short naps, so that Ctrl-C is heard.
Value sleep(Interpreter& interpreter, Args a) {
  shadow::leave();
  const double seconds = float_argument(a[0], "seconds");
  if (!(seconds >= 0)) raise("ValueError", fmt::format("sleep: {} s is not a time", repr_of(seconds)));
  interpreter.flush();
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (double left = seconds; left > 0; left = seconds - passed()) {
    kiln::check_interrupt();
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 0.02)));
  }
  return {};
}

// The folder of the running script; the current one at the prompt.
Value here(Interpreter& interpreter, Args) {
  const fs::path folder = fs::path(interpreter.main().path).parent_path();
  return Value(folder.empty() ? std::string(".") : folder.string());
}

// A graph ends here, since what stands behind it must not run before. Without anybody who could look, the
// program goes on at once.
Value breakpoint(Interpreter& interpreter, Args) {
  interpreter.flush();
  if (const auto& stop = interpreter.options().on_breakpoint; stop) {
    stop();
    return {};
  }
  std::string text = "breakpoint";
  Vm& vm = interpreter.impl().vm;
  for (const Frame* frame = vm.frame(); frame >= vm.frames_begin(); --frame) {
    const lang::Span span = frame->code->span(frame->place());
    if (span.file == nullptr) continue;
    const std::string& name = frame->code->name;
    text += fmt::format("{} {}:{}{}\n", frame == vm.frame() ? " at" : "called from", span.file->name(),
                        span.file->locate(span.begin).line, name.empty() ? "" : " in " + name);
  }
  interpreter.write_error(text);
  return {};
}

// The module of the program that asks: the standard library's own frames are passed over.
Module& asking_module(Interpreter& interpreter) {
  Vm& vm = interpreter.impl().vm;
  for (const Frame* frame = vm.frame(); frame >= vm.frames_begin(); --frame) {
    Module& module = frame->module();
    if (&module == &interpreter.main() || !module.path.empty()) return module;
  }
  return interpreter.main();
}

Value eval_text(Interpreter& interpreter, Args a) {
  bool has_value = false;
  Value value = interpreter.impl().modules.run(asking_module(interpreter), "<eval>",
                                               text_argument(a[0], "text"), has_value);
  return has_value ? value : Value();
}

constexpr NativeDef kSystemNatives[] = {
    {"open(path, mode=\"r\")",
     "Opens a file to read (r), write (w), append (a) or make anew (x); with b for bytes.", open},
    {"exists(path)", "Whether there is a file or folder.", exists},
    {"is_folder(path)", "Whether there is a folder.", is_folder},
    {"listdir(path=\".\")", "The names in a folder, sorted.", listdir},
    {"mkdir(path)", "Makes a folder and those it lies in; one that is there already is left.", mkdir},
    {"remove(path)", "Removes a file or an empty folder.", remove},
    {"env(name, default=none)", "A variable of the environment, or the default.", env},
    {"exit(code=0)", "Ends the program.", exit},
    {"time()", "Seconds since 1970.", time},
    {"clock()", "Seconds of a clock that never jumps, for measuring.", clock},
    {"process_time()", "Seconds for which processors have worked for this program, all threads together.",
     process_time},
    {"sleep(seconds)", "Waits.", sleep},
    {"breakpoint()",
     "Stops the program: shows by which calls it came there, and runs what is typed with the variables of "
     "each; "
     "`c`, or the end of input, goes on. In compiled code a graph ends there.",
     breakpoint},
    {"eval_text(text)",
     "Runs a text as a part of the module that calls; the value of its last expression.\n>>> eval_text(\"1 + "
     "1\")\n2",
     eval_text},
    {"here()", "The folder of the running script.", here},
    {"progress(xs, desc=\"\", total=none, curve=none)",
     "The items of xs; on a terminal a bar shows how far the loop is, its rate and the time left, and below "
     "it the "
     "numbers of the list `curve`, to which the loop appends. What is written meanwhile stands above the "
     "bars. "
     "The bar of an inner loop stands below that of the outer one, and goes with its end.",
     progress},
};

}  // namespace

std::span<const NativeDef> system_natives() { return kSystemNatives; }

}  // namespace kiln::interp
