// Modes as `with` values: no_grad, autocast, enable_grad, no_compile, fastmath, seed, device, exact, tf32;
// gradients as a function; threads and memory.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/capture/stages.h"
#include "interpreter/host/device_scope.h"
#include "interpreter/shadow.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/autocast.h"
#include "tensor/autocast_casts.h"
#include "tensor/autograd.h"
#include "tensor/backend.h"
#include "tensor/fast_math.h"
#include "tensor/levels/custom.h"
#include "tensor/parallel.h"
#include "tensor/product_mode.h"
#include "tensor/random.h"
#include "tensor/storage.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

// A scope that sets something and puts back what was. Usable as `with` value and, given a function, as
// decorator.
struct Scope {
  std::function<void()> enter;
  std::function<void()> exit;
  void visit_references(ReferenceVisitor&) const {}  // what they hold is none of the program's
};

NativeParameter parameter(std::string name, NativeParameter::Kind kind = NativeParameter::Kind::Normal) {
  return {std::move(name), kind, kind == NativeParameter::Kind::Normal, {}};
}

// The decorated function runs inside of the scope, which is left on errors too.
Value within(const std::shared_ptr<Scope>& scope, const Value& f) {
  return native_value(
      "within", "within(*xs, **named)", "A function that runs inside of a scope.",
      {parameter("xs", NativeParameter::Kind::Star), parameter("named", NativeParameter::Kind::DoubleStar)},
      holding(
          [](const std::shared_ptr<Scope>& held, const Value& function, Interpreter& interpreter, Args a) {
            std::vector<NamedArgument> named;
            for (const auto& entry : a[1].as<Dict>().entries()) {
              if (entry.live) named.push_back({text_of(entry.key), entry.value});
            }
            struct Leave {
              Scope& scope;
              explicit Leave(Scope& s) : scope(s) { scope.enter(); }
              ~Leave() { scope.exit(); }
              Leave(const Leave&) = delete;
              Leave& operator=(const Leave&) = delete;
            } leave(*held);
            return interpreter.call(function, std::span<const Value>(a[0].as<Tuple>().items), named);
          },
          scope, f));
}

Value scope_value(std::string name, Scope functions) {
  auto scope = std::make_shared<Scope>(std::move(functions));
  auto* opaque = new Opaque();
  Value value{static_cast<Object*>(opaque)};
  opaque->name = std::move(name);
  using Shared = std::shared_ptr<Scope>;
  const auto add = [&](std::string method, std::string signature, std::vector<NativeParameter> parameters,
                       auto call) {
    opaque->methods.emplace_back(
        method, native_value(method, std::move(signature), "", std::move(parameters), holding(call, scope)));
  };
  add("enter", "enter(self)", {parameter("self")}, [](const Shared& held, Interpreter&, Args a) {
    held->enter();
    return a[0];
  });
  add("exit", "exit(self, *error)", {parameter("self"), parameter("error", NativeParameter::Kind::Star)},
      [](const Shared& held, Interpreter&, Args) {
        held->exit();
        return Value();
      });
  add("call", "call(self, f)", {parameter("self"), parameter("f")},
      [](const Shared& held, Interpreter&, Args a) { return within(held, a[1]); });
  return value;
}

Value switch_scope(std::string name, bool (*get)(), void (*set)(bool), bool on) {
  auto before = std::make_shared<std::vector<bool>>();
  return scope_value(std::move(name), {[=] {
                                         before->push_back(get());
                                         set(on);
                                       },
                                       [=] {
                                         if (before->empty()) return;
                                         set(before->back());
                                         before->pop_back();
                                       }});
}

Value grad_mode(std::string name, bool on) {
  return switch_scope(std::move(name), kiln::grad_enabled, kiln::set_grad_enabled, on);
}

Value no_grad(Interpreter&, Args) { return grad_mode("no_grad()", false); }
Value enable_grad(Interpreter&, Args) { return grad_mode("enable_grad()", true); }
Value no_compile(Interpreter&, Args) { return switch_scope("no_compile()", compiling, set_compiling, false); }

Value fastmath(Interpreter&, Args) {
  return switch_scope("fastmath()", kiln::fast_math, kiln::set_fast_math, true);
}

Value product_scope(std::string name, kiln::ProductMode mode) {
  auto before = std::make_shared<std::vector<kiln::ProductMode>>();
  return scope_value(std::move(name), {[=] {
                                         before->push_back(kiln::product_mode());
                                         kiln::set_product_mode(mode);
                                       },
                                       [=] {
                                         if (before->empty()) return;
                                         kiln::set_product_mode(before->back());
                                         before->pop_back();
                                       }});
}
Value exact(Interpreter&, Args) { return product_scope("exact()", kiln::ProductMode::Exact); }
Value tf32(Interpreter&, Args) { return product_scope("tf32()", kiln::ProductMode::Tf32); }

