#include "repl/page/value_summary.h"

#include <fmt/format.h>

#include "interpreter/text/print_tensor.h"
#include "interpreter/values/natives.h"
#include "tensor/functions.h"

namespace kiln::repl {
namespace {

constexpr std::int64_t kFew = 8;  // elements that are shown as they are

}  // namespace

std::string value_summary(const Tensor& x) {
  const std::string summary = interp::tensor_summary(x);
  if (x.numel() == 0) return summary;
  if (x.numel() <= kFew) return summary + ": " + interp::inline_tensor(x, interp::print_options());
  const Tensor numbers = ops::to(x, DType::F64);
  return fmt::format("{}, from {:.4g} to {:.4g}, mean {:.4g}", summary, ops::amin(numbers).item_float(),
                     ops::amax(numbers).item_float(), ops::mean(numbers).item_float());
}

}  // namespace kiln::repl
