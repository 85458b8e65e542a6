// Sums of products by Einstein's convention, as matrix products over permuted operands.
#include <fmt/format.h>

#include <algorithm>

#include "tensor/onnx/rules.h"
#include "tensor/ops/complex_rules.h"
#include "tensor/ops/einsum_equation.h"
#include "tensor/ops/linalg.h"

namespace kiln {

namespace {

using namespace einsum;

// An operand while the sum is worked out.
struct Term {
  Tensor x;
  Labels labels;

  int place(int label) const {
    const auto* found = std::find(labels.begin(), labels.end(), label);
    return found == labels.end() ? -1 : static_cast<int>(found - labels.begin());
  }
  bool has(int label) const { return place(label) >= 0; }
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

// Where an operand has size 1 and another more, it is a factor like any other.
void drop_broadcast(Term& term, const Sizes& sizes) {
  Dims dims;
  Labels kept;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (term.x.size(static_cast<int>(i)) == sizes[static_cast<std::size_t>(term.labels[i])]) {
      kept.push_back(term.labels[i]);
    } else {
      dims.push_back(static_cast<Dim>(i));
    }
  }
  if (dims.empty()) return;
  term.x = ops::squeeze(term.x, dims);
  term.labels = kept;
}

// Sums over the labels that nothing else needs.
void sum_unneeded(Term& term, LabelSet needed, DType dtype) {
  Dims dims;
  Labels kept;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if ((needed & bit(term.labels[i])) != 0) {
      kept.push_back(term.labels[i]);
    } else {
      dims.push_back(static_cast<Dim>(i));
    }
  }
  if (dims.empty()) return;
  term.x = ops::to(ops::sum(term.x, dims), dtype);
  term.labels = kept;
}

// `x` with the dimensions `order`, in that order; labels it lacks become size 1.
Tensor arranged(const Term& term, const Labels& order) {
  Dims dims;
  for (const int label : order)
    if (term.has(label)) dims.push_back(term.place(label));
  Tensor x = term.x;
  if (!std::is_sorted(dims.begin(), dims.end())) x = ops::permute(x, dims);
  for (std::size_t i = 0; i < order.size(); ++i)
    if (!term.has(order[i])) x = ops::unsqueeze(x, static_cast<int>(i));
  return x;
}

Labels joined(std::initializer_list<const Labels*> parts) {
  Labels all;
  for (const Labels* part : parts) all.append(part->begin(), part->end());
  return all;
}

// `term` as a batch of matrices whose dimensions are groups of labels.
Tensor as_matrices(const Term& term, const Labels& batch, const Labels& rows, const Labels& columns,
                   const Equation& equation) {
  const auto count = [&](const Labels& labels) { return count_elements(equation.sizes_of(labels)); };
  return ops::reshape(arranged(term, joined({&batch, &rows, &columns})),
                      Dims{count(batch), count(rows), count(columns)});
}

// One product: labels of both that are still needed are the batch, the others of both are summed over.
Term contract(const Term& a, const Term& b, LabelSet needed, const Equation& equation) {
  Labels batch, rows, inner, columns;
  for (const int label : a.labels)
    (!b.has(label) ? rows : (needed & bit(label)) != 0 ? batch : inner).push_back(label);
  for (const int label : b.labels)
    if (!a.has(label)) columns.push_back(label);
  const Labels result = joined({&batch, &rows, &columns});
  if (inner.empty()) return {arranged(a, result) * arranged(b, result), result};
  const Tensor product = ops::matmul(as_matrices(a, batch, rows, inner, equation),
                                     as_matrices(b, batch, inner, columns, equation));
  return {ops::reshape(product, equation.sizes_of(result)), result};
}

Equation equation_of(std::span<const Dims> shapes, const Attrs& attrs) {
  if (shapes.empty()) throw OpError(ErrorKind::Value, "einsum: expects at least one operand");
  return parse_equation(attrs.get<std::string>("equation"), shapes);
}

// One operand alone is summed as by `sum`: integers become i64.
DType result_dtype(const Equation& equation, DType dtype) {
  const bool sums = set_of(equation.operands[0]) != set_of(equation.result);
  return equation.operands.size() == 1 && sums && !is_float(dtype) ? DType::I64 : dtype;
}

std::vector<TensorType> einsum_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  std::vector<Dims> shapes;
  for (const TensorType& input : inputs) shapes.push_back(input.sizes);
  const Equation equation = equation_of(shapes, attrs);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].dtype == inputs[0].dtype) continue;
    throw OpError(
        ErrorKind::DType,
        fmt::format("einsum: operands have dtypes {} and {}", name(inputs[0].dtype), name(inputs[i].dtype)),
        {0, static_cast<int>(i)},
        fmt::format("convert one with `.to({})`", name(promote(inputs[0].dtype, inputs[i].dtype))));
  }
  if (inputs.size() > 1 && inputs[0].dtype == DType::Bool) {
    throw OpError(ErrorKind::DType, "einsum: bool has no product", {0},
                  "convert the operands with `.to(i64)` or `.to(f32)`");
  }
  return {{result_dtype(equation, inputs[0].dtype), inputs[0].device, equation.sizes_of(equation.result)}};
}

