#include "jit/runtime/program_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "jit/graph/lifetimes.h"
#include "jit/graph/text.h"
#include "jit/runtime/program.h"

namespace kiln::jit {
namespace {

class Writer {
  using Instruction = Program::Instruction;
  using Kind = Instruction::Kind;

 public:
  Writer(const Graph& graph, bool takes_arguments)
      : graph_(graph), program_(make_program(graph, takes_arguments)), names_(value_names(graph)) {}

  CodeLines run() {
    for (std::size_t place = 0; place < program_.instructions.size(); ++place) instruction(place);
    line(returned(), {});
    if (!graph_.saved.empty()) line(saved(), "kept for the backward graph");
    CodeLines lines{{.text = fmt::format("program {} {{", print_signature(graph_))}};
    CodeLines body = lines_of(align_comments(lines_));
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (nodes_[i] != nullptr) body[i].nodes = {static_cast<int>(nodes_[i] - graph_.nodes.data())};
    }
    std::ranges::move(body, std::back_inserter(lines));
    lines.push_back({.text = "}"});
    buffers(lines);
    std::ranges::move(lines_of(remarks()), std::back_inserter(lines));
    return lines;
  }

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

  void instruction(std::size_t place) {
    const Instruction& each = program_.instructions[place];
    switch (each.kind) {
      case Kind::NewNumber:
        return node_line(each.node, fmt::format("{:<8} of {}", "number", op_text(*each.node)),
                         "anew for each call");
      case Kind::TakeBase:
        return line(fmt::format("  {:<8} {}", "base", to_string(program_.bases[each.attrs])),
                    "the memory that arguments share");
      case Kind::DoEffect: {
        const Program::EffectInstruction& effect = program_.effects[each.attrs];
        return line("  " + print_effect(graph_, *effect.effect),
                    effect.may_be_over ? "no copy, where the launch computed it there" : "");
      }
      case Kind::RetakeView:
        return;  // said by the graph: a view of what became an argument is one of it
      default:
        node_line(each.node, fmt::format("{:<8} {}", name_of(place), print_node(graph_, *each.node, names_)),
                  comment(place));
    }
  }
  void node_line(const Node* node, const std::string& text, std::string comment) {
    line("  " + text, std::move(comment));
    nodes_.back() = node;
  }
  void line(std::string text, std::string comment) {
    lines_.push_back({std::move(text), std::move(comment)});
    nodes_.push_back(nullptr);
  }

  std::string_view name_of(std::size_t place) const {
    const Instruction& each = program_.instructions[place];
    switch (each.kind) {
      case Kind::RunKernel:
        return place >= program_.launch ? "launch" : "kernel";
      case Kind::CallBack:
        return "callback";
      case Kind::TakeView:
        return "alias";
      case Kind::CopyView:
        return "copies";
      case Kind::WriteOp:
        return "write";
      case Kind::NewConstant:
        return "constant";
      default:
        return "call";
    }
  }

  std::string comment(std::size_t place) const {
    const Instruction& each = program_.instructions[place];
    if (each.feeds_next) {
      const Node& kernel = *program_.instructions[place + 1].node;
      const std::string ended = released(place);
      return fmt::format("in pieces, each as {} takes it{}{}", op_text(kernel), ended.empty() ? "" : ", ",
                         ended);
    }
    const bool takes_pieces = place > 0 && program_.instructions[place - 1].feeds_next;
    const std::string in_pieces =
        takes_pieces ? fmt::format("piece by piece of {}", names_[at(each.node->operands[each.made].value)])
                     : "";
    std::string text = allocated(each);
    for (const std::string& part :
         {in_pieces, overs(each), released(place), place_text(graph_, *each.node)}) {
      if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
    }
    return text;
  }

  // ---- What becomes of memory ----

