// Runs the autograd functions of a program for ONNX Runtime: `kiln_functions program.kiln`, started by
// ort/library with the other end of a socket, on which it answers requests until the other side is gone.
#include <csignal>
#include <cstdio>
#include <optional>

#include "interpreter/vm/arguments.h"
#include "lang/diagnostic.h"
#include "onnx/export/constant_text.h"
#include "onnx/export/tensors.h"
#include "onnx/import/call.h"
#include "ort/frames.h"
#include "ort/program/model.h"
#include "tensor/error.h"
#include "tensor/host_view.h"

namespace kiln::ort {
namespace {

using interp::Value;

struct DlpackType {
  std::uint8_t code, bits;
  DType dtype;
};
constexpr DlpackType kTypes[] = {
    {6, 8, DType::Bool}, {1, 8, DType::U8},   {0, 8, DType::I8},    {0, 16, DType::I16}, {0, 32, DType::I32},
    {0, 64, DType::I64}, {2, 16, DType::F16}, {4, 16, DType::BF16}, {2, 32, DType::F32}, {2, 64, DType::F64}};

Tensor to_tensor(const WireTensor& given) {
  for (const DlpackType& each : kTypes) {
    if (each.code != given.code || each.bits != given.bits) continue;
    const std::vector<Dim> sizes(given.sizes.begin(), given.sizes.end());
    const Tensor made = Tensor::empty(sizes, each.dtype, Device());
    const WritableHostView elements(made);
    if (given.elements.size() != elements.byte_count())
      throw std::runtime_error("a tensor came with too few bytes");
    std::memcpy(elements.bytes(), given.elements.data(), given.elements.size());
    return made;
  }
  throw OpError(ErrorKind::Type, "there is no dtype for elements of " + std::to_string(given.bits) + " bits");
}

WireTensor to_wire(const Tensor& x) {
  WireTensor made;
  for (const DlpackType& each : kTypes) {
    if (each.dtype == x.dtype()) made.code = each.code, made.bits = each.bits;
  }
  for (const Dim& size : x.sizes()) made.sizes.push_back(size.fixed());
  const HostView elements(x, x.dtype());
  made.elements.assign(reinterpret_cast<const char*>(elements.bytes()), elements.byte_count());
  return made;
}

class Server {
 public:
  explicit Server(const std::string& program) : program_(program) {}

  // Runs the program, and answers how that went.
  bool start() {
    const std::string answer = guarded([this](Writer&) { functions_.emplace(program_); });
    send(kSocket, answer);
    return functions_.has_value();
  }

  std::string answer(const std::string& message) {
    return guarded([&](Writer& made) {
      Reader request(message);
      serve(request.get<Request>(), request, made);
    });
  }

 private:
  template <class Work>
  std::string guarded(const Work& work) {
    Writer made;
    made.put(Answer::Done);
    std::string failure;
    try {
      work(made);
      return made.bytes();
    } catch (const lang::UserError& error) {
      failure = lang::render(error.diagnostic());
    } catch (const OpError& error) {
      failure = error.message() + (error.help().empty() ? "" : "\nhelp: " + error.help());
    } catch (const std::exception& error) {
      failure = error.what();
    }
    return Writer().put(Answer::Error).text(failure).bytes();
  }

  void serve(Request what, Reader& request, Writer& made) {
    switch (what) {
      case Request::Model:
        return model(request, made);
      case Request::Addresses:
        return addresses(request, made);
      case Request::Forward:
        return forward(request, made);
      case Request::Backward:
        return backward(request, made);
      case Request::Free:
        return functions_->free(request.get<std::uint64_t>());
      case Request::Live:
        return static_cast<void>(made.put(std::uint64_t{functions_->live()}));
      case Request::Shapes:
        return shapes(request, made);
    }
    throw std::runtime_error("a request is of no known kind");
  }

