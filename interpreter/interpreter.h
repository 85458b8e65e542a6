// Owns a running program: its modules, its output, its limits; the door through which text becomes effects.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/objects.h"
#include "interpreter/values/raise.h"
#include "interpreter/values/value.h"
#include "lang/diagnostic.h"

namespace kiln::interp {

struct NamedArgument {
  std::string_view name;
  Value value;
};

// What shows output and asks for input where there is no terminal, as in a notebook. Each part may be empty.
struct Frontend {
  // A picture as the bytes of a PNG file, and as the text that a terminal without pixels shows.
  std::function<void(std::string png, std::string text)> show_picture;
  // Lines that are drawn over again, as a progress bar: those of an owner take the place of its earlier ones.
  // No lines: the owner draws no more, and what is there stays.
  std::function<void(const void* owner, const std::vector<std::string>& lines)> show_lines;
  // The line that `input` gives, without its end. Throws UserError or OpError (Interrupted).
  std::function<std::string(const std::string& prompt)> read_line;
};

struct Options {
  std::vector<std::string> arguments;         // the script's `args`
  std::function<void(std::string_view)> out;  // where `print` writes; default stdout, buffered
  std::function<void(std::string_view)> err;  // warnings, progress; default stderr
  bool interactive = false;
  int recursion_limit = 10'000;
  // Tensor ops that a function runs before it is compiled; 0: at its first call; -1: never.
  int hot_after = 300;
  std::string backend = "fused";  // of what becomes hot
  // The share of the program's time that may go into captures of what becomes hot; and whether it is given up
  // again where it takes longer than the interpreter. 0: nothing depends on time.
  double capture_share = 0;
  // Iterations of its loops that code runs before these run as flow graphs; 0: at once. Nothing: 100,000, and
  // at once or never where `hot_after` says so.
  std::optional<std::int64_t> hot_trips{};
  // Loops that run as flow graphs do so step by step instead of as machine code: for tests.
  bool evaluates_flows = false;
  // Keep the calls of an error that no `catch` of the program takes, for `Impl::kept_frames`.
  bool keeps_frames = false;
  // What to say of a name that is not defined, instead of the nearest one; "" for all that it does not know.
  std::function<std::string(std::string_view)> help_for_name;
  Frontend frontend;                    // in place of the terminal
  std::function<void()> on_breakpoint;  // what `breakpoint()` does; none: it says where it is
};

class Interpreter {
 public:
  explicit Interpreter(Options options = {});
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // Of several interpreters in one process, this one is the one that runs on this thread from now on:
  // warnings go to its `err`, and errors and measurements find their lines in its program. A new one is
  // active.
  void activate();

  // Parses, resolves, compiles and runs text in the main module. Gives the value of the last statement if
  // that is a shown expression, else none with `has_value` false. Throws UserError (places, trace filled in)
  // and Exit.
  struct Outcome {
    Value value;
    bool has_value = false;
  };
  Outcome run(std::string name, std::string text);
  // Runs a file as the main program: `import` paths are relative to it.
  void run_file(const std::string& path);

  // Calls any callable value. Throws UserError.
  Value call(const Value& callee, std::span<const Value> arguments,
             std::span<const NamedArgument> named = {});
  Value call(const Value& callee, std::initializer_list<Value> arguments);

  // Operators and protocols of the language, for natives and the prompt. All throw UserError.
  Value binary(lang::BinaryOp op, const Value& a, const Value& b);
  Value compare(lang::CompareOp op, const Value& a, const Value& b);
  bool truth(const Value& v);
  Value attribute(const Value& object, std::string_view name);
  std::vector<std::string> attribute_names(const Value& object);  // for completion and did-you-mean
  // Calls `f` for each item of any iterable; stops when it gives false.
  void iterate(const Value& iterable, const std::function<bool(const Value&)>& f);
  std::vector<Value> to_vector(const Value& iterable);

  std::string str(const Value& v);   // as `print` shows it
  std::string repr(const Value& v);  // as the prompt and containers show it

  Module& main() { return *main_; }
  const Module& prelude() const { return *prelude_; }
  // The value of a name as the main module sees it (its variables, then the prelude); null when unknown.
  const Value* lookup(std::string_view name);
  std::vector<std::string> names() const;
  // Loads a standard or user module once. Throws UserError.
  Value import(std::string_view name_or_path, const std::string& from_folder);
  void reset();                          // forgets the main module's variables and loaded user modules
  void reload(const std::string& path);  // runs a changed module again, keeping its identity

  void write(std::string_view text);        // to `out`
  void write_error(std::string_view text);  // to `err`
  void flush();
  // Writes what went wrong within Kiln while graphs were prepared, if anything, with programs that show it.
  void tell_faults();
  // For a scope: what is written to `out` is added to a text, too.
  class Tap {
   public:
    Tap(Interpreter& interpreter, std::string& text);
    ~Tap();
    Tap(const Tap&) = delete;
    Tap& operator=(const Tap&) = delete;

   private:
    Interpreter& interpreter_;
    std::string* before_;
  };
  const Options& options() const { return options_; }
  lang::Sources& sources() { return sources_; }

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  void settle();
  Options options_;
  lang::Sources sources_;
  Module* main_ = nullptr;
  Module* prelude_ = nullptr;
  std::string* tap_ = nullptr;
  std::unique_ptr<Impl> impl_;
};

// `exit(code)`: passes through every handler.
struct Exit {
  int code;
};

// Looks up a standard module's embedded source ("nn"); empty when there is none. From stdlib/.
std::string_view stdlib_source(std::string_view name);
std::vector<std::string_view> stdlib_modules();

}  // namespace kiln::interp
