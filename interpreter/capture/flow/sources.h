// Owns what a flow is given from outside: where each input is found, and what must hold of it.
#pragma once

#include <map>
#include <unordered_map>

#include "interpreter/capture/flow/batched.h"
#include "interpreter/capture/flow/input_sizes.h"
#include "interpreter/capture/flow/loop_flow.h"
#include "interpreter/capture/flow/notes.h"

namespace kiln::interp::capture {

// Something was found that the loop must be read anew with.
struct ReadAgain {};

class FlowSources {
 public:
  // `vmaps`: around the loop, outermost first. `gradient`: the transform that differentiates, where it is the
  // only one around the loop; else null.
  FlowSources(LoopFlow& flow, std::vector<VmapAround> vmaps, levels::Level* gradient)
      : flow_(flow),
        outer_(SizeScope::current()),
        vmaps_(std::move(vmaps)),
        gradient_(gradient),
        sizes_(flow) {}

  // The range that the loop goes over: where its next item is found, and how many follow.
  void set_own_range(SourceId next, SourceId left) {
    next_ = next;
    left_ = left;
  }
  // The inputs found so far become the first values of the graph. Guards are found anew, and the vmaps around
  // the loop are entered.
  void begin(FlowNotes& notes, LevelsAround& entered);

  SourceId add_source(Source source) { return flow_.sources.add(std::move(source)); }
  SourceId part(SourceId parent, Source::Kind kind, std::int64_t number, const std::string& text);
  InputSizes& sizes() { return sizes_; }
  // Was an input found for which no first value of the graph stands? Then the loop is read anew.
  bool found_new() const { return found_new_; }
  // A number or tensor as an input.
  FlowItem input(const Value& value, SourceId source);
  // The one source of what has variables, a cell or an instance of a struct, wherever it is found.
  SourceId owner(const Value& object, SourceId source);
  // The loop assigns variables of such objects, which are all different.
  void expect_owners_apart();
  // The items of a list of numbers, found at its owner, as a tensor. Throws Unsupported for other lists.
  FlowItem numbers(const Value& list, SourceId owner);
  // The code points of a text, found at its owner, as a tensor.
  FlowItem code_points(const Value& text, SourceId owner);
  // Text of one code point.
  FlowItem letter(const Value& text, SourceId source);
  // The loop writes numbers of this kind into the list, or changes how many there are.
  void expect_list_written(const Value& list, SourceId owner, DType dtype, bool grows);
  // The loop appends tensors to the list, which has been found at its owner: memory for them, of one row for
  // each. Throws Unsupported for one of another type than those before.
  FlowItem rows(const Value& list, SourceId owner, const Tensor& item);
  bool appends_tensors(SourceId list) const { return is_written(list) && lists_.at(list).row.has_value(); }
  bool appends_tensors() const;
  bool writes_lists() const { return !lists_.empty(); }
  bool is_written(SourceId list) const { return lists_.contains(list); }
  bool grows(SourceId list) const { return is_written(list) && lists_.at(list).grows; }
  void guard(Guard guard);
  // What is known of the value is used.
  void expect_same(const FlowItem& known);
  // The type of a known value is used.
  void expect_type(const FlowItem& known);
  // The body of a known function is used, and what it captures by its source.
  void expect_code(const FlowItem& known);
  void expect_equal(const Value& value, SourceId source);
  void expect_length(const FlowItem& known);
  // The memory of an input is written, or that of some input where `x` shares none with one.
  void expect_written(const Tensor& x);

 private:
  struct Entry {
    LoopFlow::Input::Kind kind;
    SourceId source;
    Value value;
    std::string name;
    FlowItem item{};
  };
  struct WrittenList {
    DType dtype = DType::I64;
    bool grows = false;
    std::optional<Dims> row{};  // sizes of the tensors that are appended, over those of inputs
  };
  DType dtype_of_list(const Entry& entry) const;
  void expect_one(SourceId source, SourceId first);
  FlowItem find(LoopFlow::Input::Kind kind, const Value& value, SourceId source);
  bool is_found(LoopFlow::Input::Kind kind, SourceId source) const;
  void begin(FlowNotes& notes, Entry& entry);
  bool begin_as_size(FlowNotes& notes, Entry& entry);
  FlowItem begin_tensor(FlowNotes& notes, const Entry& entry);
  FlowItem begin_numbers(FlowNotes& notes, const Entry& entry);
  FlowItem begin_rows(FlowNotes& notes, const Entry& entry);
  void check_tensor(const Tensor& x, const std::string& name) const;
  void follow_base(const Tensor& x) const;
  Tensor recorded(const Tensor& x) const;
  // As in the call in which the loop is read.
  Tensor now(const Tensor& x) const;

  LoopFlow& flow_;
  const SizeScope* const outer_;  // of the call in which the loop is read, whose tensors may have symbols
  const std::vector<VmapAround> vmaps_;
  levels::Level* const gradient_;
  FlowNotes* notes_ = nullptr;
  bool found_new_ = false;
  SourceId next_ = -1, left_ = -1;
  std::vector<Entry> entries_;
  std::map<std::pair<LoopFlow::Input::Kind, SourceId>, std::size_t> by_source_;
  std::unordered_map<const TensorImpl*, SourceId> by_tensor_;
  std::unordered_map<const Object*, SourceId> by_owner_;
  std::map<SourceId, WrittenList> lists_;
  InputSizes sizes_;
};

}  // namespace kiln::interp::capture
