#include "ort/library/runner.h"

#include <charconv>
#include <cstdio>
#include <utility>

#include "ort/library/program.h"
#include "ort/library/tensors.h"

namespace kiln::ort {
namespace {

constexpr const char* kTensorName = "dltensor";
constexpr const char* kContextName = "kiln.context";

struct Lock {
  PyGilState state = PyGILState_Ensure();
  ~Lock() { PyGILState_Release(state); }
};

// ---- Contexts ----

// What a program keeps from forward to backward; freed with the capsule that stands for it.
struct Context {
  std::shared_ptr<kiln_ort_program> program;
  std::uint64_t number = 0;  // 0: used
  bool has_holder = false;   // the capsule holds itself until backward
};

void free_context(PyObject* capsule) {
  auto* const context = static_cast<Context*>(PyCapsule_GetPointer(capsule, kContextName));
  try {
    if (context->number != 0) context->program->process.ask(Writer().put(Request::Free).put(context->number));
  } catch (const std::exception&) {  // the process has ended, and its contexts with it
  }
  delete context;
}

// In safe mode the runtime wants a context that someone else holds too.
PyObject* new_context(const std::shared_ptr<kiln_ort_program>& program, std::uint64_t number, bool is_safe) {
  PyObject* const capsule = PyCapsule_New(new Context{program, number, is_safe}, kContextName, free_context);
  if (is_safe) Py_IncRef(capsule);
  return capsule;
}

PyObject* none() {
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}

// ---- Arguments ----

bool is_a(PyObject* object, PyObject& type) { return PyObject_IsInstance(object, &type) == 1; }

std::string text_of(PyObject* object) {
  if (object == &_Py_NoneStruct) return "n";
  if (is_a(object, PyBool_Type)) return PyLong_AsLongLong(object) != 0 ? "b1" : "b0";
  if (is_a(object, PyLong_Type)) return "i" + std::to_string(PyLong_AsLongLong(object)) + ";";
  if (is_a(object, PyFloat_Type)) {
    char digits[64];
    const auto end =
        std::to_chars(digits, digits + sizeof digits, PyFloat_AsDouble(object), std::chars_format::hex);
    return "f" + std::string(digits, end.ptr) + ";";
  }
  if (!is_a(object, PyTuple_Type))
    throw std::runtime_error("an argument is an object of Python's, which Kiln does not know");
  std::string text = "t" + std::to_string(PyTuple_Size(object)) + ":";
  for (std::ptrdiff_t i = 0; i < PyTuple_Size(object); ++i) text += text_of(PyTuple_GetItem(object, i));
  return text;
}

const DLTensor& tensor_of(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kTensorName) == 0) throw std::runtime_error("a tensor is no DLPack capsule");
  return static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kTensorName))->dl_tensor;
}

void put_argument(PyObject* object, bool is_tensor, Writer& request) {
  if (is_tensor && object == &_Py_NoneStruct) {
    request.put(Kind::None);
  } else if (is_tensor) {
    request.tensor(to_wire(tensor_of(object)));
  } else if (PyCapsule_IsValid(object, kConstantName) != 0) {
    const auto number = reinterpret_cast<std::uint64_t>(PyCapsule_GetPointer(object, kConstantName)) - 1;
    request.put(Kind::Kept).put(number);
  } else {
    request.put(Kind::Constant).text(text_of(object));
  }
}

// ---- Results ----

void free_tensor(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kTensorName) == 0) return;  // whoever took it has renamed it
  auto* const tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kTensorName));
  tensor->deleter(tensor);
}

using Lent = std::vector<PyObject*>;  // tensors among the arguments, whose memory results may take

PyObject* result(Reader& answer, std::int64_t reuse, const Lent& lent) {
  if (answer.get<Kind>() == Kind::None) return none();
  const WireTensor tensor = answer.tensor();
  DLManagedTensor* const made =
      reuse < 0 ? to_dlpack(tensor) : write_over(tensor_of(lent.at(static_cast<std::size_t>(reuse))), tensor);
  return PyCapsule_New(made, kTensorName, free_tensor);
}

std::int64_t reused(const std::vector<std::int64_t>& reuse, std::size_t output) {
  return output < reuse.size() ? reuse[output] : -1;
}

// The runtime prints what it catches of a runner without its text.
[[noreturn]] void tell(const char* name, const char* body, const std::exception& error) {
  const std::string text = std::string(name) + "." + body + ": " + error.what();
  std::fprintf(stderr, "%s\n", text.c_str());
  throw std::runtime_error(text);
}

}  // namespace

std::vector<PyObject*> run_forward(const char* name, void*, const std::vector<std::int64_t>& requires_grads,
                                   const std::vector<std::int64_t>& is_tensor, bool is_training,
                                   const std::vector<std::int64_t>& reuse, const char*, bool is_safe,
                                   const std::vector<PyObject*>& arguments) {
  const Lock lock;
  try {
    const auto program = program_of(name);
    Writer request;
    request.put(Request::Forward).text(name).put(is_training).put(std::uint64_t{arguments.size()});
    Lent lent;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      request.put(requires_grads[i] != 0);
      put_argument(arguments[i], is_tensor[i] != 0, request);
      if (is_tensor[i] != 0) lent.push_back(arguments[i]);
    }
    const std::string told = program->process.ask(request);
    Reader answer(told);
    const auto context = answer.get<std::uint64_t>();
    std::vector<PyObject*> made{context != 0 ? new_context(program, context, is_safe) : none()};
    const auto count = answer.get<std::uint64_t>();
    for (std::size_t k = 0; k < count; ++k) made.push_back(result(answer, reused(reuse, k + 1), lent));
    return made;
  } catch (const std::exception& error) {
    tell(name, "forward", error);
  }
}

std::vector<PyObject*> run_backward(const char* name, void*, const std::vector<std::int64_t>&,
                                    const std::vector<std::int64_t>&, bool,
                                    const std::vector<std::int64_t>& reuse, const char*, bool,
                                    const std::vector<PyObject*>& arguments) {
  const Lock lock;
  try {
    if (PyCapsule_IsValid(arguments.at(0), kContextName) == 0)
      throw std::runtime_error("forward kept no context: none of its arguments needed a gradient");
    auto* const context = static_cast<Context*>(PyCapsule_GetPointer(arguments[0], kContextName));
    Writer request;
    request.put(Request::Backward).put(context->number).put(std::uint64_t{arguments.size() - 1});
    for (std::size_t k = 1; k < arguments.size(); ++k) put_argument(arguments[k], true, request);
    const std::string told = context->program->process.ask(request);
    context->number = 0;
    Reader answer(told);
    std::vector<PyObject*> made;
    const auto count = answer.get<std::uint64_t>();
    for (std::size_t i = 0; i < count; ++i) made.push_back(result(answer, reused(reuse, i), arguments));
    if (std::exchange(context->has_holder, false)) Py_DecRef(arguments[0]);
    return made;
  } catch (const std::exception& error) {
    tell(name, "backward", error);
  }
}

}  // namespace kiln::ort
