// einsum against the sum that the equation is, element by element; which order it takes; what it refuses.
#include <map>
#include <string>

#include "nd.h"
#include "tensor/autograd.h"
#include "tensor/ops/einsum_equation.h"
#include "tests/tensor/gradcheck.h"

namespace kiln::einsum_test {

using namespace kiln::test;

namespace {

// Letters only, with a "->"; a size of 1 broadcasts.
Nd reference(const std::string& equation, const std::vector<Nd>& operands) {
  std::vector<std::string> parts;
  const std::size_t arrow = equation.find("->");
  std::string part;
  for (const char c : equation.substr(0, arrow) + ",") {
    if (c == ',') parts.push_back(std::exchange(part, ""));
    if (c != ',') part += c;
  }
  const std::string result = equation.substr(arrow + 2);
  std::map<char, std::int64_t> sizes;
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t d = 0; d < parts[i].size(); ++d)
      sizes[parts[i][d]] = std::max<std::int64_t>(sizes[parts[i][d]], operands[i].sizes[d]);
  std::string letters = result;
  for (const auto& [letter, size] : sizes)
    if (result.find(letter) == std::string::npos) letters += letter;
  Dims all, kept;
  for (const char letter : letters) all.push_back(sizes[letter]);
  for (const char letter : result) kept.push_back(sizes[letter]);
  Nd sum = build(kept, [](const IntDims&) { return 0.0; });
  for_each_index(all, [&](const IntDims& index) {
    double product = 1;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Dims at;
      for (std::size_t d = 0; d < parts[i].size(); ++d)
        at.push_back(operands[i].sizes[d] == 1 ? 0 : index[letters.find(parts[i][d])]);
      product *= operands[i].at(at);
    }
    sum.at(Dims(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(result.size()))) += product;
  });
  return sum;
}

Nd small(const Dims& sizes, unsigned seed) {
  Nd array = sample(sizes, seed);
  for (double& value : array.values) value = static_cast<double>(static_cast<int>(value) % 3 - 1);
  return array;
}

Tensor run(const std::string& equation, const std::vector<Tensor>& operands) {
  const Op& op = OpTable::get().at("einsum");
  Attrs attrs(op);
  attrs.set("equation", equation);
  return kiln::bind(op, operands, attrs)[0];
}

struct Case {
  const char* equation;
  std::vector<Dims> shapes;
};
const Case kCases[] = {
    {"ij->ij", {{3, 4}}},
    {"ij->ji", {{3, 4}}},
    {"ij->j", {{3, 4}}},
    {"ij->", {{3, 4}}},
    {"i->i", {{0}}},
    {"i->", {{0}}},
    {"ii->i", {{4, 4}}},
    {"ii->", {{4, 4}}},
    {"iij->ij", {{3, 3, 2}}},
    {"ijij->ji", {{2, 3, 2, 3}}},
    {"iii->i", {{3, 3, 3}}},
    {"i,i->i", {{4}, {4}}},
    {"i,i->", {{4}, {4}}},
    {"i,j->ij", {{3}, {4}}},
    {"i,j->", {{3}, {4}}},
    {"ij,jk->ik", {{3, 4}, {4, 2}}},
    {"ij,jk->ki", {{3, 4}, {4, 2}}},
    {"ij,kj->ik", {{3, 4}, {2, 4}}},
    {"ji,jk->ik", {{4, 3}, {4, 2}}},
    {"ij,j->i", {{3, 4}, {4}}},
    {"j,ij->i", {{4}, {3, 4}}},
    {"ij,ij->ij", {{3, 4}, {3, 4}}},
    {"ij,ji->ij", {{3, 4}, {4, 3}}},
    {"ij,ij->", {{3, 4}, {3, 4}}},
    {"ij,kl->ijkl", {{2, 3}, {2, 2}}},
    {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 2}}},
    {"bij,jk->bik", {{2, 3, 4}, {4, 2}}},
    {"bij,bkj->bik", {{2, 3, 4}, {2, 5, 4}}},
    {"ibj,bjk->kbi", {{3, 2, 4}, {2, 4, 2}}},
    {"abcd,abed->abce", {{2, 2, 3, 4}, {2, 2, 5, 4}}},
    {"abc,acd,ad->ab", {{2, 3, 4}, {2, 4, 2}, {2, 2}}},
    {"ij,jk,kl->il", {{3, 4}, {4, 2}, {2, 5}}},
    {"ij,jk,kl,lm->im", {{3, 4}, {4, 2}, {2, 5}, {5, 3}}},
    {"ij,jk,ki->", {{3, 4}, {4, 2}, {2, 3}}},
    {"i,i,i->i", {{3}, {3}, {3}}},
    {"bn,anm,bm->ba", {{2, 3}, {4, 3, 5}, {2, 5}}},
    {"ia,jb,kc,abc->ijk", {{3, 2}, {3, 2}, {3, 2}, {2, 2, 2}}},
    {"ab,bc,cd,de,ef,fg,gh,hi->ai", {{2, 3}, {3, 2}, {2, 2}, {2, 3}, {3, 2}, {2, 2}, {2, 2}, {2, 3}}},
    {"a,b,c,d,e,f,g->aceg", {{2}, {2}, {2}, {2}, {2}, {2}, {2}}},
    {"iij,jkk->ik", {{3, 3, 2}, {2, 4, 4}}},
    {"ij,jk->ik", {{3, 1}, {4, 2}}},
    {"ij,jk->ik", {{3, 4}, {1, 2}}},
    {"ij,ij->ij", {{1, 4}, {3, 1}}},
    {"ij,ij->i", {{1, 4}, {3, 1}}},
    {"ij,ik->jk", {{1, 4}, {3, 2}}},
    {"ij,jk->ik", {{3, 0}, {0, 2}}},
    {"ij,jk->ik", {{0, 3}, {3, 2}}},
    {",ij->ij", {{}, {2, 3}}},
    {"->", {{}}},
    {"Aa,aB->AB", {{2, 3}, {3, 2}}},
};

}  // namespace

