#include "interpreter/capture/application.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "interpreter/vm/arguments.h"
#include "interpreter/vm/context.h"
#include "jit/graph/rewrite.h"
#include "jit/pipeline/compiled_graph.h"
#include "tensor/autocast.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/generator_scope.h"

namespace kiln::interp::capture {
namespace {

struct NotCaptured {};  // the interpreter runs the function

// Is one of these an object that the call made, or does it have one within? Forward may have put into it what
// its context has, and the program may change that before backward reads it.
bool any_made(const Tracer& tracer, const std::vector<Value>& values) {
  return std::any_of(values.begin(), values.end(), [&](const Value& v) {
    if (!v.is_counted() || v.is(Tag::Str) || v.is(Tag::Range) || v.is(Tag::Complex) || v.is(Tag::Tensor))
      return false;
    return v.is(Tag::Tuple) ? any_made(tracer, v.as<Tuple>().items) : !tracer.is_outside(v);
  });
}

// Traces backward: runs it once, on copies and on gradients of one, and finds out whether it is a graph of
// the values that forward saved. The run changes nothing, and reads nothing that may change before the real
// backward.
class BackwardTrace {
 public:
  // `shares`: others may have what is in the fields of the context. `sizes`: those of them that are sizes.
  BackwardTrace(Vm& vm, const Application& application, const jit::Recorder& recorder, bool shares,
                std::span<const Tracer::FieldSizes> sizes)
      : vm_(vm), application_(application), recorder_(recorder), shares_(shares), sizes_(sizes) {}

  // nullopt: the interpreter must run backward. `kept`: the tensors that it reads, in order.
  std::optional<jit::Graph> run(std::vector<Tensor>& kept) {
    if (!application_.backward.is(Tag::Function)) return std::nullopt;
    const levels::Below below(recorder_);
    const GeneratorScope draws_nothing;
    std::optional<jit::Graph> graph;
    try {
      const GradMode recorded(true);
      const autocast::Off off;  // as in every derivative
      graph = trace(kept);
    } catch (const NotCaptured&) {
    } catch (const OpError&) {
    } catch (const lang::UserError& error) {
      if (interrupt_requested.load(std::memory_order_relaxed)) throw;
    }
    return graph;
  }

  // Did backward ask for layouts? A graph gets gradients with other layouts than the interpreter does.
  bool asks_layout() const { return asks_layout_; }

 private:
  // A contiguous leaf with the elements of x.
  static Tensor leaf(const Tensor& x) {
    const GradMode off(false);
    Tensor made = ops::contiguous(ops::clone(x));
    if (is_differentiable(made.dtype())) set_requires_grad(made, true);
    return made;
  }

  // Can a graph of backward read x? A saved value may be an input or a result of forward. Any other tensor
  // must be forward's own, in memory of its own, since a field is read only when backward runs.
  bool is_known(const Tensor& x, bool is_saved) const {
    const auto same = [&x](const Tensor& each) { return each.is_same(x); };
    const auto shares = [&x](const Tensor& each) { return shares_storage(each, x); };
    const auto& [inputs, made] = std::tie(application_.inputs, application_.made);
    if (is_saved &&
        (std::any_of(made.begin(), made.end(), same) || std::any_of(inputs.begin(), inputs.end(), same)))
      return true;
    return !shares_ && recorder_.is_own(x) && std::none_of(made.begin(), made.end(), shares) &&
           std::none_of(given_.begin(), given_.end(), [&](const auto& each) { return shares(each.first); });
  }

  // A copy of a value in backward's context. Fields are read when backward runs, saved values as they were.
  Value copy(const Value& v, bool is_saved) {
    if (!v.is_counted() || v.is(Tag::Str)) return v;
    const auto items = [&](const std::vector<Value>& all) {
      std::vector<Value> copies;
      for (const Value& each : all) copies.push_back(copy(each, is_saved));
      return copies;
    };
    switch (v.tag()) {
      case Tag::Tensor: {
        const Tensor& x = v.tensor();
        if (x.impl()->wrapper || !is_known(x, is_saved)) throw NotCaptured{};
        const auto [at, is_new] = copies_.try_emplace(x.impl());
        if (is_new) {
          at->second = leaf(x);
          given_.emplace_back(x, at->second);
        }
        return Value(at->second);
      }
      // Of containers only tuples can be copied: the program may change others before backward reads them.
      case Tag::Tuple:
        return make<Tuple>(items(v.as<Tuple>().items));
      default:
        throw NotCaptured{};
    }
  }

