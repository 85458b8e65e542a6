#include <algorithm>
#include <vector>

#include "tensor/op.h"
#include "tensor/op_names.h"
#include "tests/documents/documents.h"
#include "tests/tensor/op_dtypes.h"

namespace kiln::testing {
namespace {

constexpr std::string_view kIntroductionOfOps =
    "# The ops\n"
    "\n"
    "Made from the op table by `scripts/docs`; the examples run as tests. Every op is a function and a "
    "method: "
    "`sum(x, dim=0)`\nis `x.sum(dim=0)`. `?name` at the prompt shows one of them. What differs from PyTorch "
    "is in "
    "[pytorch.md](pytorch.md).\n"
    "\n"
    "- In a signature, `?` marks what may be `none`, what follows `*` is given by name, `ints` may be a "
    "list, a tuple or "
    "spread\n  over the call, `dims` is an int or a tuple, and a tensor may be a number where the op makes "
    "sense of it.\n"
    "- **dtypes**: the element types of the operands. Operands of several types are promoted where the op "
    "says nothing "
    "else.\n"
    "- **gradient**: reverse, forward, or why there is none. **vmap**: whether there is a batching rule, or "
    "why not.\n"
    "- **ONNX**: the operator or expression that a model has for the op, or a function, or why there is none "
    "([onnx.md](onnx.md)).\n"
    "- *composite*: the op consists of smaller ones and has their derivatives and batching rules.\n";

// "add.alpha" is a further form of "add".
std::string_view plain_name(const Op& op) { return op.name().substr(0, op.name().find('.')); }

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string dtypes_text(const Op& op) {
  const std::vector<DType> dtypes = dtypes_of(op);
  const auto count_of = [&](Category wanted) {
    return std::count_if(dtypes.begin(), dtypes.end(), [=](DType d) { return category(d) == wanted; });
  };
  if (dtypes.empty()) return "";
  const bool takes_complex = op.complex.kind != ComplexRule::Refused;
  if (dtypes.size() == kRealDTypeCount) return takes_complex ? "all" : "all but complex";
  std::vector<std::string> parts;
  if (count_of(Category::Bool) == 1) parts.emplace_back("bool");
  constexpr std::pair<Category, int> kWhole[] = {{Category::Integer, 5}, {Category::Float, 4}};
  for (const auto& [kind, size] : kWhole) {
    if (count_of(kind) == size) {
      parts.emplace_back(kind == Category::Integer ? "integers" : "floats");
      continue;
    }
    for (const DType d : dtypes)
      if (category(d) == kind) parts.emplace_back(name(d));
  }
  if (takes_complex) parts.emplace_back("complex");
  return joined(parts);
}

template <class F>
std::string rule_text(const Rule<F>& rule) {
  if (rule) return "yes";
  return rule.missing == kComposite ? "composite" : "no: " + std::string(rule.missing);
}

std::string gradient_text(const Op& op) {
  if (op.vjp && op.jvp) return "reverse and forward";
  if (op.vjp)
    return op.jvp.missing == kComposite ? "reverse; forward: composite"
                                        : "reverse; forward: " + rule_text(op.jvp);
  return rule_text(op.vjp);
}

std::string onnx_text(const Op& op) {
  const OnnxRule& rule = op.onnx;
  if (!rule.expression.empty()) return "`" + std::string(rule.expression) + "`";
  if (rule.write != nullptr) return "operators, by types and sizes";
  if (rule.body != nullptr) return "a function over smaller ops";
  return rule.missing.empty() ? "a function of its body" : "no: " + std::string(rule.missing);
}

std::vector<std::string> memory_text(const Op& op) {
  std::vector<std::string> notes;
  const std::string name(plain_name(op));
  if (op.view != nullptr) notes.emplace_back("the result is a view of `x`");
  if (op.has(kMetadataWrite)) {
    notes.push_back("`" + name + "_` changes the sizes and strides of `x` itself");
  } else if (op.has(kInplace)) {
    notes.push_back("`" + name + "_` writes into `x`");
  }
  return notes;
}

std::string other_names_text(std::string_view own) {
  std::vector<std::string> names;
  for (const OtherName& name : other_names())
    if (name.own == own) names.push_back("`" + std::string(name.other) + "`");
  return names.empty() ? "" : "\nAlso " + joined(names) + ".\n";
}

void add_form(std::string& text, const Op& op) {
  text += "\n`" + std::string(plain_name(op)) + op.signature.text.substr(op.signature.text.find('(')) +
          "`\n\n" + std::string(op.documentation) + "\n\n";
  const std::string dtypes = dtypes_text(op);
  if (!dtypes.empty()) text += "- dtypes: " + dtypes + "\n";
  for (const std::string_view note : op.dtypes_note) text += "- " + std::string(note) + "\n";
  text += "- gradient: " + gradient_text(op) + "; vmap: " + rule_text(op.batch) + "\n";
  text += "- ONNX: " + onnx_text(op) + "\n";
  const std::vector<std::string> memory = memory_text(op);
  if (!memory.empty()) text += "- memory: " + joined(memory) + "\n";
  if (op.draws()) text += "- random: `seed(n)` makes it repeatable\n";
  if (op.has(kDataDependent)) text += "- the shape of the result depends on the data\n";
  if (!op.example.empty()) text += "\n```\n" + std::string(op.example) + "\n```\n";
}

}  // namespace

std::string op_reference() {
  std::vector<std::string_view> families;
  for (const Op* op : OpTable::get().ops()) {
    if (std::find(families.begin(), families.end(), op->family) == families.end())
      families.push_back(op->family);
  }
  std::string text(kIntroductionOfOps);
  for (const std::string_view family : families) {
    text += "\n## " + std::string(family) + "\n";
    std::string_view last;
    for (const Op* op : OpTable::get().ops()) {
      if (op->family != family) continue;
      if (plain_name(*op) != last) {
        last = plain_name(*op);
        text += "\n### " + std::string(last) + "\n" + other_names_text(last);
      }
      add_form(text, *op);
    }
  }
  return text;
}

}  // namespace kiln::testing