TEST_CASE("einsum is the sum that its equation says", "[einsum]") {
  for (const auto& [equation, shapes] : kCases) {
    std::vector<Nd> arrays;
    for (const Dims& sizes : shapes) arrays.push_back(small(sizes, static_cast<unsigned>(arrays.size()) + 1));
    const Nd expected = reference(equation, arrays);
    for (const DType dtype : {DType::F32, DType::F64, DType::BF16, DType::I32, DType::I64}) {
      for (const Lay lay : kLays) {
        CAPTURE(equation, name(dtype), static_cast<int>(lay));
        std::vector<Tensor> operands;
        for (const Nd& array : arrays) operands.push_back(laid_out(tensor_of(array, dtype), lay));
        const Tensor result = run(equation, operands);
        check_equal(result, expected);
        std::vector<TensorType> types;
        for (const Tensor& operand : operands) types.push_back(operand.type());
        const Op& op = OpTable::get().at("einsum");
        Attrs attrs(op);
        attrs.set("equation", std::string(equation));
        CHECK(op.infer(types, attrs)[0] == result.type());
      }
    }
  }
}

TEST_CASE("einsum's ellipsis stands for dimensions that broadcast", "[einsum]") {
  const auto agree = [](const char* equation, const char* letters, const std::vector<Dims>& shapes) {
    CAPTURE(equation);
    std::vector<Nd> arrays;
    std::vector<Tensor> operands;
    for (const Dims& sizes : shapes) {
      arrays.push_back(small(sizes, static_cast<unsigned>(arrays.size()) + 1));
      operands.push_back(tensor_of(arrays.back()));
    }
    check_equal(run(equation, operands), reference(letters, arrays));
  };
  agree("...ij,...jk->...ik", "abij,abjk->abik", {{2, 3, 2, 4}, {2, 3, 4, 2}});
  agree("...ij,...jk", "abij,abjk->abik", {{2, 1, 2, 4}, {1, 3, 4, 2}});
  agree("...ij,jk->...ik", "abij,jk->abik", {{2, 3, 2, 4}, {4, 2}});
  agree("...a,a...->...a", "xa,ayx->yxa", {{2, 3}, {3, 5, 2}});
  agree("i...->...", "iab->ab", {{3, 2, 4}});
  agree("...->", "ab->", {{3, 2}});
  agree("i...i->...", "iabi->ab", {{3, 2, 4, 3}});
  agree(" i j , j k -> i k ", "ij,jk->ik", {{3, 4}, {4, 2}});
  agree("ba,cb", "ba,cb->ac", {{3, 4}, {2, 3}});
  agree("aB,bB", "aB,bB->ab", {{3, 4}, {2, 4}});
}