// Products in the smaller dtype, sums and exponentials in f32.
Value autocast_scope(Interpreter&, Args a) {
  const kiln::DType low = dtype_argument(a[0], "dtype").value_or(kiln::DType::BF16);
  if (low != kiln::DType::BF16 && low != kiln::DType::F16) {
    raise("ValueError", fmt::format("autocast: the dtype must be bf16 or f16, it is {}", kiln::name(low)));
  }
  const bool enabled = bool_argument(a[1], "enabled");
  auto before = std::make_shared<std::vector<std::int64_t>>();
  return scope_value(fmt::format("autocast({}{})", kiln::name(low), enabled ? "" : ", enabled=false"),
                     {[=] {
                        before->push_back(kiln::autocast::state());
                        if (enabled) {
                          kiln::autocast::turn_on(low);
                        } else {
                          kiln::autocast::turn_off();
                        }
                      },
                      [=] {
                        if (before->empty()) return;
                        kiln::autocast::restore(before->back());
                        before->pop_back();
                        if (!kiln::autocast::is_on) kiln::autocast::forget_casts();
                      }});
}

Value autocast_dtype(Interpreter&, Args) {
  const std::optional<kiln::DType> low = kiln::autocast::dtype_of(kiln::autocast::state());
  return low ? Value(*low) : Value();
}

Value is_grad_enabled(Interpreter&, Args) { return kiln::grad_enabled(); }

// Seeds at once; as a scope it also puts the generator back to where it was before.
Value seed(Interpreter&, Args a) {
  const std::int64_t n = int_argument(a[0], "n");
  const kiln::Generator before = kiln::generator();
  kiln::seed(static_cast<std::uint64_t>(n));
  return scope_value(fmt::format("seed({})", n), {[n] { kiln::seed(static_cast<std::uint64_t>(n)); },
                                                  [before] { kiln::generator() = before; }});
}

std::vector<kiln::Tensor> tensors_of(const Value& value, std::string_view parameter) {
  if (value.is_none()) return {};
  if (value.is(Tag::Tensor)) return {value.as_tensor()};
  const auto* items = items_of(value);
  if (!items) wrong_type(parameter, "a tensor or a list of tensors", value);
  std::vector<kiln::Tensor> tensors;
  for (const Value& item : *items) {
    tensors.push_back(item.is_none() ? kiln::Tensor() : tensor_argument(item, parameter));
  }
  return tensors;
}

Value grads(Interpreter&, Args a) {
  const bool create_graph = bool_argument(a[4], "create_graph");
  const bool retain = a[3].is_none() ? create_graph : bool_argument(a[3], "retain_graph");
  const std::vector<kiln::Tensor> found =
      kiln::grads(tensors_of(a[0], "outputs"), tensors_of(a[1], "inputs"), tensors_of(a[2], "grad_outputs"),
                  retain, create_graph, bool_argument(a[5], "allow_unused"));
  return tuple_value(std::vector<Value>(found.begin(), found.end()));
}

Value num_threads(Interpreter&, Args) { return kiln::num_threads(); }

Value set_num_threads(Interpreter&, Args a) {
  const std::int64_t count = int_argument(a[0], "count");
  if (count < 1 || count > 4096)
    raise("ValueError", fmt::format("set_num_threads: {} is not a number of threads", count));
  kiln::set_num_threads(static_cast<int>(count));
  return {};
}

Value memory(Interpreter&, Args a) {
  shadow::leave();
  const kiln::Device device = device_argument(a[0], "device");
  if (bool_argument(a[1], "reset_peak")) kiln::reset_peak(device);
  const kiln::MemoryUse use = kiln::memory_use(device);
  auto* dict = new Dict();
  Value result{static_cast<Object*>(dict)};
  // Numbers kept for use as operands are ours, not the program's.
  const std::size_t kept = std::min(cached_numbers(), use.live_buffers);
  const std::size_t kept_bytes = std::min(kept * sizeof(double), use.live_bytes);
  dict->set("live_bytes", static_cast<std::int64_t>(use.live_bytes - kept_bytes));
  dict->set("peak_bytes", static_cast<std::int64_t>(use.peak_bytes));
  dict->set("live_buffers", static_cast<std::int64_t>(use.live_buffers - kept));
  dict->set("tape_nodes", static_cast<std::int64_t>(kiln::live_tape_nodes()));
  dict->set("contexts", static_cast<std::int64_t>(levels::live_applications()));
  return result;
}