  Value context() {
    // Which gradients are wanted is not known yet.
    const Value unknown = make<Opaque>();
    std::vector<Value> saved;
    for (const Value& each : application_.saved) saved.push_back(copy(each, true));
    Value made = host::new_context(unknown, std::move(saved));
    for (const auto& [name, value] : application_.context.as<Instance>().extra)
      made.as<Instance>().extra.emplace_back(name, copy(value, false));
    return made;
  }

  // One gradient for each output of forward; none for an output without one.
  std::vector<Value> gradients() {
    std::vector<Value> grads(application_.outputs.size());
    std::size_t real = 0;
    for (std::size_t k = 0; k < application_.made.size(); ++k) {
      if (!is_differentiable(application_.made[k].dtype())) continue;
      if (application_.constants[k] || (++real > 1 && !application_.materializes_grads)) throw NotCaptured{};
      grads_.push_back(leaf(ops::ones_like(application_.made[k])));
      grads[application_.tensor_outputs[k]] = Value(grads_.back());
    }
    if (grads_.empty()) throw NotCaptured{};
    return grads;
  }

  std::optional<jit::Graph> trace(std::vector<Tensor>& kept) {
    Arguments arguments;
    const Value made_context = context();
    arguments.positional.push_back(made_context);
    for (Value& each : gradients()) arguments.positional.push_back(std::move(each));
    Frame* const frame = vm_.enter_call(application_.backward, std::move(arguments));
    const Varying fixed;
    Tracer tracer(vm_, Region{frame, 0, frame->code->instructions.size()}, fixed);
    tracer.know_sizes(made_context, sizes_);
    const std::optional<Value> result = tracer.run_apart();
    asks_layout_ = tracer.asks_layout();
    if (!result) return std::nullopt;
    jit::Recorder& recorder = tracer.recorder();
    const levels::Below outside(recorder);
    std::vector<bool> gives;
    std::vector<Tensor> outputs;
    for (const Value& each : results(*result)) {
      gives.push_back(each.is(Tag::Tensor));
      if (!gives.back()) continue;
      const bool given = is_given(each.tensor());
      if (given) recorder.meet(each.tensor());
      if (!recorder.knows(each.tensor())) return std::nullopt;
      outputs.push_back(each.tensor());
    }
    jit::Graph captured = recorder.take(recorder.mark(), outputs, {.symbolic = true});
    captured.size_guards.clear();  // they are the call's
    const std::span<const Tensor> inputs = recorder.inputs();
    const jit::Graph functional = jit::functional_graph(captured);
    if (!functional.effects.empty() || functional.inputs.size() != inputs.size()) return std::nullopt;
    return body(functional, inputs, gives, kept);
  }

  bool is_given(const Tensor& x) const {
    const auto same = [&x](const Tensor& each) { return each.is_same(x); };
    return std::any_of(grads_.begin(), grads_.end(), same) ||
           std::any_of(given_.begin(), given_.end(), [&](const auto& each) { return same(each.second); });
  }

  // The gradient of each argument that is a tensor: a tensor that fits it, or none.
  std::vector<Value> results(const Value& result) const {
    const std::vector<Value>* items = host::items_of(result);
    const std::vector<Value> all = items != nullptr ? *items : std::vector<Value>{result};
    if (all.size() != application_.arguments.size()) throw NotCaptured{};
    std::vector<Value> found;
    std::size_t next = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& tensors = application_.tensor_arguments;
      const bool is_tensor = next < tensors.size() && tensors[next] == i;
      if (!is_tensor && !all[i].is_none()) throw NotCaptured{};
      if (!is_tensor) continue;
      const Tensor& x = application_.inputs[next++];
      const bool fits =
          all[i].is_none() ||
          (all[i].is(Tag::Tensor) && !all[i].tensor().is_number() &&
           (all[i].tensor().sizes() == x.sizes() || broadcastable_to(x.sizes(), all[i].tensor().sizes())));
      if (!fits) throw NotCaptured{};
      found.push_back(all[i]);
    }
    return found;
  }

