// Modules and functions taken apart: functional_call, stack_module_state, functionalize, checkpoint,
// deepcopy.
#include "interpreter/host/module_state.h"

#include <fmt/format.h>

#include <map>

#include "interpreter/host/pytree.h"
#include "interpreter/host/transforms.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
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

// A tensor that was given for a name, and in which of several dicts.
struct NamedTensor {
  Tensor tensor;
  std::string place;
};
using TensorsByName = std::map<std::string, NamedTensor>;

void add_params(const Value& params, TensorsByName& named, const std::string& place) {
  if (const auto* parts = items_of(params)) {
    for (std::size_t i = 0; i < parts->size(); ++i)
      add_params((*parts)[i], named, fmt::format("{}[{}]", place, i));
    return;
  }
  if (!params.is(Tag::Dict)) wrong_type("params", "a dict of tensors by name, or a tuple of such", params);
  for (const Dict::Entry& entry : params.as<Dict>().entries()) {
    if (!entry.live) continue;
    if (!entry.key.is(Tag::Str)) wrong_type("params", "a dict with names as keys", params);
    const std::string& name = text_of(entry.key);
    const Tensor tensor = tensor_argument(entry.value, place + "." + name);
    const auto [before, is_new] = named.try_emplace(name, NamedTensor{tensor, place});
    if (!is_new) {
      raise("ValueError",
            fmt::format("functional_call: `{}` is given twice, in {} and in {}", name, before->second.place,
                        place),
            "give it in one of them");
    }
  }
}

// The state that stands in for each tensor of the module. One that is reached by several names is replaced
// everywhere by what is given for any of them, which must be one tensor.
std::map<const kiln::TensorImpl*, Tensor> replacements(const Value& module, TensorsByName named) {
  std::map<const kiln::TensorImpl*, Tensor> by_tensor;
  std::map<const kiln::TensorImpl*, std::string> paths;
  each_leaf(module, [&](const Value& leaf, const std::string& path) {
    const auto found = named.find(path);
    if (found == named.end() || !leaf.is(Tag::Tensor)) return;
    const Tensor given = found->second.tensor;
    named.erase(found);
    const auto [before, is_new] = by_tensor.try_emplace(leaf.tensor_impl(), given);
    if (is_new) {
      paths.emplace(leaf.tensor_impl(), path);
    } else if (!before->second.is_same(given)) {
      raise(
          "ValueError",
          fmt::format("functional_call: `{}` and `{}` are one tensor of the module, and two are given for it",
                      paths.at(leaf.tensor_impl()), path),
          "give one of them, or the same tensor for both");
    }
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
  TensorsByName named;
  add_params(a[1], named, "params");
  auto by_tensor = replacements(a[0], std::move(named));
  const Value module = map_tensors(a[0], [&](const Tensor& x) {
    const auto [found, is_own] = by_tensor.try_emplace(x.impl());
    // A write to what is trained would be refused; gradients go to the module's own.
    if (is_own) found->second = kiln::requires_grad(x) ? x : copy_of_buffer(x);
    // What stands for a parameter is one, whatever it was made of: `parameters` within the call has it.
    if (kiln::is_parameter(x)) kiln::mark_parameter(found->second);
    return Value(found->second);
  });
  Call call{a[2].as<Tuple>().items, {}};
  for (const Dict::Entry& entry : a[3].as<Dict>().entries()) {
    if (entry.live) call.named.push_back({text_of(entry.key), entry.value});
  }
  return call_with(interpreter, module, call);
}

// A name stands for parameters of all modules or of none, and all of them are trained or all are frozen.
void check_trained_alike(const Tensor& first, const Tensor& other, const std::string& path,
                         std::size_t number) {
  const auto check = [&](bool in_first, bool in_other, std::string_view what) {
    if (in_first == in_other) return;
    raise("ValueError",
          fmt::format("stack_module_state: {} {} in module {} and not in module {}", path, what,
                      in_first ? 0 : number, in_first ? number : 0),
          "let all of them require gradients, or none: `p.requires_grad_(true)` for the parameters of each "
          "module");
  };
  check(kiln::is_parameter(first), kiln::is_parameter(other), "is a parameter");
  check(kiln::requires_grad(first), kiln::requires_grad(other), "requires gradients");
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
    if (leaf.is(Tag::Tensor)) check_trained_alike(found->second.as_tensor(), leaf.as_tensor(), path, number);
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
    const Tensor& x = leaf.as_tensor();
    const Tensor stacked = kiln::ops::stack(columns[path], 0);
    if (kiln::requires_grad(x)) kiln::set_requires_grad(stacked, true);
    if (kiln::is_parameter(x)) kiln::mark_parameter(stacked);
    (kiln::is_parameter(x) ? params : buffers).as<Dict>().set(path, Value(stacked));
  });
  return tuple_value({params, buffers});
}

// Eager code needs no rewriting: a call is one of the function itself, which has these results and effects as
// it is. Only `graph` makes a difference.
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
  result.as<Native>().stands_for = a[0];
  return result;
}

// Keeps what f reads as it is now; what is derived from it is computed again when backward needs it.
Value checkpoint(Interpreter&, Args a) {
  const auto call_checkpointed = [](const Value& f, Interpreter& interpreter, const Call& call) {
    if (!kiln::grad_enabled()) return call_with(interpreter, f, call);
    const kiln::Ref<kiln::tape::Recompute> recompute(new kiln::tape::Recompute);
    const kiln::tape::Recompute::Scope scope(*recompute);
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
      if (kiln::is_parameter(x)) kiln::mark_parameter(copy);
      found->second = Value(copy);
    }
    return found->second;
  });
}

Value mark_parameter(Interpreter&, Args a) {
  const Tensor x = tensor_argument(a[0], "x");
  kiln::mark_parameter(x);
  return Value(x);
}

Value is_parameter(Interpreter&, Args a) { return kiln::is_parameter(tensor_argument(a[0], "x")); }

constexpr NativeDef kModuleStateNatives[] = {
    {"is_parameter(x)",
     "Whether a tensor is one that modules train: a leaf that requires gradients, or did when the struct was "
     "made that has "
     "it in a field, or was marked by `parameter`.\n>>> is_parameter(ones(2).requires_grad_())\ntrue",
     is_parameter},
    {"mark_parameter(x)", "Makes a tensor a parameter, also while it requires no gradients; gives it back.",
     mark_parameter},
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

std::span<const NativeDef> module_state_natives() { return kModuleStateNatives; }

}  // namespace kiln::interp