  void model(Reader& request, Writer& made) {
    model_.emplace(*functions_, request.text());
    const std::size_t first = constants_.size();
    constants_.insert(constants_.end(), model_->constants().begin(), model_->constants().end());
    made.put(std::uint64_t{first}).put(std::uint64_t{model_->constants().size()});
    made.put(std::uint64_t{model_->names().size()});
    for (const auto& [name, infers_shape] : model_->names()) made.text(name).put(infers_shape);
  }

  void addresses(Reader& request, Writer& made) {
    if (!model_) throw std::runtime_error("no model was read");
    std::vector<std::int64_t> given;
    for (std::size_t k = 0; k < model_->constants().size(); ++k) given.push_back(request.get<std::int64_t>());
    made.text(model_->bytes(given));
    model_.reset();
  }

  Value value(Reader& request) {
    switch (request.get<Kind>()) {
      case Kind::None:
        return {};
      case Kind::Tensor:
        return Value(to_tensor(request.tensor()));
      case Kind::Constant:
        return functions_->constant(onnx::read_constant(request.text()), "an argument");
      case Kind::Kept:
        return constants_.at(request.get<std::uint64_t>());
    }
    throw std::runtime_error("an argument is of no known kind");
  }

  static void put_tensors(const std::vector<Tensor>& tensors, Writer& made) {
    made.put(std::uint64_t{tensors.size()});
    for (const Tensor& each : tensors) each ? made.tensor(to_wire(each)) : made.put(Kind::None);
  }

  void forward(Reader& request, Writer& made) {
    const std::string name = request.text();
    const bool is_training = request.get<bool>();
    std::vector<FunctionArgument> arguments(request.get<std::uint64_t>());
    for (FunctionArgument& each : arguments) {
      each.requires_grad = request.get<bool>();
      each.value = value(request);
    }
    const Functions::Forward done = functions_->forward(name, is_training, arguments);
    made.put(done.context);
    put_tensors(done.results, made);
  }

  void backward(Reader& request, Writer& made) {
    const auto context = request.get<std::uint64_t>();
    std::vector<Tensor> gradients(request.get<std::uint64_t>());
    for (Tensor& each : gradients) {
      const Value given = value(request);
      if (given.is(interp::Tag::Tensor)) each = given.as_tensor();
    }
    put_tensors(functions_->backward(context, gradients), made);
  }

  // A type is an element type of ONNX and sizes: numbers, or expressions of symbols.
  void shapes(Reader& request, Writer& made) {
    const std::string name = request.text();
    std::vector<std::string> constants(request.get<std::uint64_t>());
    for (std::string& each : constants) each = request.text();
    std::vector<jit::HookType> given(request.get<std::uint64_t>());
    for (jit::HookType& each : given) {
      each.dtype = onnx::dtype_of(static_cast<onnx::ElementType>(request.get<std::int64_t>()));
      for (auto rank = request.get<std::uint64_t>(); rank > 0; --rank) {
        const std::string text = request.text();
        const std::optional<Dim> size = Dim::parse(text);
        if (!size) throw std::runtime_error(name + " is given the size " + text + ", which it cannot read");
        each.sizes.push_back(*size);
      }
    }
    const std::vector<jit::HookType> told = functions_->shapes(name, constants, given);
    made.put(std::uint64_t{told.size()});
    for (const jit::HookType& each : told) {
      made.put(static_cast<std::int64_t>(onnx::element_type(each.dtype)))
          .put(std::uint64_t{each.sizes.size()});
      for (const Dim& size : each.sizes) made.text(size.text());
    }
  }

  std::string program_;
  std::optional<Functions> functions_;
  std::optional<PreparedModel> model_;
  std::vector<Value> constants_;  // of all models
};

}  // namespace
}  // namespace kiln::ort

int main(int count, char** arguments) {
  using namespace kiln::ort;
  if (count != 2) {
    std::fputs("kiln_functions: it takes a program, and is started by kiln_ort\n", stderr);
    return 2;
  }
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the process that calls
  try {
    Server server(arguments[1]);
    if (!server.start()) return 1;
    for (std::string message; receive(kSocket, message);) send(kSocket, server.answer(message));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kiln_functions: %s\n", error.what());
    return 1;
  }
  return 0;
}
