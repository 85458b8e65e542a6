// `profile`: where the time of a call goes.
#include <fmt/format.h>

#include "interpreter/files/atomic_file.h"
#include "interpreter/host/record.h"
#include "interpreter/shadow.h"
#include "interpreter/trace_text.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/profile_run.h"
#include "interpreter/vm/tables.h"

namespace kiln::interp {
namespace {

using namespace host;
using kiln::timeline::Kind;

Value op_value(const Profile::Op& op) {
  static const Value* const type =
      new Value(record_type("ProfiledOp",
                            "An op, or the ops that a compiled kernel does together: `name`, whether "
                            "`compiled`, `calls`, `seconds`.",
                            {"name", "compiled", "calls", "seconds", "text"}));
  return make_record(*type, {Value(op.name), Value(op.is_compiled), Value(op.calls), Value(op.seconds),
                             Value(fmt::format("{}: {} calls, {:.3g} s", op.name, op.calls, op.seconds))});
}

Value line_value(const Profile::Line& line) {
  static const Value* const type = new Value(record_type(
      "ProfiledLine",
      "A line of the program: `file`, `line`, `calls` of ops, and `seconds`: those of `ops` and of the "
      "`interpreter` between them.",
      {"file", "line", "calls", "seconds", "ops", "interpreter", "text"}));
  return make_record(
      *type,
      {Value(line.file), Value(std::int64_t{line.number}), Value(line.calls), Value(line.seconds),
       Value(line.ops), Value(line.interpreter),
       Value(fmt::format("{}:{}: {} calls, {:.3g} s", line.file, line.number, line.calls, line.seconds))});
}

Value save(Interpreter&, std::span<Value> a) {
  const std::string& path = text_argument(a[1], "path");
  refuse_nul(path, "profile.save");
  files::AtomicFile file(path);
  const std::string& trace = text_argument(*a[0].as<Instance>().find("trace_json"), "trace_json");
  file.write(trace.data(), trace.size());
  file.commit();
  return {};
}

Value profile_value(const Profile& profile) {
  static const Value* const type = new Value(record_type(
      "Profile",
      "Where the time of a call went, in seconds: `seconds` in all, of which `interpreter capture kernels "
      "waiting`; `ops` and `lines`, the longest first; `behind`: kernels compiled on other threads. "
      "`save(path)` writes `trace_json`, which Perfetto opens.",
      {"seconds", "ops", "lines", "interpreter", "capture", "kernels", "waiting", "behind", "trace_json",
       "text"},
      {{"save(self, path)", "Writes the trace, in the JSON that Perfetto and chrome://tracing open.",
        save}}));
  return make_record(
      *type, {Value(profile.total), list_of(profile.ops, op_value), list_of(profile.lines, line_value),
              Value(profile.phase(Kind::Run)), Value(profile.phase(Kind::Capture)),
              Value(profile.phase(Kind::Compile)), Value(profile.phase(Kind::Wait)),
              Value(profile.compiled_behind), Value(trace_text(profile.events)),
              Value(fmt::format("{:.3g} s, of which ops {:.3g} s and the interpreter {:.3g} s", profile.total,
                                profile.all_ops(), profile.phase(Kind::Run)))});
}

Value profile(Interpreter& interpreter, std::span<Value> a) {
  shadow::need_run();
  return profile_value(profile_run(interpreter, [&] { interpreter.call(a[0], {}); }));
}

constexpr NativeDef kProfilingNatives[] = {
    {"profile(f)",
     "Runs f() once and says where its time went: a struct with `seconds`, `ops` (each `name compiled calls "
     "seconds`), `lines` (each `file line calls seconds ops interpreter`), `interpreter capture kernels "
     "waiting behind`, and "
     "`save(path)` for a trace that Perfetto opens. Each op is timed, those of a kernel as one.\n"
     ">>> x = ones(3)\n>>> p = profile(() => x.exp().sum())\n"
     ">>> (sorted(op.name for op in p.ops), p.seconds > 0)\n(['exp', 'sum'], true)",
     profile},
};

}  // namespace

std::span<const NativeDef> profiling_natives() { return kProfilingNatives; }

}  // namespace kiln::interp
