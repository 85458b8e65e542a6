// Modules and functions taken apart: functional_call, stack_module_state, functionalize, checkpoint,
// deepcopy.
#include "interpreter/host/module_state.h"

#include <fmt/format.h>

#include <map>

#include "interpreter/host/arguments.h"
#include "interpreter/host/pytree.h"
#include "interpreter/host/tables.h"
#include "interpreter/host/transforms.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/levels/level.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/recompute.h"

namespace kiln::interp {
namespace {

using namespace host;
using kiln::Tensor;
using Args = std::span<Value>;
using Named = std::map<std::string, Tensor>;

void add_params(const Value& params, Named& named) {
  if (const auto* parts = items_of(params)) {
    for (const Value& part : *parts) add_params(part, named);
    return;
  }
  if (!params.is(Tag::Dict)) wrong_type("params", "a dict of tensors by name, or a tuple of such", params);
  for (const Dict::Entry& entry : params.as<Dict>().entries()) {
    if (!entry.live) continue;
    if (!entry.key.is(Tag::Str)) wrong_type("params", "a dict with names as keys", params);
    named[text_of(entry.key)] = tensor_argument(entry.value, "params." + text_of(entry.key));
  }
}

// The state that stands in for each tensor of the module. One that is reached by several names is replaced
// everywhere by what is given for any of them.
std::map<const kiln::TensorImpl*, Tensor> replacements(const Value& module, Named named) {
  std::map<const kiln::TensorImpl*, Tensor> by_tensor;
  each_leaf(module, [&](const Value& leaf, const std::string& path) {
    const auto found = named.find(path);
    if (found == named.end() || !leaf.is(Tag::Tensor)) return;
    by_tensor[leaf.tensor_impl()] = found->second;
    named.erase(found);
  });
  if (!named.empty()) {
    raise("KeyError",
          fmt::format("functional_call: {} has no tensor named {}", describe(module), named.begin()->first),
          "names are those of nn.state_dict(module)");
  }
  return by_tensor;
}

// A copy made here and now, which the call may write and the module does not see. Of a plain tensor it shares
// the memory until one of both is written, but where ops are noted: there it is an op like others.
Tensor copy_of_buffer(const Tensor& x) {
  bool is_plain = levels::wrapper_of(x) == nullptr;
  for (const levels::Level* level = levels::top; level != nullptr; level = level->below())
    is_plain = is_plain && !level->notes_plain();
  return is_plain ? levels::adopt(kiln::tape::share_value(x)) : kiln::ops::clone(x);
}

Value functional_call(Interpreter& interpreter, Args a) {
  check_function(a[0], "functional_call");
  Named named;
  add_params(a[1], named);
  auto by_tensor = replacements(a[0], std::move(named));
  const Value module = map_tensors(a[0], [&](const Tensor& x) {
    const auto [found, is_own] = by_tensor.try_emplace(x.impl());
    // A write to what is trained would be refused; gradients go to the module's own.
    if (is_own) found->second = kiln::requires_grad(x) ? x : copy_of_buffer(x);
    return Value(found->second);
  });
  Call call{a[2].as<Tuple>().items, {}};
  for (const Dict::Entry& entry : a[3].as<Dict>().entries()) {
    if (entry.live) call.named.push_back({text_of(entry.key), entry.value});
  }
  return call_with(interpreter, module, call);
}

// What must agree before tensors can be stacked: classes, names and settings of everything within.
void check_alike(const Value& first, const Value& other, std::size_t number) {
  if (first.is(Tag::Instance) && other.is(Tag::Instance) &&
      &first.as<Instance>().struct_type() != &other.as<Instance>().struct_type()) {
    raise("ValueError", fmt::format("stack_module_state: module {} is a {}, module 0 a {}", number,
                                    type_name(other), type_name(first)));
  }
  std::map<std::string, Value> settings;
  each_leaf(first, [&](const Value& leaf, const std::string& path) { settings[path] = leaf; });
  each_leaf(other, [&](const Value& leaf, const std::string& path) {
    const auto found = settings.find(path);
    if (found == settings.end() || found->second.tag() != leaf.tag())
      raise("ValueError",
            fmt::format("stack_module_state: module {} differs from module 0 at {}", number, path));
    if (leaf.is(Tag::Bool) && !identical(leaf, found->second))
      raise("ValueError",
            fmt::format("stack_module_state: {} is {} in module 0 and {} in module {}", path,
                        found->second.as_bool(), leaf.as_bool(), number),
            "put all of them in one mode: nn.train(module) or nn.eval(module)");
    settings.erase(found);
  });
  if (!settings.empty())
    raise("ValueError",
          fmt::format("stack_module_state: module {} has no {}", number, settings.begin()->first));
}

Value stack_module_state(Interpreter& interpreter, Args a) {
  const std::vector<Value> modules = interpreter.to_vector(a[0]);
  if (modules.empty()) raise("ValueError", "stack_module_state: there is no module");
  for (std::size_t i = 1; i < modules.size(); ++i) check_alike(modules[0], modules[i], i);
  std::map<std::string, std::vector<Tensor>> columns;
  for (const Value& module : modules) {
    each_leaf(module, [&](const Value& leaf, const std::string& path) {
      if (leaf.is(Tag::Tensor)) columns[path].push_back(kiln::ops::detach(leaf.as_tensor()));
    });
  }
  const Value params = make<Dict>(), buffers = make<Dict>();
  each_leaf(modules[0], [&](const Value& leaf, const std::string& path) {
    if (!leaf.is(Tag::Tensor)) return;
    const bool trained = kiln::requires_grad(leaf.as_tensor());
    const Tensor stacked = kiln::ops::stack(columns[path], 0);
    if (trained) kiln::set_requires_grad(stacked, true);
    (trained ? params : buffers).as<Dict>().set(path, Value(stacked));
  });
  return tuple_value({params, buffers});
}

// Eager code needs no rewriting: the function has these results and effects as it is.
Value functionalize(Interpreter&, Args a) {
  const std::string& remove = text_argument(a[1], "remove");
  if (remove != "mutations" && remove != "mutations_and_views") {
    raise(
        "ValueError",
        fmt::format("functionalize: remove is \"mutations\" or \"mutations_and_views\", not \"{}\"", remove));
  }
  const auto made = std::make_shared<const Functionalized>(
      Functionalized{a[0], remove == "mutations" ? jit::Remove::Mutations : jit::Remove::MutationsAndViews});
  const Value result =
      transformed("functionalize", a[0],
                  holding([](const std::shared_ptr<const Functionalized>& held, Interpreter& interpreter,
                             const Call& call) { return call_with(interpreter, held->function, call); },
                          made));
  result.as<Native>().data = made.get();
  return result;
}

// Keeps the arguments as they are now; what is derived from them is computed again when backward needs it.
Value checkpoint(Interpreter&, Args a) {
  const auto call_checkpointed = [](const Value& f, Interpreter& interpreter, const Call& call) {
    if (!kiln::grad_enabled()) return call_with(interpreter, f, call);
    const auto keep = [](const Value& tree) {
      return map_tensors(tree, [](const Tensor& x) { return Value(kiln::tape::share_value(x)); });
    };
    Call kept;
    for (const Value& each : call.positional) kept.positional.push_back(keep(each));
    for (const NamedArgument& each : call.named) kept.named.push_back({each.name, keep(each.value)});
    // The names point into what the call was made with, so they are kept, too.
    std::vector<Value> names;
    for (NamedArgument& each : kept.named) {
      names.emplace_back(std::string(each.name));
      each.name = text_of(names.back());
    }
    const kiln::Ref<kiln::tape::Recompute> recompute(
        new kiln::tape::Recompute([&interpreter, f, kept, names] { call_with(interpreter, f, kept); }));
    const kiln::tape::Recompute::Scope scope(recompute.get());
    return call_with(interpreter, f, call);
  };
  return transformed("checkpoint", a[0], holding(call_checkpointed, a[0]));
}

// A tensor reached twice is one tensor in the copy, too.
Value deepcopy(Interpreter&, Args a) {
  std::map<const kiln::TensorImpl*, Value> copies;
  return map_tensors(a[0], [&](const Tensor& x) {
    const auto [found, is_new] = copies.try_emplace(x.impl());
    if (is_new) {
      const Tensor copy = kiln::ops::clone(kiln::ops::detach(x));
      if (kiln::requires_grad(x)) kiln::set_requires_grad(copy, true);
      found->second = Value(copy);
    }
    return found->second;
  });
}

constexpr NativeDef kNatives[] = {
    {"deepcopy(x)",
     "The same lists, tuples, dicts and structs anew, with copies of the tensors: of a module, one that "
     "trains "
     "apart.\n>>> x = [ones(2)]\n>>> y = deepcopy(x)\n>>> y[0] += 1\n>>> x[0].tolist()\n[1.0, 1.0]",
     deepcopy},
    {"checkpoint(f)",
     "A function with the values and derivatives of f that keeps only its arguments for backward, which "
     "computes the rest again, with the same random numbers.\n"
     ">>> grad(checkpoint(x => x.sin().exp()))(tensor(0.0)).item()\n1.0",
     checkpoint},
    {"functional_call(module, params, *args, **named)",
     "Calls `module` with the tensors in `params`, a dict by dotted name (or a tuple of dicts), in place of "
     "its own. The module itself does not change: of buffers that are not given, too, the call has copies.",
     functional_call},
    {"stack_module_state(modules)",
     "The tensors of modules of one class, stacked by name: (parameters, buffers), for `vmap` over an "
     "ensemble with `functional_call`.",
     stack_module_state},
    {"functionalize(f, remove=\"mutations\")",
     "A function with the same results and effects as f, whose graph has no op that writes in place. "
     "`remove` "
     "is \"mutations\" or \"mutations_and_views\".\n"
     ">>> functionalize(x => x.add_(1))(zeros(2)).tolist()\n[1.0, 1.0]",
     functionalize},
};

}  // namespace

const host::Functionalized* host::functionalized(const Value& f) {
  if (!f.is(Tag::Native)) return nullptr;
  const auto& native = f.as<Native>();
  const bool made = native.name == "functionalize" && native.data != nullptr;
  return made ? static_cast<const Functionalized*>(native.data) : nullptr;
}

std::span<const NativeDef> module_state_natives() { return kNatives; }

}  // namespace kiln::interp