  // The graph with its inputs in order: kept tensors, then all gradients.
  jit::Graph body(const jit::Graph& functional, std::span<const Tensor> inputs,
                  const std::vector<bool>& gives, std::vector<Tensor>& kept) const {
    jit::Builder made;
    made.graph.stage = jit::Stage::Backward;
    made.graph.hints = functional.hints;
    made.graph.size_guards = functional.size_guards;
    std::vector<jit::ValueId> now(functional.values.size(), jit::Operand::kAbsent);
    const auto input = [&](const Tensor& x, jit::Role role, bool always) {
      const auto at =
          std::find_if(inputs.begin(), inputs.end(), [&](const Tensor& each) { return each.is_same(x); });
      if (at == inputs.end() && !always) return false;
      jit::Input made_input;
      made_input.role = role;
      const auto i = static_cast<std::size_t>(at - inputs.begin());
      const std::string name = at == inputs.end() ? "" : role_name(x, functional.values[i].name);
      const jit::ValueId id = made.input(name, jit::to_type(x.type()), made_input);
      if (at != inputs.end()) now[i] = id;
      return true;
    };
    for (const auto& [x, copied] : given_) {
      if (input(copied, jit::Role::Saved, false)) kept.push_back(x);
    }
    for (const Tensor& each : grads_) input(each, jit::Role::Grad, true);
    const auto mapped = [&now](jit::Operand operand) {
      if (operand.is_value()) operand.value = now[static_cast<std::size_t>(operand.value)];
      return operand;
    };
    for (const jit::Node& node : functional.nodes) {
      jit::Node copied = node;
      for (jit::Operand& each : copied.operands) each = mapped(each);
      std::vector<jit::Type> types;
      std::vector<std::string> names;
      for (const jit::ValueId id : node.outputs) {
        types.push_back(functional.values[static_cast<std::size_t>(id)].type);
        names.push_back(functional.values[static_cast<std::size_t>(id)].name);
      }
      const std::vector<jit::ValueId> results = made.append(std::move(copied), std::move(types), names);
      for (std::size_t k = 0; k < results.size(); ++k)
        now[static_cast<std::size_t>(node.outputs[k])] = results[k];
    }
    std::size_t next = 0;
    for (const bool each : gives)
      made.graph.outputs.push_back(each ? mapped(functional.outputs[next++]) : jit::Operand{});
    // An output that was a dropped input is not in the graph.
    const auto lost = [](const jit::Operand& each) { return each.value < jit::Operand::kNumber; };
    if (std::any_of(made.graph.outputs.begin(), made.graph.outputs.end(), lost)) throw NotCaptured{};
    jit::ask_of_call(made.graph);
    return std::move(made.graph);
  }

  // Kept arguments have the names of the arguments.
  std::string role_name(const Tensor& copied, const std::string& otherwise) const {
    for (const auto& [x, copy] : given_) {
      if (!copy.is_same(copied)) continue;
      for (std::size_t i = 0; i < application_.inputs.size(); ++i) {
        if (application_.inputs[i].is_same(x)) return application_.names[application_.tensor_arguments[i]];
      }
    }
    return otherwise;
  }

  Vm& vm_;
  const Application& application_;
  const jit::Recorder& recorder_;
  const bool shares_;
  std::span<const Tracer::FieldSizes> sizes_;
  std::unordered_map<const TensorImpl*, Tensor> copies_;
  std::vector<std::pair<Tensor, Tensor>> given_;  // kept tensors, and the copies that the trace reads
  std::vector<Tensor> grads_;
  bool asks_layout_ = false;
};

// The call, in which whole numbers that vary are sizes.
std::shared_ptr<const jit::ProgramCall> call_told(const Tracer& tracer, const Application& application) {
  if (!application.program_call) return nullptr;
  auto told = std::make_shared<jit::ProgramCall>(*application.program_call);
  for (std::size_t i = 0; i < told->arguments.size(); ++i) {
    std::optional<jit::HostValue>& value = told->arguments[i].value;
    const auto* was = value ? std::get_if<std::int64_t>(&*value) : nullptr;
    if (was != nullptr && tracer.varies(i)) value = jit::HostSize{*was};
  }
  return told;
}

}  // namespace

