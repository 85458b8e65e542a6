// Lists that the loop appends tensors to: the flow writes the elements to rows of memory, and where it is
// left, the list gets a tensor for each row.
#include "interpreter/capture/flow/reader.h"
#include "interpreter/vm/registers.h"
#include "tensor/functions.h"
#include "tensor/indexing.h"
#include "tensor/view.h"

namespace kiln::interp::capture {

// Copying a large tensor to its row costs more than the interpreter's appending, as was measured for 100,000
// elements.
constexpr std::int64_t kMostAppended = 1 << 12;

using Kind = FlowItem::Kind;
using lang::BinaryOp;

// What shows the tensor's memory by another shape would not see writes of the row.
void FlowReader::expect_alone(const Tensor& x, const std::string& list) const {
  const auto check = [&](FlowItem item) {
    each_leaf(item, [&](const FlowItem& leaf) {
      const bool shows = leaf.is(Kind::Tensor) && shares_storage(leaf.tensor, x) && !leaf.tensor.is_same(x);
      if (shows) throw Unsupported{"a tensor is appended to " + list + " that another one shows"};
    });
  };
  for (const FlowFrame& each : state_.frames) {
    for (std::uint32_t r = 0; r < each.registers.size(); ++r) {
      if (each.code->liveness().is_live_after(each.pc, r)) check(each.registers[r]);
    }
  }
  for (const FlowItem& each : state_.variables) check(each);
}

// From here on the tensor is the row, by all its names, so that the list sees what is written to it.
void FlowReader::become(const Tensor& before, const FlowItem& row) {
  const auto put = [&](std::vector<FlowItem>& items) {
    for (FlowItem& item : items) {
      each_leaf(item, [&](FlowItem& leaf) {
        if (leaf.is(Kind::Tensor) && leaf.tensor.is_same(before)) leaf = row;
      });
    }
  };
  for (FlowFrame& each : state_.frames) put(each.registers);
  put(state_.variables);
  put(state_.variables_before);
  put(state_.registers_before);
}

// Only what the loop itself has just computed: the list gets the very tensor, and that of another place would
// be known there, too. Where the memory is full, the interpreter appends, and the flow begins again.
void FlowReader::append_tensor(const FlowItem& list, const Tensor& x) {
  const SourceId owner = inputs_.owner(list.known, list.source);
  const std::string name = "`" + flow_.sources[owner].text + "`";
  if (flow_.in_gradient) throw Unsupported{"a tensor of a transform is appended to " + name};
  if (levels::is_batched(x)) throw Unsupported{"a tensor of all examples is appended to " + name};
  if (!notes_.is_made(x)) throw Unsupported{name + " gets a tensor that this iteration did not compute"};
  if (!x.is_contiguous()) throw Unsupported{name + " gets a tensor with gaps in memory"};
  for (const Dim each : x.sizes()) {
    if (same(each, 0)) throw Unsupported{name + " gets a tensor without elements"};
  }
  if (notes_.elements_hint(x) > kMostAppended) throw Unsupported{name + " gets a tensor of many elements"};
  expect_alone(x, name);
  const Tensor rows = inputs_.rows(list.known, owner, x).tensor;
  const FlowVariable variable = length_variable(list);
  const FlowItem length = forced(value_of(variable));
  const FlowItem before = forced(FlowItem::at(variable.now, variable.source));
  const FlowItem number = numbers_binary(BinaryOp::Sub, length, before);
  const Tensor row = ops::select(rows, 0, notes_.index(number, rows.size(0)));
  if (!same(row.sizes(), x.sizes())) {
    expect_equal_sizes(row.sizes(), x.sizes());
    throw Unsupported{name + " gets tensors of several sizes"};
  }
  const FlowItem longer = numbers_binary(BinaryOp::Add, length, FlowItem::one());
  kiln::set_index(row, {}, x);
  assign(variable, longer);
  become(x, notes_.item_of(row));
}

}  // namespace kiln::interp::capture
