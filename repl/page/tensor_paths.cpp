#include "repl/page/tensor_paths.h"

#include "interpreter/vm/impl.h"
#include "jit/graph/rewrite.h"
#include "repl/definition.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

class Paths {
 public:
  explicit Paths(Session& session)
      : interpreter_(session.interpreter()),
        named_tensors_(interpreter_.impl().modules.prelude_value("named_tensors")) {}

  // The tensors of a tree, as dotted names behind a prefix; the first name of each counts.
  void add(const Value& tree, const std::string& prefix) {
    if (!is_tree(tree)) return;
    try {
      const Value named = interpreter_.call(*named_tensors_, {tree, Value(prefix)});
      for (const Value& each : interpreter_.to_vector(named)) {
        const std::vector<Value> pair = interpreter_.to_vector(each);
        paths_.try_emplace(pair[1].as_tensor().impl(), interpreter_.str(pair[0]));
      }
    } catch (const lang::UserError& error) {
      if (error.diagnostic().kind == "Interrupted") throw;
      // It holds itself: its tensors go by the names that capture gave them.
    }
  }
  // Null when it is part of no tree.
  const std::string* find(const Tensor& x) const {
    const auto found = x ? paths_.find(x.impl()) : paths_.end();
    return found == paths_.end() ? nullptr : &found->second;
  }

 private:
  static bool is_tree(const Value& value) {
    return value.is(Tag::Instance) || value.is(Tag::List) || value.is(Tag::Tuple) || value.is(Tag::Dict);
  }

  interp::Interpreter& interpreter_;
  const Value* named_tensors_;
  std::map<const void*, std::string> paths_;
};

}  // namespace

void name_by_paths(Session& session, const WrittenCall& call, interp::CapturedGraph& captured) {
  Paths paths(session);
  paths.add(call.function.is(Tag::Method) ? call.function.as<interp::Method>().receiver : call.function, "");
  const std::vector<std::string> parameters = parameter_names(call.function);
  for (std::size_t i = 0; i < std::min(parameters.size(), call.positional.size()); ++i)
    paths.add(call.positional[i], parameters[i]);
  for (const auto& [name, value] : call.named) paths.add(value, std::string(name));
  const interp::Module& main = session.interpreter().main();
  for (std::size_t i = 0; i < main.names.size(); ++i) {
    if (main.slots[i].is(Tag::Instance)) paths.add(main.slots[i], main.names[i]);
  }
  const std::vector<int> places = captured.graph.arguments();
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0 || places[i] >= static_cast<int>(captured.arguments.size())) continue;
    const std::string* const path = paths.find(captured.arguments[static_cast<std::size_t>(places[i])]);
    if (path != nullptr) captured.graph.values[i].name = *path;
  }
  jit::TakenNames taken;
  for (jit::Value& each : captured.graph.values) each.name = jit::fresh_name(taken, each.name);
}

}  // namespace kiln::repl
