#include "interpreter/host/onnx_program.h"

#include <algorithm>
#include <utility>

#include "interpreter/shadow.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/tables.h"

namespace kiln::interp {
namespace {

thread_local bool exporting = false;

using namespace host;
using Args = std::span<Value>;

Value is_in_onnx_export(Interpreter&, Args) { return exporting; }

Value onnx_register(Interpreter& interpreter, Args a) {
  shadow::leave();
  const std::string& name = text_argument(a[0], "name");
  auto& kept = interpreter.impl().file_objects;
  const auto at =
      std::find_if(kept.begin(), kept.end(), [&name](const auto& each) { return each.first == name; });
  if (at == kept.end()) {
    kept.emplace_back(name, a[1]);
  } else {
    at->second = a[1];
  }
  return a[1];
}

constexpr NativeDef kOnnxProgramNatives[] = {
    {"is_in_onnx_export()",
     "Is this call recorded by `export`? An `autograd` function may then skip what no model is to have, as a "
     "collective.\n>>> is_in_onnx_export()\nfalse",
     is_in_onnx_export},
    {"onnx_register(name, value)",
     "Keeps a value under a name that models of ONNX can tell, and gives it back: an argument of an "
     "`autograd` "
     "function that is no tensor, number, text or tuple is exported by this name, and looked up by it when "
     "the model runs.\n>>> onnx_register(\"sizes\", [1, 2])\n[1, 2]",
     onnx_register},
};

}  // namespace

namespace host {
ExportScope::ExportScope() : before_(std::exchange(exporting, true)) {}
ExportScope::~ExportScope() { exporting = before_; }
}  // namespace host

std::span<const NativeDef> onnx_program_natives() { return kOnnxProgramNatives; }

}  // namespace kiln::interp
