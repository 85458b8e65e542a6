#include "tests/jit/flow_graphs.h"

#include <set>

namespace kiln::jit::testing {

ValueId FlowBuilder::input_int(std::int64_t hint) {
  flow.inputs.push_back(Role::Argument);
  return value(number_type(DType::I64), hint);
}
ValueId FlowBuilder::input_float() {
  flow.inputs.push_back(Role::Argument);
  return value(number_type(DType::F64));
}
ValueId FlowBuilder::input(DType dtype, Dims sizes) {
  std::set<std::string> symbols;
  kiln::collect_symbols(sizes, symbols);
  for (const std::string& each : symbols) flow.hints.emplace(each, 4);
  flow.inputs.push_back(Role::Argument);
  return value({dtype, Device{}, std::move(sizes), false, std::nullopt});
}
ValueId FlowBuilder::parameter_int(std::int64_t hint) { return parameter(number_type(DType::I64), hint); }

void FlowBuilder::begins_loop(ExitId interrupted) {
  flow.blocks.back().begins_loop = true;
  flow.blocks.back().interrupted = interrupted;
}
void FlowBuilder::jump(BlockId to, std::vector<Operand> arguments) {
  FlowEnd end;
  end.kind = FlowEnd::Kind::Jump;
  end.then = {to, std::move(arguments)};
  flow.blocks.back().end = std::move(end);
}
void FlowBuilder::branch(Operand condition, FlowEnd::Target then, FlowEnd::Target other) {
  FlowEnd end;
  end.kind = FlowEnd::Kind::Branch;
  end.condition = std::move(condition);
  end.then = std::move(then);
  end.other = std::move(other);
  flow.blocks.back().end = std::move(end);
}
void FlowBuilder::leave(ExitId exit) {
  FlowEnd end;
  end.exit = exit;
  flow.blocks.back().end = std::move(end);
}

ValueId FlowBuilder::number(NumberOp op, std::vector<Operand> operands, ExitId exit, std::int64_t hint) {
  FlowStep step;
  step.node.op = &number_op(op);
  step.node.operands = std::move(operands);
  step.exit = exit;
  const ValueId made = add(std::move(step))[0];
  const std::string symbol = symbol_of(made);
  if (flow.hints.contains(symbol)) flow.hints[symbol] = hint;
  return made;
}
ValueId FlowBuilder::step(std::string_view op, std::vector<Operand> operands,
                          const std::vector<kiln::testing::NamedAttr>& attrs, ExitId exit,
                          std::vector<SizeGuard> guards) {
  FlowStep step;
  step.node.op = &OpTable::get().at(op);
  step.node.attrs = attr_list(kiln::testing::attrs_of(*step.node.op, attrs));
  step.node.operands = std::move(operands);
  step.guards = std::move(guards);
  step.exit = exit;
  return add(std::move(step))[0];
}
ValueId FlowBuilder::write(std::string_view op, std::vector<Operand> operands, ExitId exit) {
  FlowStep step;
  step.node.op = &OpTable::get().at(op);
  step.node.form = Form::Write;
  step.node.attrs = attr_list(Attrs(*step.node.op));
  step.node.operands = std::move(operands);
  step.exit = exit;
  return add(std::move(step))[0];
}

ExitId FlowBuilder::exit(std::string reason, std::vector<Operand> values) {
  flow.exits.push_back({std::move(values), {}, std::move(reason)});
  return static_cast<ExitId>(flow.exits.size()) - 1;
}

FlowValue int_value(std::int64_t value) { return {{}, value}; }
FlowValue float_value(double value) { return {{}, value}; }
FlowValue tensor_value(const Tensor& x) { return {x, false}; }

FlowBuilder sum_of_squares() {
  FlowBuilder b("sum_of_squares:2");
  const ValueId n = b.input_int(5);
  b.begin_block();
  b.jump(1, {of_int(0), of_int(0)});
  b.begin_block();
  const ValueId total = b.parameter_int(0), i = b.parameter_int(0);
  const ExitId done = b.exit("the loop is done", {of(total), of(i)});
  const ExitId overflow = b.exit("an int leaves 64 bits", {of(total), of(i)});
  const ExitId interrupted = b.exit("it was interrupted", {of(total), of(i)});
  b.begins_loop(interrupted);
  const ValueId goes_on = b.number(NumberOp::Less, {of(i), of(n)});
  b.branch(of(goes_on), {2, {}}, {3, {}});
  b.begin_block();
  const ValueId square = b.number(NumberOp::Mul, {of(i), of(i)}, overflow);
  const ValueId next = b.number(NumberOp::Add, {of(total), of(square)}, overflow);
  const ValueId after = b.number(NumberOp::Add, {of(i), of_int(1)});
  b.jump(1, {of(next), of(after)});
  b.begin_block();
  b.leave(done);
  return b;
}

FlowBuilder running_sum() {
  FlowBuilder b("running_sum:3");
  const Dim s0 = Dim::symbol("s0");
  const ValueId x = b.input(DType::F32, {s0}), y = b.input(DType::F32, {s0}), start = b.input_int(1);
  b.begin_block();
  b.jump(1, {of(start)});
  b.begin_block();
  const ValueId i = b.parameter_int(1);
  const ExitId done = b.exit("the loop is done", {of(i)});
  const ExitId index = b.exit("an index is out of range", {of(i)});
  const ExitId interrupted = b.exit("it was interrupted", {of(i)});
  b.begins_loop(interrupted);
  b.branch(of(b.number(NumberOp::Less, {of(i), of_size("s0")})), {2, {}}, {3, {}});
  b.begin_block();
  const ValueId before = b.number(NumberOp::Sub, {of(i), of_int(1)}, index, 0);
  const auto element = [&](ValueId of_tensor, ValueId number, std::int64_t hint) {
    const ValueId place = b.number(NumberOp::Index, {of(number), of_size("s0")}, index, hint);
    return b.step("select", {of(of_tensor)}, {{"dim", Dim(0)}, {"index", dim_of(place)}});
  };
  const ValueId left = element(x, before, 0), right = element(y, i, 1), target = element(x, i, 1);
  b.write("copy", {of(target), of(b.step("add", {of(left), of(right)}))});
  b.jump(1, {of(b.number(NumberOp::Add, {of(i), of_int(1)}))});
  b.begin_block();
  b.leave(done);
  return b;
}

}  // namespace kiln::jit::testing
