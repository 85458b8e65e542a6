// Calls of kiln.h: arguments become values, and results what the caller can read.
#include "embed/exchange.h"
#include "embed/guarded.h"

using namespace kiln;
using embed::given;
using embed::guarded_in;
using interp::Tag;
using interp::Value;

namespace {

// Arguments of DLPack belong to the call. What no tensor has taken by its end is freed.
class LentArguments {
 public:
  explicit LentArguments(std::span<const kiln_argument> arguments) : left_(arguments) {}
  ~LentArguments() {
    for (const kiln_argument& each : left_) {
      if (each.kind == KILN_DLPACK) release(each.as.tensor);
      if (each.kind == KILN_DLPACK_VERSIONED) release(each.as.versioned);
    }
  }
  LentArguments(const LentArguments&) = delete;
  LentArguments& operator=(const LentArguments&) = delete;

  std::vector<Value> take() {
    std::vector<Value> values;
    values.reserve(left_.size());
    for (; !left_.empty(); left_ = left_.subspan(1)) values.push_back(value_of(left_.front()));
    return values;
  }

 private:
  template <class Managed>
  static void release(Managed* lent) {
    if (lent != nullptr && lent->deleter != nullptr) lent->deleter(lent);
  }
  static Value value_of(const kiln_argument& argument);
  std::span<const kiln_argument> left_;
};

Value LentArguments::value_of(const kiln_argument& argument) {
  const bool is_read_only = (argument.flags & KILN_READ_ONLY) != 0;
  switch (argument.kind) {
    case KILN_NONE:
      return {};
    case KILN_BOOL:
      return argument.as.integer != 0;
    case KILN_INT:
      return argument.as.integer;
    case KILN_FLOAT:
      return argument.as.number;
    case KILN_STRING:
      return std::string_view(&given(argument.as.text, "a text"), argument.size);
    case KILN_VALUE:
      return given(argument.as.value, "a value").value;
    case KILN_DLPACK:
      return embed::tensor_of(&given(argument.as.tensor, "a tensor"), is_read_only);
    case KILN_DLPACK_VERSIONED:
      return embed::tensor_of(&given(argument.as.versioned, "a tensor"), is_read_only);
    default:
      throw embed::WrongCall{"an argument is of the unknown kind " + std::to_string(argument.kind)};
  }
}

// The last `named_count` of the values have names.
Value called(kiln_session& session, const kiln_value* function, std::span<const Value> values,
             const char* const* names, std::size_t named_count) {
  if (named_count > values.size())
    throw embed::WrongCall{"named_count is larger than the count of arguments"};
  const std::size_t positional = values.size() - named_count;
  std::vector<interp::NamedArgument> named;
  for (std::size_t i = 0; i < named_count; ++i)
    named.push_back({&given(names[i], "a name"), values[positional + i]});
  return session.interpreter.call(given(function, "function").value, values.first(positional), named);
}

kiln_argument result_of(Value value) {
  kiln_argument result{};
  embed::Handle handle = embed::handle_of(std::move(value));
  result.kind = kiln_value_kind(handle.get());
  switch (result.kind) {
    case KILN_NONE:
      break;
    case KILN_BOOL:
    case KILN_INT:
      result.as.integer = handle->value.as_int();
      break;
    case KILN_FLOAT:
      result.as.number = handle->value.as_float();
      break;
    default:
      result.as.value = handle.release();
  }
  return result;
}

std::vector<Value> tensors_of(kiln_session& session, const Value& result) {
  if (result.is(Tag::Tensor)) return {result};
  if (result.is(Tag::Tuple) || result.is(Tag::List)) return session.interpreter.to_vector(result);
  throw embed::WrongCall{"the function gave " + interp::describe(result) +
                         "; kiln_function_call takes a tensor, or a tuple or list of them"};
}

void lend_all(const std::vector<Value>& from, DLManagedTensor** results) {
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

kiln_error* kiln_call(kiln_session* session, const kiln_value* function, const kiln_value* const* arguments,
                      std::size_t count, const char* const* names, std::size_t named_count,
                      kiln_value** result) {
  return guarded_in(session, [&](kiln_session& in) {
    const std::vector<Value> values = embed::values_of(arguments, count);
    Value made = called(in, function, values, names, named_count);
    if (result != nullptr) *result = embed::handle_of(std::move(made)).release();
  });
}

kiln_error* kiln_value_new(const kiln_argument* argument, kiln_value** value) {
  LentArguments lent({argument, argument != nullptr ? std::size_t{1} : 0});
  return embed::guarded(nullptr, [&] {
    kiln_value*& target = given(value, "value");
    given(argument, "argument");
    target = embed::handle_of(lent.take().front()).release();
  });
}

kiln_error* kiln_invoke(kiln_session* session, const kiln_value* function, const kiln_argument* arguments,
                        std::size_t count, const char* const* names, std::size_t named_count,
                        kiln_argument* result) {
  LentArguments lent({arguments, count});
  return guarded_in(session, [&](kiln_session& in) {
    const std::vector<Value> values = lent.take();
    kiln_argument made = result_of(called(in, function, values, names, named_count));
    given(result, "result") = made;
  });
}

kiln_error* kiln_function_call(kiln_session* session, const kiln_value* function,
                               DLManagedTensor* const* arguments, std::size_t count,
                               DLManagedTensor** results, std::size_t capacity, std::size_t* result_count) {
  std::vector<kiln_argument> described(count);
  for (std::size_t i = 0; i < count; ++i) {
    described[i].kind = KILN_DLPACK;
    described[i].as.tensor = arguments[i];
  }
  LentArguments lent(described);
  return guarded_in(session, [&](kiln_session& in) {
    std::size_t& made_count = given(result_count, "result_count");
    const std::vector<Value> values = lent.take();
    const std::vector<Value> made = tensors_of(in, called(in, function, values, nullptr, 0));
    if (made.size() > capacity)
      throw embed::WrongCall{"the function gave " + std::to_string(made.size()) +
                             " tensors, and there is room for " + std::to_string(capacity)};
    lend_all(made, results);
    made_count = made.size();
  });
}
