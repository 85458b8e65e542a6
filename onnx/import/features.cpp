// Operators of ai.onnx.ml on tables of numbers: features chosen, scaled and encoded, and linear models.
#include <cmath>

#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

constexpr std::string_view kDomain = "ai.onnx.ml";

// Numbers of an attribute; absent when it is not given.
Tensor reals(Call& call, std::string_view name) {
  const std::optional<std::vector<float>> given = call.reals(name);
  return given && !given->empty() ? real_numbers(*given) : Tensor();
}
Tensor wholes(Call& call, std::string_view name) {
  const AttributeProto* given = call.attribute(name);
  return given != nullptr && !given->ints.empty() ? whole_numbers(given->ints) : Tensor();
}

void refuse_strings(Call& call, std::initializer_list<std::string_view> names) {
  for (const std::string_view each : names) {
    if (!call.words(each).empty())
      call.refuse("has strings in '" + std::string(each) + "', and Kiln has no tensors of strings");
  }
}

// ---- Features ----

Values array_feature_extractor(Call& call) {
  const Tensor x = call.x(0), places = call.x(1);
  const Tensor taken = ops::index_select(x, x.rank() - 1, ops::reshape(places, Dims{places.numel()}));
  return {x.rank() == 1 ? ops::unsqueeze(taken, 0) : taken};
}

Values binarizer(Call& call) {
  const Tensor x = call.x(0);
  return {ops::to(ops::gt(x, scalar(call.real("threshold", 0), x.dtype())), x.dtype())};
}

Values scaler(Call& call) {
  Tensor x = ops::to(call.x(0), DType::F32);
  if (const Tensor offset = reals(call, "offset")) x = x - offset;
  if (const Tensor scale = reals(call, "scale")) x = x * scale;
  return {x};
}

// Rows divided by their largest element, or the root of their squares' sum; a row of zeros stays.
Values normalizer(Call& call) {
  const Tensor x = ops::to(call.x(0), DType::F32);
  const Dims last{x.rank() - 1};
  const std::string norm = call.word("norm", "MAX");
  Tensor divisor;
  if (norm == "MAX") divisor = ops::amax(x, last, true);
  if (norm == "L1") divisor = ops::sum(ops::abs(x), last, true);
  if (norm == "L2") divisor = ops::sqrt(ops::sum(x * x, last, true));
  if (!divisor) call.refuse("has the unknown norm " + norm);
  const Tensor is_zero = ops::eq(divisor, scalar(0, DType::F32));
  return {x / ops::where(is_zero, scalar(1, DType::F32), divisor)};
}

Values imputer(Call& call) {
  const Tensor x = call.x(0);
  const bool is_real = is_float(x.dtype());
  const Tensor put = is_real ? reals(call, "imputed_value_floats") : wholes(call, "imputed_value_int64s");
  if (!put) call.refuse("says no values of the dtype of its input");
  const double replaced = call.real("replaced_value_float", 0);
  const Tensor missing = !is_real ? ops::eq(x, Tensor::number(call.integer("replaced_value_int64", 0)))
                         : std::isnan(replaced) ? ops::isnan(x)
                                                : ops::eq(x, scalar(replaced, x.dtype()));
  return {ops::where(missing, ops::to(put, x.dtype()), x)};
}

Values feature_vectorizer(Call& call) {
  std::vector<Tensor> parts;
  for (const Tensor& each : call.tensors()) {
    const Tensor x = ops::to(each, DType::F32);
    parts.push_back(x.rank() == 1 ? ops::unsqueeze(x, 0) : ops::reshape(x, Dims{x.size(0), -1}));
  }
  return {ops::cat(parts, 1)};
}

// A number for each category: 1 for that of the element. An unknown one gives zeros.
Values one_hot_encoder(Call& call) {
  refuse_strings(call, {"cats_strings"});
  const Tensor categories = wholes(call, "cats_int64s");
  if (!categories) call.refuse("has no categories");
  if (call.integer("zeros", 1) == 0)
    call.refuse("fails on unknown categories (zeros=0), which no graph does");
  const Tensor x = ops::to(call.x(0), DType::I64);
  return {ops::to(ops::eq(ops::unsqueeze(x, x.rank()), categories), DType::F32)};
}

// Keys or values of an encoder, of whichever type the model has them.
Tensor column(Call& call, const std::string& name) {
  refuse_strings(call, {name + "_strings"});
  if (const Tensor table = call.tensor(name + "_tensor")) return ops::reshape(table, Dims{table.numel()});
  const Tensor numbers = reals(call, name + "_floats");
  return numbers ? numbers : wholes(call, name + "_int64s");
}