  std::string allocated(const Instruction& each) const {
    if (each.kind == Kind::TakeView || each.kind == Kind::WriteOp) return "";
    std::int64_t bytes = 0;
    for (std::size_t k = 0; k < each.node->outputs.size(); ++k) {
      if (over(each, k) == nullptr) bytes += bytes_of(each.node->outputs[k]);
    }
    return bytes == 0 ? "" : fmt::format("{} B", bytes);
  }
  std::int64_t bytes_of(ValueId id) const {
    const TensorType type = evaluate(graph_.values[at(id)].type, graph_.hints);
    return count_elements(type.sizes) * static_cast<std::int64_t>(size_of(type.dtype));
  }
  const Source* over(const Instruction& each, std::size_t result) const {
    if (each.over.empty()) return nullptr;
    const std::optional<Source>& source = program_.over[each.over.begin + result];
    return source ? &*source : nullptr;
  }
  std::string overs(const Instruction& each) const {
    std::string text;
    for (std::size_t k = 0; k < each.node->outputs.size(); ++k) {
      if (const Source* const source = over(each, k))
        text += (text.empty() ? "over " : " and ") + name_of(*source);
    }
    return text;
  }
  // In the launch all are there until the end.
  std::string released(std::size_t place) const {
    std::string text;
    for (std::size_t id = 0; id < program_.buffers.size(); ++id) {
      if (!is_buffer(id) || place >= program_.launch) continue;
      const Program::Buffer& each = program_.buffers[id];
      if (each.is_ours && !each.leaves && each.dies == place)
        text += (text.empty() ? "releases " : ", ") + names_[id];
    }
    return text;
  }
  std::string name_of(Source source) const {
    if (source.table == Table::Frame) return names_[source.index];
    const std::vector<int> arguments = graph_.arguments();
    const auto found = std::ranges::find(arguments, static_cast<int>(source.index));
    return found == arguments.end() ? "an argument"
                                    : names_[static_cast<std::size_t>(found - arguments.begin())];
  }

  // ---- The end ----

  std::string returned() const {
    std::string text = "  return";
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const Operand& each = graph_.outputs[i];
      text += (i == 0 ? " " : ", ") + (each.is_value()    ? names_[at(each.value)]
                                       : each.is_number() ? "a number"
                                                          : "none");
    }
    return text;
  }

  std::string saved() const {
    std::string text = "  save";
    for (const ValueId id : graph_.saved) text += (text == "  save" ? " " : ", ") + names_[at(id)];
    return text;
  }

  bool is_buffer(std::size_t id) const { return program_.buffer_of[id] == static_cast<ValueId>(id); }
  // Of the call's own memory: how much, over what it may be, and until when.
  void buffers(CodeLines& lines) const {
    const std::vector<int> producers = graph_.producers();
    std::size_t width = 0;
    for (std::size_t id = 0; id < program_.buffers.size(); ++id) {
      if (is_buffer(id) && program_.buffers[id].is_ours) width = std::max(width, names_[id].size());
    }
    bool is_first = true;
    for (std::size_t id = 0; id < program_.buffers.size(); ++id) {
      if (!is_buffer(id) || !program_.buffers[id].is_ours) continue;
      if (std::exchange(is_first, false)) lines.push_back({.text = "buffers"});
      lines.push_back({.text = fmt::format("  {:<{}} {:>8} B  {}{}", names_[id], width,
                                           bytes_of(static_cast<ValueId>(id)), over_what(id), end_of(id))});
      if (producers[id] >= 0) lines.back().nodes = {producers[id]};
    }
  }
  std::string over_what(std::size_t id) const {
    if (graph_.is_input(static_cast<ValueId>(id))) return "handed over, ";
    const Instruction& maker = program_.instructions[program_.buffers[id].made];
    for (std::size_t k = 0; k < maker.node->outputs.size(); ++k) {
      const Source* const source = over(maker, k);
      if (at(maker.node->outputs[k]) == id && source != nullptr)
        return fmt::format("over {}, ", name_of(*source));
    }
    return "";
  }
  std::string end_of(std::size_t id) const {
    const Program::Buffer& buffer = program_.buffers[id];
    if (buffer.leaves) return "leaves the call";
    const Instruction* const last =
        buffer.dies < program_.finish ? &program_.instructions[buffer.dies] : nullptr;
    const bool is_read =
        last != nullptr && std::ranges::any_of(last->node->operands, [&](const Operand& each) {
          return each.is_value() && at(program_.buffer_of[at(each.value)]) == id;
        });
    return is_read ? fmt::format("dies with {}", names_[at(last->node->outputs[0])]) : "is not read";
  }

  std::string remarks() const {
    std::string text =
        fmt::format("at most {} B of tensors at once beside the arguments\n", Lifetimes(graph_).peak_bytes());
    if (program_.may_be_bound)
      text += "calls with arguments that are stored alike run it with addresses filled in\n";
    return text;
  }

  const Graph& graph_;
  const Program program_;
  const std::vector<std::string> names_;
  std::vector<CommentedLine> lines_;
  std::vector<const Node*> nodes_;  // by line; null: of none
};

}  // namespace

CodeLines program_lines(const Graph& graph, bool takes_arguments) {
  return Writer(graph, takes_arguments).run();
}

}  // namespace kiln::jit
