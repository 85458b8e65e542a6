// Sums of products by Einstein's convention, as matrix products over permuted operands.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "tensor/ops/rules.h"

namespace kiln {

void add_einsum_op(OpTable& table);

namespace {

// Letters are 0..51; broadcast dimensions of `...` are 52 and up, counted so that the last is highest.
constexpr int kLetters = 52;
constexpr int kEllipsisDims = 8;
constexpr int kEllipsisEnd = kLetters + kEllipsisDims;

[[noreturn]] void refuse(std::string_view equation, const std::string& why, std::vector<int> operands = {}) {
  throw OpError(ErrorKind::Value, fmt::format("einsum: \"{}\": {}", equation, why), std::move(operands));
}

int label_of(char c, std::string_view equation) {
  if (c >= 'a' && c <= 'z') return c - 'a';
  if (c >= 'A' && c <= 'Z') return 26 + c - 'A';
  refuse(equation, fmt::format("'{}' is not a letter", c));
}

using Labels = SmallVector<int, 8>;

// The labels of one operand of `rank`, or of the result when rank is -1 (`ellipsis` dimensions for its
// `...`).
Labels labels_of(std::string_view text, int rank, int ellipsis, std::string_view equation, int operand) {
  Labels labels;
  int letters = 0;
  for (const char c : text) letters += c != ' ' && c != '.' ? 1 : 0;
  const int dots = rank >= 0 ? rank - letters : ellipsis;
  bool seen = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] != '.') {
      labels.push_back(label_of(text[i], equation));
      continue;
    }
    if (seen || text.substr(i, 3) != "...") refuse(equation, "'.' stands only in one \"...\" per operand");
    if (dots < 0 || dots > kEllipsisDims) refuse(equation, "\"...\" stands for too many dimensions");
    for (int d = 0; d < dots; ++d) labels.push_back(kEllipsisEnd - dots + d);
    seen = true;
    i += 2;
  }
  if (rank >= 0 && static_cast<int>(labels.size()) != rank) {
    refuse(equation,
           fmt::format("operand {} has {} dimensions, \"{}\" names {}", operand, rank, text, labels.size()),
           {operand});
  }
  return labels;
}

struct Equation {
  std::vector<Labels> operands;
  Labels result;
  std::array<Dim, kEllipsisEnd> sizes;
};

void note_sizes(Equation& equation, const Labels& labels, const Dims& sizes, std::string_view text,
                int operand) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    Dim& known = equation.sizes[static_cast<std::size_t>(labels[i])];
    if (known == -1 || known == 1) {
      known = sizes[i];
    } else if (sizes[i] != 1 && sizes[i] != known) {
      refuse(text, fmt::format("operand {} has size {} where another has {}", operand, sizes[i], known),
             {operand});
    }
  }
}

// Without "->", the result has the letters that occur once, in order of the alphabet.
Labels implied_result(const Equation& equation) {
  std::array<int, kEllipsisEnd> counts{};
  for (const Labels& labels : equation.operands) {
    for (const int label : labels) ++counts[static_cast<std::size_t>(label)];
  }
  Labels result;
  for (int label = kLetters; label < kEllipsisEnd; ++label) {
    if (counts[static_cast<std::size_t>(label)] > 0) result.push_back(label);
  }
  // Upper case sorts before lower case, as characters do.
  for (int i = 0; i < kLetters; ++i) {
    const int label = i < 26 ? 26 + i : i - 26;
    if (counts[static_cast<std::size_t>(label)] == 1) result.push_back(label);
  }
  return result;
}

