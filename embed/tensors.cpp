// Tensors of kiln.h, and calls of functions of tensors.
#include "embed/exchange.h"
#include "embed/guarded.h"

using namespace kiln;
using embed::given;
using embed::guarded;
using embed::guarded_in;
using interp::Tag;
using interp::Value;

namespace {

const Tensor& tensor_in(const kiln_value* value) {
  const Value& held = given(value, "tensor").value;
  if (!held.is(Tag::Tensor)) throw embed::WrongCall{"tensor is " + interp::describe(held)};
  return held.tensor();
}

// What was given to a call; what no tensor has taken by then is freed.
class Lent {
 public:
  Lent(DLManagedTensor* const* arguments, std::size_t count) : left_(arguments, arguments + count) {}
  ~Lent() {
    for (DLManagedTensor* const each : left_)
      if (each != nullptr && each->deleter != nullptr) each->deleter(each);
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  std::vector<Value> take() {
    std::vector<Value> values;
    for (DLManagedTensor*& each : left_) {
      values.emplace_back(embed::tensor_of(&given(each, "an argument")));
      each = nullptr;
    }
    return values;
  }

 private:
  std::vector<DLManagedTensor*> left_;
};

std::vector<Value> results_of(kiln_session& session, const Value& result) {
  if (result.is(Tag::Tensor)) return {result};
  if (result.is(Tag::Tuple) || result.is(Tag::List)) return session.interpreter.to_vector(result);
  throw embed::WrongCall{"the function gave " + interp::describe(result) +
                         "; kiln_function_call takes a tensor, or a tuple or list of them"};
}

void hand_over(const std::vector<Value>& from, DLManagedTensor** results) {
  std::size_t done = 0;
  try {
    for (const Value& each : from) {
      if (!each.is(Tag::Tensor))
        throw embed::WrongCall{"result " + std::to_string(done) + " is " + interp::describe(each)};
      results[done] = embed::lent_by(each.tensor());
      ++done;
    }
  } catch (...) {
    while (done-- > 0) results[done]->deleter(results[done]);
    throw;
  }
}

}  // namespace

kiln_error* kiln_tensor_from_dlpack(DLManagedTensor* lent, kiln_value** tensor) {
  return guarded(nullptr, [&] {
    kiln_value*& target = given(tensor, "tensor");
    target = embed::handle_of(embed::tensor_of(&given(lent, "given")));
  });
}

kiln_error* kiln_tensor_from_dlpack_versioned(DLManagedTensorVersioned* lent, kiln_value** tensor) {
  return guarded(nullptr, [&] {
    kiln_value*& target = given(tensor, "tensor");
    target = embed::handle_of(embed::tensor_of(&given(lent, "given")));
  });
}

kiln_error* kiln_tensor_to_dlpack(const kiln_value* tensor, DLManagedTensor** lent) {
  return guarded(nullptr, [&] { given(lent, "lent") = embed::lent_by(tensor_in(tensor)); });
}

kiln_error* kiln_tensor_to_dlpack_versioned(const kiln_value* tensor, DLManagedTensorVersioned** lent) {
  return guarded(nullptr, [&] { given(lent, "lent") = embed::lent_versioned_by(tensor_in(tensor)); });
}

kiln_error* kiln_function_call(kiln_session* session, const kiln_value* function,
                               DLManagedTensor* const* arguments, std::size_t count,
                               DLManagedTensor** results, std::size_t capacity, std::size_t* result_count) {
  return guarded_in(session, [&](kiln_session& in) {
    Lent lent(arguments, count);
    const std::vector<Value> values = lent.take();
    const Value result = in.interpreter.call(given(function, "function").value, values);
    const std::vector<Value> made = results_of(in, result);
    if (made.size() > capacity)
      throw embed::WrongCall{"the function gave " + std::to_string(made.size()) +
                             " tensors, and there is room for " + std::to_string(capacity)};
    hand_over(made, results);
    given(result_count, "result_count") = made.size();
  });
}
