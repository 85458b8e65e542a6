// A program with compiled forward and backward graphs behind the tape does what it does op by op: every
// gradient to the bit, however it is asked for.
#include "jit/pipeline/aot_function.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/passes/passes.h"
#include "tensor/autograd.h"
#include "tensor/random.h"
#include "tests/effort.h"
#include "tests/jit/gradients.h"
#include "tests/jit/graphs.h"
#include "tests/jit/programs.h"
#include "tests/tensor/tensors.h"

namespace kiln::aot_function_test {

using namespace kiln::jit;

namespace {

using Run = std::function<Tensors(Inputs)>;

// What a scenario shows: tensors in order, and how it ended.
struct Shown {
  std::vector<Tensor> tensors;
  std::string error;
  bool raised = false;  // an error, with which it ended
};

// One way to ask a program for its gradients.
class Session {
 public:
  Session(const Run& run, const std::vector<Tensor>& arguments) : run_(run) {
    seed(11);
    for (const Tensor& each : arguments) {
      leaves_.push_back(each.is_number() ? each : ops::clone(each));
      if (!is_float(each.dtype()) || each.is_number()) continue;
      set_requires_grad(leaves_.back(), true);
      wanted_.push_back(leaves_.back());
    }
  }

  // Results with a history. Arguments have one, too, so that they may be written.
  std::vector<Tensor> call() {
    std::vector<Tensor> arguments;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const Tensor& leaf = leaves_[i];
      arguments.push_back(leaf.is_number()         ? leaf
                          : is_float(leaf.dtype()) ? leaf * Tensor::number(1.0)
                                                   : ops::clone(leaf));
    }
    std::vector<Tensor> results;
    for (const Tensor& each : run_(arguments)) show(each, results);
    for (const Tensor& each : arguments) show(each, results);
    return results;
  }

  std::vector<Tensor> starts(const std::vector<Tensor>& outputs, int salt) const {
    std::vector<Tensor> grads;
    for (const Tensor& each : outputs)
      grads.push_back(
          kiln::testing::noise(each.sizes(), each.dtype(), salt + static_cast<int>(grads.size())));
    return grads;
  }
  void gradients(const std::vector<Tensor>& outputs, bool retain, int salt = 5) {
    gradients_by(outputs, wanted_, retain, salt);
  }
  void gradients_by(const std::vector<Tensor>& outputs, const std::vector<Tensor>& by, bool retain,
                    int salt = 5) {
    if (outputs.empty()) return;
    for (const Tensor& each : grads(outputs, by, starts(outputs, salt), retain, false, true))
      shown.tensors.push_back(each);
  }
  void second_gradients(const std::vector<Tensor>& outputs) {
    if (outputs.empty()) return;
    std::vector<Tensor> all = outputs;
    for (const Tensor& each : grads(outputs, wanted_, starts(outputs, 5), true, true, true)) {
      shown.tensors.push_back(each);
      if (each && requires_grad(each)) all.push_back(each);
    }
    gradients(all, false, 9);
  }
  const std::vector<Tensor>& leaves() const { return wanted_; }

  Shown shown;

 private:
  void show(const Tensor& x, std::vector<Tensor>& results) {
    shown.tensors.push_back(x);
    if (!x || x.is_number()) return;
    shown.tensors.back() = ops::clone(ops::detach(x));
    shown.error += grad_fn_name(x) + " ";
    if (requires_grad(x)) results.push_back(x);
  }