Equation parse(std::string_view text, std::span<const Dims> shapes) {
  Equation equation{{}, {}, {}};
  equation.sizes.fill(-1);
  const std::size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  int ellipsis = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::size_t comma = left.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == shapes.size())) {
      refuse(text, fmt::format("{} operands are given", shapes.size()));
    }
    const Labels labels =
        labels_of(left.substr(0, comma), static_cast<int>(shapes[i].size()), 0, text, static_cast<int>(i));
    note_sizes(equation, labels, shapes[i], text, static_cast<int>(i));
    for (const int label : labels)
      ellipsis = std::max(ellipsis, label >= kLetters ? kEllipsisEnd - label : 0);
    equation.operands.push_back(labels);
    left = comma == std::string_view::npos ? std::string_view() : left.substr(comma + 1);
  }
  equation.result = arrow == std::string_view::npos
                        ? implied_result(equation)
                        : labels_of(text.substr(arrow + 2), -1, ellipsis, text, -1);
  for (std::size_t i = 0; i < equation.result.size(); ++i) {
    const int label = equation.result[i];
    if (equation.sizes[static_cast<std::size_t>(label)] == -1)
      refuse(text, "the result names a letter that no operand has");
    if (std::find(equation.result.begin(), equation.result.begin() + static_cast<std::ptrdiff_t>(i), label) !=
        equation.result.begin() + static_cast<std::ptrdiff_t>(i)) {
      refuse(text, "the result names a letter twice");
    }
  }
  return equation;
}

// An operand while the sum is worked out.
struct Term {
  Tensor x;
  Labels labels;

  int place(int label) const {
    const auto* found = std::find(labels.begin(), labels.end(), label);
    return found == labels.end() ? -1 : static_cast<int>(found - labels.begin());
  }
};

// A letter that an operand names twice means its diagonal.
void take_diagonals(Term& term) {
  for (int i = 0; i < static_cast<int>(term.labels.size()); ++i) {
    for (int j = i + 1; j < static_cast<int>(term.labels.size());) {
      if (term.labels[static_cast<std::size_t>(i)] != term.labels[static_cast<std::size_t>(j)]) {
        ++j;
        continue;
      }
      const int label = term.labels[static_cast<std::size_t>(i)];
      term.x = ops::diagonal(term.x, 0, i, j);
      term.labels.erase(term.labels.begin() + j);
      term.labels.erase(term.labels.begin() + i);
      term.labels.push_back(label);
      j = i + 1;
    }
  }
}

// Sums over the letters that nothing else needs.
void sum_unneeded(Term& term, const std::array<bool, kEllipsisEnd>& needed) {
  Dims dims;
  Labels kept;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (needed[static_cast<std::size_t>(term.labels[i])]) {
      kept.push_back(term.labels[i]);
    } else {
      dims.push_back(static_cast<Dim>(i));
    }
  }
  if (dims.empty()) return;
  term.x = ops::sum(term.x, dims);
  term.labels = kept;
}

// `x` with the dimensions `order`, in that order; letters it lacks become size 1.
Tensor arranged(const Term& term, const Labels& order) {
  Dims dims;
  Labels present;
  for (const int label : order) {
    if (term.place(label) < 0) continue;
    dims.push_back(term.place(label));
    present.push_back(label);
  }
  Tensor x = ops::permute(term.x, dims);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i >= present.size() || present[i] != order[i]) {
      x = ops::unsqueeze(x, static_cast<int>(i));
      present.insert(present.begin() + static_cast<std::ptrdiff_t>(i), order[i]);
    }
  }
  return x;
}

Dims group_sizes(const Labels& labels, const Equation& equation) {
  Dims sizes;
  for (const int label : labels) sizes.push_back(equation.sizes[static_cast<std::size_t>(label)]);
  return sizes;
}

void append(Labels& to, const Labels& more) { to.append(more.begin(), more.end()); }

