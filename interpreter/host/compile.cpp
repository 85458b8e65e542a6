// `jit` and `eager`: functions with compiled entries of their own, and functions without.
#include <fmt/format.h>

#include "interpreter/capture/hot.h"
#include "interpreter/host/arguments.h"
#include "interpreter/host/tables.h"
#include "interpreter/host/transforms.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

capture::CompileOptions options_from(Args a) {
  capture::CompileOptions options;
  if (a[1].is(Tag::Str)) {
    options.backend = text_of(a[1]);
    if (!capture::is_backend(options.backend)) {
      raise("ValueError", fmt::format("jit: there is no backend \"{}\"", options.backend),
            "backends are \"fused\", \"aot_eager\" and \"eager\", or a function: graph => callable");
    }
  } else {
    check_function(a[1], "jit: backend");
    options.own_backend = a[1];
  }
  if (!a[2].is_none()) options.dynamic = bool_argument(a[2], "dynamic");
  options.fullgraph = bool_argument(a[3], "fullgraph");
  options.asked_for = true;
  return options;
}

Value decorator(const char* name, std::function<Value(Interpreter&, const Value&)> apply) {
  return native_value(name, "decorate(f)", "Takes the function to compile.",
                      {{"f", NativeParameter::Kind::Normal, true, {}}},
                      [apply = std::move(apply)](Interpreter& interpreter, Args a) {
                        check_function(a[0], "jit");
                        return apply(interpreter, a[0]);
                      });
}

Value jit(Interpreter& interpreter, Args a) {
  const capture::CompileOptions options = options_from(a);
  const auto apply = [options](Interpreter& i, const Value& f) { return capture::recompiled(i, f, options); };
  if (a[0].is_none()) return decorator("jit", apply);
  check_function(a[0], "jit");
  return apply(interpreter, a[0]);
}

Value eager(Interpreter& interpreter, Args a) {
  check_function(a[0], "eager");
  return capture::never_compiled(interpreter, a[0]);
}

constexpr NativeDef kCompile[] = {
    {"jit(f=none, backend=\"fused\", dynamic=none, fullgraph=false)",
     "The same function, compiled when it is called: what it does is captured as graphs under guards, and "
     "done by "
     "them from then on. `backend` is \"fused\", \"aot_eager\", \"eager\", or a function that is given each "
     "graph and returns a callable: of the graph's inputs, giving its outputs, its `epilogue` done. With "
     "`fullgraph` what cannot be captured is an error. Also a decorator.\n"
     ">>> f = jit((x, y) => (x + y).relu())\n"
     ">>> f(tensor([1.0, -3.0]), ones(2))\n"
     "f32[2] cpu 8 B\n[2., 0.]\n"
     ">>> compile_info(f).graphs\n"
     "1",
     jit},
    {"eager(f)", "The same function, never compiled. Also a decorator: `@eager fn f(x) { … }`.", eager},
};

}  // namespace

std::span<const NativeDef> compile_natives() { return kCompile; }

}  // namespace kiln::interp