TEST_CASE("einsum has gradients to the second order", "[einsum]") {
  for (const auto& [equation, shapes] : kCases) {
    std::vector<Tensor> operands;
    int seed = 0;
    for (const Dims& sizes : shapes) operands.push_back(gradients::scattered(sizes, -1, 1, ++seed));
    CAPTURE(equation);
    const std::string difference = gradients::compare_gradients(
        [&](const std::vector<Tensor>& inputs) { return std::vector<Tensor>{run(equation, inputs)}; },
        operands, operands.size() < 4 ? 2 : 1);
    CHECK(difference == "");
  }
}

TEST_CASE("einsum multiplies in the cheapest order", "[einsum]") {
  using namespace kiln::einsum;
  Sizes sizes{};
  sizes.fill(1);
  const auto set = [](const char* letters) {
    LabelSet result = 0;
    for (; *letters != 0; ++letters) result |= bit(*letters - 'a');
    return result;
  };
  const auto order = [&](std::initializer_list<const char*> terms, const char* result) {
    std::vector<LabelSet> sets;
    for (const char* term : terms) sets.push_back(set(term));
    std::string text;
    for (const auto& [left, right] : contraction_order(sets, set(result), sizes))
      text += std::to_string(left) + "*" + std::to_string(right) + " ";
    return text;
  };
  sizes[0] = 10, sizes[1] = 1000, sizes[2] = 5, sizes[3] = 100;
  CHECK(order({"ab", "bc", "cd"}, "ad") == "0*1 3*2 ");
  CHECK(order({"dc", "cb", "ba"}, "da") == "1*2 0*3 ");  // from the right
  CHECK(order({"ab", "bc", "cd", "d"}, "a") == "2*3 1*4 0*5 ");
  CHECK(order({"a", "b", "a"}, "") == "0*2 3*1 ");                          // never the outer product
  CHECK(order({"ab", "bc", "ca", "ab", "bc", "ca", "d"}, "d").size() > 0);  // more than the search takes
  CHECK(order({"ab"}, "a").empty());
}

TEST_CASE("einsum says what is wrong with an equation", "[einsum]") {
  const Tensor x = ops::ones(Dims{2, 3}, DType::F32);
  const auto says = [&](const char* equation, const std::vector<Tensor>& operands) {
    const std::string text = error_of([&] { run(equation, operands); }, ErrorKind::Value);
    const std::string quoted = std::string("einsum: \"") + equation + "\": ";
    return text.starts_with(quoted) ? text.substr(quoted.size()) : text;
  };
  CHECK(says("ij,jk", {x}) == "names 2 operands, given is 1");
  CHECK(says("ij", {x, x}) == "names 1 operand, given are 2");
  CHECK(says("ij->ik", {x}) == "the result names 'k', which no operand has");
  CHECK(says("ij->ii", {x}) == "the result names 'i' twice");
  CHECK(says("i.j", {x}) == "'.' stands only in one \"...\" per operand");
  CHECK(says("......ij", {x}) == "'.' stands only in one \"...\" per operand");
  CHECK(says("i1->i", {x}) == "'1' is not a letter");
  CHECK(says("ij->i->j", {x}) == "'-' is not a letter");
  CHECK(says("i", {x}) == "operand 0 has 2 dimensions, \"i\" names 1");
  CHECK(says("ijk...", {x}) == "operand 0 has 2 dimensions, \"ijk...\" names 3");
  CHECK(says("ii", {x}) == "'i' has sizes 2 and 3 in operand 0");
  CHECK(says("ii", {ops::ones(Dims{1, 3})}) == "'i' has sizes 1 and 3 in operand 0");
  CHECK(says("ij,ij->", {x, ops::ones(Dims{2, 4})}) == "'j' has size 3 in operand 0 and 4 in operand 1");
  CHECK(says("...,...", {x, ops::ones(Dims{2, 4})}) ==
        "a dimension of \"...\" has size 3 in operand 0 and 4 in operand 1");
  CHECK(error_of([&] { run("", {}); }, ErrorKind::Value) == "einsum: expects at least one operand");
  CHECK(error_of([&] { run("ij,ij", {x, ops::to(x, DType::F64)}); }, ErrorKind::DType) ==
        "einsum: operands have dtypes f32 and f64");
  CHECK(error_of([&] { run("ij,ij", {ops::to(x, DType::Bool), ops::to(x, DType::Bool)}); },
                 ErrorKind::DType) == "einsum: bool has no product");
}

}  // namespace kiln::einsum_test