Tensors einsum_body(const Op&, Inputs inputs, const Attrs& attrs) {
  std::vector<Dims> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.sizes());
  const Equation equation = equation_of(shapes, attrs);
  const DType dtype = result_dtype(equation, inputs[0].dtype());
  const LabelSet result = set_of(equation.result);
  std::vector<Term> terms;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    terms.push_back({inputs[i], equation.operands[i]});
    take_diagonals(terms.back());
    drop_broadcast(terms.back(), equation.sizes);
  }
  std::vector<LabelSet> sets;
  for (const Term& term : terms) sets.push_back(set_of(term.labels));
  const auto needed_beside = [&](std::size_t a, std::size_t b) {
    LabelSet needed = result;
    for (std::size_t i = 0; i < sets.size(); ++i)
      if (i != a && i != b) needed |= sets[i];
    return needed;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    sum_unneeded(terms[i], needed_beside(i, i), dtype);
    sets[i] = set_of(terms[i].labels);
  }
  for (const auto& [left, right] : contraction_order(sets, result, equation.sizes)) {
    const auto a = static_cast<std::size_t>(left), b = static_cast<std::size_t>(right);
    terms.push_back(contract(terms[a], terms[b], needed_beside(a, b), equation));
    sets[a] = sets[b] = 0;
    sets.push_back(set_of(terms.back().labels));
    terms[a] = terms[b] = {};
  }
  return {arranged(terms.back(), equation.result)};
}

}  // namespace

void add_einsum_op(OpTable& table) {
  table.add(
      {.signature = Signature::parse("einsum(equation: str, operands: tensors)"),
       .family = linalg::kFamily,
       .documentation =
           "A sum of products: letters name the dimensions of every operand, letters that the result lacks "
           "are summed over. \"ij,jk->ik\" is the matrix product, \"ii->i\" a diagonal; \"...\" stands for "
           "any "
           "dimensions, which broadcast. Several operands are multiplied in the order that takes the fewest "
           "multiplications.",
       .example =
           ">>> einsum(\"ij,ij->i\", tensor([[1, 2], [3, 4]]), tensor([[1, 1], [2, 2]])).tolist()\n[3, 14]",
       .infer = einsum_infer,
       .decompose = einsum_body,
       .vjp = Rule<VjpFn>::none(kComposite),
       .jvp = Rule<JvpFn>::none(kComposite),
       .batch = Rule<BatchFn>::none(kComposite),
       .traits = kLowPrecision,
       .onnx = onnx_rules::einsum,
       .complex = complex_rules::multilinear});
}

}  // namespace kiln
