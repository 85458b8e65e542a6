#include "jit/runtime/program_text.h"

#include <fmt/format.h>

#include "jit/graph/custom.h"
#include "jit/graph/lifetimes.h"
#include "jit/graph/text.h"
#include "jit/loops/kernel_op.h"
#include "jit/runtime/bound_program.h"
#include "jit/runtime/program.h"

namespace kiln::jit {
namespace {

class Writer {
  using Instruction = Program::Instruction;
  using Kind = Instruction::Kind;

 public:
  explicit Writer(const Graph& graph)
      : graph_(graph),
        program_(make_program(graph)),
        names_(value_names(graph)),
        lifetimes_(graph),
        in_slot_(program_.frame_size, Operand::kAbsent),
        is_alive_(graph.values.size(), false) {}

  std::string run() {
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) instruction(i);
    for (const Program::EffectInstruction& each : program_.effects) effect(each);
    lines_.push_back({returned(), {}});
    return fmt::format("program {} {{\n{}}}\n{}", print_signature(graph_), align_comments(lines_), remarks());
  }

 private:
  void instruction(std::size_t place) {
    const Instruction& each = program_.instructions[place];
    if (each.kind == Kind::Base || each.kind == Kind::FreshNumber) return prepared(each);
    std::string in_pieces;
    if (each.product >= 0) {
      const Instruction& product = program_.products[static_cast<std::size_t>(each.product)];
      keep(product);
      add(product, "call", fmt::format("in pieces, each as {} takes it", op_text(*each.node)));
      in_pieces = fmt::format("piece by piece of {}", names(*product.node));
    }
    const std::string over = overs(each);
    keep(each);
    std::string comment = allocated(each);
    for (const std::string& part : {in_pieces, over, released(each), place_text(graph_, *each.node)}) {
      if (!part.empty()) comment += (comment.empty() ? "" : ", ") + part;
    }
    add(each, kind(each, place), std::move(comment));
  }
  void add(const Instruction& each, std::string_view kind, std::string comment) {
    lines_.push_back(
        {fmt::format("  {:<8} {}", kind, print_node(graph_, *each.node, names_)), std::move(comment)});
  }

  // What is there before the first node that reads it runs.
  void prepared(const Instruction& each) {
    if (each.kind == Kind::FreshNumber) {
      lines_.push_back({fmt::format("  {:<8} of {}", "number", op_text(*each.node)), "anew for each call"});
      return;
    }
    const auto base = static_cast<std::size_t>(each.attrs);
    lines_.push_back({fmt::format("  {:<8} {}", "base", to_string(program_.bases[base])),
                      "the memory that arguments share"});
  }

  std::string_view kind(const Instruction& each, std::size_t place) const {
    if (each.kind == Kind::FreshConstant) return "constant";
    if (each.kind == Kind::Write) return "write";
    if (each.kind == Kind::Copy) return "copies";
    if (as_kernel(*each.op) != nullptr) return place >= program_.launch ? "launch" : "kernel";
    if (custom_function(*each.op) != nullptr) return "callback";
    return is_view(each) ? "alias" : "call";
  }

  // ---- What becomes of memory ----

  void keep(const Instruction& each) {
    for (std::size_t k = 0; k < each.node->outputs.size(); ++k) {
      const ValueId id = each.node->outputs[k];
      in_slot_[program_.slots[each.results.begin + k]] = id;
      is_alive_[static_cast<std::size_t>(id)] = true;
    }
  }
  std::string allocated(const Instruction& each) const {
    if (is_view(each) || each.kind == Kind::Write || each.may_overwrite) return "";
    std::int64_t bytes = 0;
    for (std::size_t k = 0; k < each.node->outputs.size(); ++k) {
      if (over(each, k) == nullptr) bytes += bytes_of(each.node->outputs[k]);
    }
    return bytes == 0 ? "" : fmt::format("{} B", bytes);
  }
  std::int64_t bytes_of(ValueId id) const {
    const TensorType type = evaluate(graph_.values[static_cast<std::size_t>(id)].type, graph_.hints);
    return count_elements(type.sizes) * static_cast<std::int64_t>(size_of(type.dtype));
  }
  const Source* over(const Instruction& each, std::size_t result) const {
    if (each.over.begin == each.over.end) return nullptr;
    const std::optional<Source>& source = program_.over[each.over.begin + result];
    return source ? &*source : nullptr;
  }
  std::string overs(const Instruction& each) const {
    std::string text;
    const auto tell = [&text](const std::string& name) { text += (text.empty() ? "over " : " and ") + name; };
    if (each.may_overwrite) tell(names_[static_cast<std::size_t>(each.node->operands[0].value)]);
    for (std::size_t k = 0; k < each.node->outputs.size(); ++k) {
      const Source* const source = over(each, k);
      if (source != nullptr) tell(name_of(*source));
    }
    return text;
  }
  // The values of which nothing reads the memory any more, as views do.
  std::string released(const Instruction& each) {
    std::string text;
    for (std::uint32_t i = each.last_read.begin; i < each.last_read.end; ++i) {
      const ValueId id = in_slot_[program_.slots[i]];
      if (id < 0) continue;  // a number of its own
      is_alive_[static_cast<std::size_t>(id)] = false;
      if (is_needed(lifetimes_.buffer(id))) continue;
      text += (text.empty() ? "releases " : ", ") + names_[static_cast<std::size_t>(id)];
    }
    return text;
  }
  bool is_needed(ValueId buffer) const {
    if (graph_.is_input(buffer)) return true;
    for (std::size_t id = 0; id < is_alive_.size(); ++id) {
      if (is_alive_[id] && lifetimes_.buffer(static_cast<ValueId>(id)) == buffer) return true;
    }
    return false;
  }
  std::string name_of(Source source) const {
    if (source.table == Table::Frame) return names_[static_cast<std::size_t>(in_slot_[source.index])];
    const std::vector<int> arguments = graph_.arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] == static_cast<int>(source.index)) return names_[i];
    }
    return "an argument";
  }
  std::string names(const Node& node) const {
    std::string text;
    for (const ValueId id : node.outputs)
      text += (text.empty() ? "" : ", ") + names_[static_cast<std::size_t>(id)];
    return text;
  }

  // ---- The end ----

  void effect(const Program::EffectInstruction& each) {
    lines_.push_back({"  " + print_effect(graph_, *each.effect),
                      each.may_be_over ? "no copy, where the launch computed it there" : ""});
  }
  std::string returned() const {
    std::string text = "  return";
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const Operand& each = graph_.outputs[i];
      text += (i == 0 ? " " : ", ") + (each.is_value()    ? names_[static_cast<std::size_t>(each.value)]
                                       : each.is_number() ? "a number"
                                                          : "none");
    }
    return text;
  }
  std::string remarks() const {
    std::string text =
        fmt::format("at most {} B of tensors at once beside the arguments\n", lifetimes_.peak_bytes());
    if (BoundProgram::is_possible(graph_, program_))
      text += "calls with arguments that are stored alike run it with addresses filled in\n";
    return text;
  }

  const Graph& graph_;
  const Program program_;
  const std::vector<std::string> names_;
  const Lifetimes lifetimes_;
  std::vector<ValueId> in_slot_;  // by slot: the value that is there after the instruction under way
  std::vector<bool> is_alive_;    // by value: will an instruction or the caller read it?
  std::vector<CommentedLine> lines_;
};

}  // namespace

std::string program_text(const Graph& graph) { return Writer(graph).run(); }

}  // namespace kiln::jit