BodyScope::BodyScope(Vm& vm) : vm_(vm) {
  auto* const tracer = dynamic_cast<Tracer*>(vm.watcher());  // a check watches, too, and notes no bodies
  if (tracer == nullptr || !tracer->notes_bodies()) return;
  tracer_ = tracer;
  effects_ = tracer->effects();
  tracer_->recorder().begin_application();
}

BodyScope::~BodyScope() {
  if (tracer_ != nullptr) tracer_->recorder().drop_application();
}

bool BodyScope::context_escapes(const Tracer& tracer, const Application& application) {
  return application.context_holders > (tracer.holds(application.context) ? 1U : 0U);
}

// Why the interpreter cannot run the program's function within the graph; empty: it can. The function would
// run before the entry's effects, on memory from before the writes of the call, and with the host arguments
// of the recorded call.
std::string BodyScope::program_trouble(Tracer& tracer, const Application& application) const {
  if (effects_ != 0 || tracer.effects() != 0)
    return "an autograd function is called after effects on host data";
  if (tracer.recorder().wrote_outside())
    return "an autograd function is called after a tensor from outside was written";
  if (context_escapes(tracer, application)) return "the context of an autograd function is kept elsewhere";
  if (!tracer.recorder().interpreted().empty() && application.outputs.size() != application.made.size())
    return "an autograd function gives host data that may depend on elements";
  if (autocast::is_on) return "an autograd function is called within autocast";
  if (!tracer.keeps_as_they_are(application.arguments))
    return "an autograd function is given host data that the call makes";
  return "";
}

bool BodyScope::close(const Application& application) {
  Tracer& tracer = *std::exchange(tracer_, nullptr);
  jit::Recorder& recorder = tracer.recorder();
  if (!tracer.is_noting()) {
    recorder.drop_application();
    return false;
  }
  // In the graph of backward whole numbers that vary are sizes, others are constants.
  const std::vector<Tracer::FieldSizes> sizes = tracer.sizes_in(application.context);
  for (const Value& each : application.saved) tracer.fix_numbers_in(each);
  jit::Recorder::Application noted;
  const std::string interpreted = recorder.interpreted();
  if (interpreted.empty() && !context_escapes(tracer, application)) {
    BackwardTrace trace(vm_, application, recorder, any_made(tracer, application.arguments), sizes);
    noted.backward = trace.run(noted.kept);
    if (trace.asks_layout()) {
      recorder.drop_application();
      recorder.stop_noting("the backward of an `autograd` function asks how a tensor lies in memory");
      return false;
    }
  }
  if (!noted.backward) {  // the program's function does it, with the numbers that it is given here
    noted.kept.clear();
    tracer.fix_handed();
  }
  const bool differentiated =
      grad_enabled() && std::any_of(application.inputs.begin(), application.inputs.end(), requires_grad);
  const bool is_program = !interpreted.empty() || (differentiated && !noted.backward);
  if (is_program) {
    const std::string trouble = program_trouble(tracer, application);
    if (!trouble.empty()) {
      recorder.drop_application();
      recorder.stop_noting(interpreted.empty() ? trouble : interpreted);
      return false;
    }
  }
  noted.name = application.name;
  noted.arguments = application.inputs;
  for (const std::size_t i : application.tensor_arguments) noted.names.push_back(application.names[i]);
  noted.made = application.made;
  noted.results = application.results;
  noted.constants = application.constants;
  noted.apply = application.apply;
  noted.begin = application.begin;
  noted.program_call = call_told(tracer, application);
  const bool is_graph = noted.backward.has_value();
  recorder.end_application(std::move(noted));
  return is_graph;
}

}  // namespace kiln::interp::capture