// One product: letters of both that are still needed are the batch, the others of both are summed over.
Term contract(const Term& a, const Term& b, const std::array<bool, kEllipsisEnd>& needed,
              const Equation& equation) {
  Labels batch;
  Labels rows;
  Labels inner;
  Labels columns;
  for (const int label : a.labels) {
    const bool shared = b.place(label) >= 0;
    (!shared ? rows : needed[static_cast<std::size_t>(label)] ? batch : inner).push_back(label);
  }
  for (const int label : b.labels) {
    if (a.place(label) < 0) columns.push_back(label);
  }
  Labels result = batch;
  append(result, rows);
  append(result, columns);
  if (inner.empty()) {
    return {arranged(a, result) * arranged(b, result), result};
  }
  Labels left = batch;
  append(left, rows);
  append(left, inner);
  Labels right = batch;
  append(right, inner);
  append(right, columns);
  const auto count = [&](const Labels& labels) { return count_elements(group_sizes(labels, equation)); };
  const auto wide = [&](const Term& term, const Labels& labels) {
    return ops::expand(arranged(term, labels), group_sizes(labels, equation));
  };
  const Tensor x = ops::reshape(wide(a, left), Dims{count(batch), count(rows), count(inner)});
  const Tensor y = ops::reshape(wide(b, right), Dims{count(batch), count(inner), count(columns)});
  return {ops::reshape(ops::matmul(x, y), group_sizes(result, equation)), result};
}

std::array<bool, kEllipsisEnd> needed_after(const Equation& equation, std::size_t done) {
  std::array<bool, kEllipsisEnd> needed{};
  for (const int label : equation.result) needed[static_cast<std::size_t>(label)] = true;
  for (std::size_t i = done; i < equation.operands.size(); ++i) {
    for (const int label : equation.operands[i]) needed[static_cast<std::size_t>(label)] = true;
  }
  return needed;
}

template <class T>
Equation equation_of(std::span<const T> inputs, const Attrs& attrs) {
  std::vector<Dims> shapes;
  for (const T& input : inputs) {
    if constexpr (std::is_same_v<T, Tensor>) {
      shapes.push_back(input.sizes());
    } else {
      shapes.push_back(input.sizes);
    }
  }
  if (shapes.empty()) throw OpError(ErrorKind::Value, "einsum: expects at least one operand");
  return parse(attrs.get<std::string>("equation"), shapes);
}

std::vector<TensorType> einsum_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const Equation equation = equation_of(inputs, attrs);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].dtype == inputs[0].dtype) continue;
    throw OpError(
        ErrorKind::DType,
        fmt::format("einsum: operands have dtypes {} and {}", name(inputs[0].dtype), name(inputs[i].dtype)),
        {0, static_cast<int>(i)});
  }
  return {rules::with_sizes(inputs[0], group_sizes(equation.result, equation))};
}

Tensors einsum_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const Equation equation = equation_of(inputs, attrs);
  Term result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Term term{inputs[i], equation.operands[i]};
    take_diagonals(term);
    auto needed = needed_after(equation, i + 1);
    if (i > 0) {
      for (const int label : result.labels) needed[static_cast<std::size_t>(label)] = true;
    }
    sum_unneeded(term, needed);
    result = i == 0 ? term : contract(result, term, needed_after(equation, i + 1), equation);
  }
  sum_unneeded(result, needed_after(equation, inputs.size()));
  const Tensor ordered = arranged(result, equation.result);
  return {ops::expand(ordered, group_sizes(equation.result, equation))};
}

}  // namespace

void add_einsum_op(OpTable& table) {
  table.add(
      {.signature = Signature::parse("einsum(equation: str, operands: tensors)"),
       .family = "linear algebra",
       .documentation =
           "A sum of products: letters name the dimensions of every operand, letters that the result lacks "
           "are "
           "summed over. \"ij,jk->ik\" is the matrix product; \"...\" stands for any dimensions.",
       .example =
           ">>> einsum(\"ij,ij->i\", [tensor([[1, 2], [3, 4]]), tensor([[1, 1], [2, 2]])]).tolist()\n[3, 14]",
       .infer = einsum_infer,
       .eager = einsum_body,
       .vjp = Rule<VjpFn>::none(kComposite),
       .jvp = Rule<JvpFn>::none(kComposite),
       .batch = Rule<BatchFn>::none(kComposite),
       .onnx = "Einsum"});
}

}  // namespace kiln