  const Run& run_;
  std::vector<Tensor> leaves_, wanted_;
};

using Scenario = void (*)(Session&);

void all_at_once(Session& s) { s.gradients(s.call(), false); }
void one_by_one(Session& s) {
  const std::vector<Tensor> results = s.call();
  for (const Tensor& each : results) s.gradients({each}, true);
  s.gradients(results, false);
}
void freed(Session& s) {
  const std::vector<Tensor> results = s.call();
  for (const Tensor& each : results) s.gradients({each}, false);
}
void two_calls(Session& s) {
  std::vector<Tensor> results = s.call();
  for (const Tensor& each : s.call()) results.push_back(each);
  s.gradients(results, false);
}
void second_order(Session& s) { s.second_gradients(s.call()); }
void hooked(Session& s) {
  const std::vector<Tensor> results = s.call();
  for (const Tensor& each : results) {
    add_hook(each, opaque([&s](const Tensor& grad) {
               s.shown.tensors.push_back(ops::clone(grad));
               return grad * Tensor::number(2.0);
             }));
  }
  s.gradients(results, false);
}
// Of results by each other, and by one argument at a time, after which the values of other steps are still
// there.
void in_between(Session& s) {
  const std::vector<Tensor> results = s.call();
  std::vector<Tensor> all = results;
  for (const Tensor& each : s.leaves()) all.push_back(each);
  for (const Tensor& each : results) s.gradients_by({each}, all, true);
  for (const Tensor& each : s.leaves()) s.gradients_by(results, {each}, true);
  for (const Tensor& each : all) s.gradients_by(results, {each}, false);
}
// Hooks run where their results have a part in what is asked for.
void hooked_in_part(Session& s) {
  const std::vector<Tensor> results = s.call();
  for (std::size_t i = 0; i < results.size(); ++i) {
    retain_grad(results[i]);
    add_hook(results[i], opaque([&s, i](const Tensor& grad) {
               s.shown.error += std::to_string(i) + " ";
               return grad * Tensor::number(3.0);
             }));
  }
  for (const Tensor& each : s.leaves()) s.gradients_by(results, {each}, true);
  for (const Tensor& each : results) backward(each, s.starts({each}, 3)[0], true);
  for (const Tensor& each : results) s.shown.tensors.push_back(grad_of(each));
}
void into_leaves(Session& s) {
  for (const Tensor& each : s.call()) backward(each, s.starts({each}, 3)[0], true);
  for (const Tensor& each : s.leaves()) s.shown.tensors.push_back(grad_of(each));
}

struct NamedScenario {
  const char* name;
  Scenario run;
};
constexpr NamedScenario kScenarios[] = {
    {"all at once", all_at_once}, {"one by one", one_by_one},         {"freed", freed},
    {"two calls", two_calls},     {"second order", second_order},     {"hooked", hooked},
    {"in between", in_between},   {"hooked in part", hooked_in_part}, {"into leaves", into_leaves}};

Shown show(const NamedScenario& scenario, const Run& run, const std::vector<Tensor>& arguments) {
  Session session(run, arguments);
  try {
    scenario.run(session);
  } catch (const OpError& error) {
    session.shown.error += error.message();
    session.shown.raised = true;
  }
  return std::move(session.shown);
}

std::string difference(const Shown& expected, const Shown& actual) {
  if (expected.error != actual.error) return "ends with '" + actual.error + "', not '" + expected.error + "'";
  // The hooks of all results of a function run before any of its steps; one of those may raise.
  if (!expected.raised && expected.tensors.size() != actual.tensors.size())
    return "another number of tensors";
  const std::size_t both = std::min(expected.tensors.size(), actual.tensors.size());
  for (std::size_t i = 0; i < both; ++i) {
    const Tensor &a = expected.tensors[i], &b = actual.tensors[i];
    if (!a != !b) return std::to_string(i) + (a ? " is absent" : " should be absent");
    if (a && !kiln::testing::same_bits(a, b)) {
      return std::to_string(i) + " is " + kiln::testing::describe(b) + ", not " + kiln::testing::describe(a);
    }
  }
  return "";
}

// Each in memory of its own, row by row.
bool lie_alone(const std::vector<Tensor>& arguments) {
  return std::all_of(arguments.begin(), arguments.end(), [&](const Tensor& x) {
    const auto shares = [&](const Tensor& y) { return shares_storage(x, y); };
    return x.is_contiguous() && x.offset() == 0 &&
           std::count_if(arguments.begin(), arguments.end(), shares) == 1;
  });
}

// What differs from eager code, empty when nothing does. Programs without compiled gradients are counted
// apart.
std::string fault_of(const Graph& program, const std::vector<Tensor>& arguments, bool fused, int& right,
                     std::map<std::string, int>& refused) {
  if (!lie_alone(arguments)) return "";
  std::shared_ptr<const AotFunction> function;
  try {
    std::vector<bool> wanted;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      const Type& type = program.values[i].type;
      wanted.push_back(is_float(type.dtype) && !type.is_number);
    }
    function = AotFunction::make(program, wanted, {fused, {}});
  } catch (const OpError& error) {
    ++refused[error.message().substr(0, 60)];
    return "";
  }
  const Run eager = [&](Inputs given) { return evaluate(program, given); };
  bool held = true;
  const Run compiled = [&](Inputs given) {
    held = held && function->holds_for(given);
    return held ? function->run(given, program.hints) : evaluate(program, given);
  };
  for (const NamedScenario& each : kScenarios) {
    std::string fault;
    try {
      fault = difference(show(each, eager, arguments), show(each, compiled, arguments));
    } catch (const std::exception& error) {
      fault = error.what();
    }
    if (!fault.empty()) return std::string(each.name) + ": " + fault;
  }
  if (held) ++right;
  return "";
}

void check_program(unsigned seed, const Graph& program, bool fused, int& right,
                   std::map<std::string, int>& refused) {
  const auto fault = [fused](const Graph& each, int& count, std::map<std::string, int>& no) {
    return fault_of(each, jit::testing::arguments_of(each), fused, count, no);
  };
  if (fault(program, right, refused).empty()) return;
  int ignored = 0;
  std::map<std::string, int> none;
  const Graph small =
      jit::testing::shrunk(program, [&](const Graph& each) { return !fault(each, ignored, none).empty(); });
  FAIL_CHECK("seed " << seed << ": " << fault(small, ignored, none) << "\n" << print_graph(small));
}

void tell(const std::map<std::string, int>& refused) {
  for (const auto& [why, count] : refused) UNSCOPED_INFO(count << " times: " << why);
}

}  // namespace

TEST_CASE("every op of the table has its gradients behind the tape", "[jit][aot]") {
  for (const bool fused : {false, true}) {
    int right = 0, samples = 0;
    std::map<std::string, int> refused;
    jit::testing::for_each_sample([&](const Op& op, const std::vector<Tensor>& inputs, const Graph& graph) {
      if (++samples % kiln::testing::kEvery != 0 || op.name().find("empty") != std::string_view::npos) return;
      INFO(print_graph(graph));
      CHECK(fault_of(graph, jit::testing::present(inputs), fused, right, refused) == "");
    });
    tell(refused);
    CHECK(right > 300 / kiln::testing::kEvery);
  }
}

TEST_CASE("random programs have their gradients behind the tape", "[jit][aot]") {
  int right = 0;
  std::map<std::string, int> refused;
  for (unsigned seed = 0; seed < 1500; seed += kiln::testing::kEvery)
    check_program(seed, expand_views(jit::testing::random_program(seed, 8)), false, right, refused);
  for (unsigned seed = 0; seed < 300; seed += kiln::testing::kEvery) {
    const Graph graph = jit::testing::random_graph(seed, 6);
    const bool unset = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
      return node.op->name().find("empty") != std::string_view::npos;
    });
    if (!unset) check_program(seed, graph, seed % 8 == 0, right, refused);
  }
  tell(refused);
  CHECK(right > 200 / kiln::testing::kEvery);
}

}  // namespace kiln::aot_function_test