Values label_encoder(Call& call) {
  const Tensor keys = column(call, "keys"), values = column(call, "values"), x = call.x(0);
  if (!keys || !values) call.refuse("has no keys or no values");
  if (keys.dtype() != x.dtype())
    call.refuse("has keys of another dtype than its input, " + to_string(x.type()));
  Tensor otherwise = call.tensor("default_tensor");
  if (otherwise) otherwise = ops::reshape(otherwise, {});
  if (!otherwise)
    otherwise = is_float(values.dtype())
                    ? scalar(call.real("default_float", -0.0), values.dtype())
                    : ops::full({}, Tensor::number(call.integer("default_int64", -1)), values.dtype());
  Tensor same = ops::eq(ops::unsqueeze(x, x.rank()), keys);
  if (is_float(keys.dtype()))  // a nan is the key nan
    same = ops::logical_or(same, ops::logical_and(ops::isnan(ops::unsqueeze(x, x.rank())), ops::isnan(keys)));
  const Dims last{x.rank()};
  const Tensor hits = ops::to(same, DType::I64);
  const Tensor place = apply("argmax", {hits}, {{"dim", Dim(x.rank())}});
  const Tensor flat = ops::reshape(place, Dims{place.numel()});
  const Tensor found = ops::reshape(ops::index_select(values, 0, flat), place.sizes());
  return {ops::where(ops::eq(ops::amax(hits, last), Tensor::number(std::int64_t{0})), otherwise, found)};
}

// ---- Linear models ----

Tensor transformed(Call& call, const Tensor& scores) {
  const std::string name = call.word("post_transform", "NONE");
  if (name == "NONE") return scores;
  if (name == "LOGISTIC") return ops::sigmoid(scores);
  if (name == "SOFTMAX") return ops::softmax(scores, scores.rank() - 1);
  call.refuse("has the transform " + name + " of its scores, which Kiln does not know");
}

// [n, targets]
Tensor linear_scores(Call& call, const Tensor& x, Dim targets) {
  const Tensor coefficients = reals(call, "coefficients");
  if (!coefficients) call.refuse("has no coefficients");
  const Tensor matrix = ops::to(ops::reshape(coefficients, Dims{targets, -1}), x.dtype());
  const Tensor scores = ops::matmul(x, ops::transpose(matrix, 0, 1));
  const Tensor intercepts = reals(call, "intercepts");
  return intercepts ? scores + ops::to(intercepts, x.dtype()) : scores;
}

Tensor as_table(const Tensor& x) { return x.rank() == 1 ? ops::unsqueeze(x, 0) : x; }

Values linear_regressor(Call& call) {
  const Tensor x = ops::to(as_table(call.x(0)), DType::F32);
  return {transformed(call, linear_scores(call, x, call.integer("targets", 1)))};
}

// The label of the largest score, and the scores. A single row of coefficients of two classes is that of the
// second class.
Values linear_classifier(Call& call) {
  refuse_strings(call, {"classlabels_strings"});
  const Tensor labels = wholes(call, "classlabels_ints");
  if (!labels || labels.numel() < 2) call.refuse("has less than two labels that are whole numbers");
  const Tensor x = ops::to(as_table(call.x(0)), DType::F32);
  const Dim columns = x.size(1), classes = labels.numel();
  const Dim rows = floor_div(reals(call, "coefficients").numel(), columns);
  Tensor scores = linear_scores(call, x, rows);
  if (rows == 1 && classes == 2) {
    const Tensor both[] = {-scores, scores};
    scores = ops::cat(both, 1);
  }
  scores = transformed(call, scores);
  const Tensor best = apply("argmax", {scores}, {{"dim", Dim(1)}});
  return {ops::index_select(labels, 0, best), scores};
}

constexpr Operator kFeaturesOperators[] = {
    {"ArrayFeatureExtractor", array_feature_extractor, kDomain},
    {"Binarizer", binarizer, kDomain},
    {"FeatureVectorizer", feature_vectorizer, kDomain},
    {"Imputer", imputer, kDomain},
    {"LabelEncoder", label_encoder, kDomain},
    {"LinearClassifier", linear_classifier, kDomain},
    {"LinearRegressor", linear_regressor, kDomain},
    {"Normalizer", normalizer, kDomain},
    {"OneHotEncoder", one_hot_encoder, kDomain},
    {"Scaler", scaler, kDomain},
};

}  // namespace

std::span<const Operator> feature_operators() { return kFeaturesOperators; }

}  // namespace kiln::onnx