constexpr NativeDef kAutograd[] = {
    {"no_grad()",
     "Within `with no_grad() { … }`, or a function decorated with it, nothing is put on the tape.", no_grad},
    {"enable_grad()", "Within it ops are put on the tape again.", enable_grad},
    {"is_grad_enabled()", "Whether ops are put on the tape.", is_grad_enabled},
    {"autocast(dtype=none, enabled=true)",
     "Within `with autocast(bf16) { … }`, or a function decorated with it, products of matrices and "
     "convolutions take operands of f32 in that dtype, bf16 if none is given, sums, exponentials, logarithms "
     "and losses theirs in "
     "f32. Gradients have the dtypes of what they are gradients of.\n"
     ">>> w = ones(2, 2)\n"
     ">>> with autocast(bf16) { y = w @ w }\n"
     ">>> y.dtype, y.sum().dtype\n"
     "(bf16, bf16)",
     autocast_scope},
    {"autocast_dtype()", "The dtype of products within `autocast(dtype)`, or none outside of it.",
     autocast_dtype},
    {"no_compile()",
     "Within `with no_compile() { … }`, or a function decorated with it, nothing is compiled, and what was "
     "is not used.\n"
     ">>> f = jit(x => x + 1)\n"
     ">>> with no_compile() { y = f(ones(2)) }\n"
     ">>> compile_info(f).compiles\n"
     "0",
     no_compile},
    {"fastmath()",
     "Within `with fastmath() { … }`, or a function decorated with it, compiled code on the CPU may round a "
     "product and the sum that reads it once, as one multiply-add. So results may differ from those of the "
     "interpreter, and between machines; no other code does.\n"
     ">>> f = jit((x, y) => x * x + y)\n"
     ">>> with fastmath() { y = f(ones(2), ones(2)) }\n"
     ">>> y.tolist()\n"
     "[2.0, 2.0]",
     fastmath},
    {"seed(n)",
     "Fixes the random numbers that follow. `with seed(n) { … }` puts the generator back afterwards.", seed},
    {"grads(outputs, inputs, grad_outputs=none, retain_graph=none, create_graph=false, allow_unused=false)",
     "The derivatives of the outputs' sum by each input, as a tuple; `grad` of no tensor changes.", grads},
};

// The guarded device is for tests.
Value devices(Interpreter&, Args a) {
  const std::string kind = a[0].is_none() ? std::string() : text_argument(a[0], "kind");
  const std::optional<kiln::Device> wanted = kiln::device_named(kind);
  if (!kind.empty() && (!wanted || kind != kiln::name(wanted->kind)))
    raise("ValueError", fmt::format("devices: there is no kind of devices named {}", repr_of(kind)),
          "the kinds are \"cpu\" and \"cuda\"");
  std::vector<Value> found;
  for (const kiln::Device each : kiln::devices()) {
    if (kind.empty() ? each.kind != kiln::Device::Kind::Guarded : each.kind == wanted->kind)
      found.emplace_back(each);
  }
  return list_value(std::move(found));
}

constexpr NativeDef kMemory[] = {
    {"exact()",
     "Within `with exact() { … }`, or a function decorated with it, products of matrices on cards add up in "
     "the CPU's order: results of f32 and f64 have the CPU's bits.\n"
     ">>> with exact() { y = ones(2, 3) @ ones(3, 2) }\n"
     ">>> y.tolist()\n"
     "[[3.0, 3.0], [3.0, 3.0]]",
     exact},
    {"tf32()",
     "Within `with tf32() { … }`, or a function decorated with it, cards may round elements of f32 to TF32, "
     "10 "
     "bits of mantissa, before they multiply matrices.",
     tf32},
    {"devices(kind=none)",
     "The devices that tensors can be on, those of one kind alone when it is given. The list is empty, and "
     "so false, where there are none.\n>>> devices(\"cpu\")\n[device('cpu')]",
     devices},
    {"num_threads()", "How many threads kernels use.", num_threads},
    {"set_num_threads(count)", "Sets how many threads kernels use.", set_num_threads},
    {"memory(device=none, reset_peak=false)",
     "Bytes and buffers of live tensors, and the most so far, as a dict.", memory},
};

std::vector<kiln::Device>& entered_devices() {
  static std::vector<kiln::Device> devices;
  return devices;
}

}  // namespace

Value host::enter_device(Interpreter&, Args a) {
  entered_devices().push_back(kiln::default_device());
  kiln::set_default_device(a[0].as_device());
  return a[0];
}

Value host::exit_device(Interpreter&, Args) {
  if (entered_devices().empty()) return {};
  kiln::set_default_device(entered_devices().back());
  entered_devices().pop_back();
  return {};
}

std::span<const NativeDef> autograd_natives() { return kAutograd; }
std::span<const NativeDef> memory_natives() { return kMemory; }

}  // namespace kiln::interp
