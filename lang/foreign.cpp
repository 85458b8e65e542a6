// What is called otherwise in Python, PyTorch, NumPy and JAX, so that a wrong name is answered by the right
// one.
#include <array>

#include "lang/diagnostic.h"

namespace kiln::lang {
namespace {

struct Name {
  std::string_view foreign;
  std::string_view here;
};

constexpr std::array kNames = std::to_array<Name>({
    {"None", "none"},
    {"null", "none"},
    {"nil", "none"},
    {"NULL", "none"},
    {"undefined", "none"},
    {"True", "true"},
    {"False", "false"},
    {"TRUE", "true"},
    {"FALSE", "false"},
    {"elif", "else if"},
    {"raise", "throw"},
    {"except", "catch"},
    {"Tensor", "tensor"},
    {"array", "tensor"},
    {"asarray", "tensor"},
    {"as_tensor", "tensor"},
    {"ndarray", "tensor"},
    {"float16", "f16"},
    {"bfloat16", "bf16"},
    {"float32", "f32"},
    {"float64", "f64"},
    {"int8", "i8"},
    {"int16", "i16"},
    {"int32", "i32"},
    {"int64", "i64"},
    {"uint8", "u8"},
    {"fabs", "abs"},
    {"power", "pow"},
    {"mod", "remainder"},
    {"expand_dims", "unsqueeze"},
    {"take_along_axis", "take_along_dim"},
    {"jacobian", "jacrev"},
    {"stop_gradient", "detach"},
    {"manual_seed", "seed"},
    {"permute_dims", "permute"},
    {"vectorize", "vmap"},
    {"swish", "silu"},
    {"bce_loss", "binary_cross_entropy"},
});

// What there is no other name for.
constexpr std::array kHelp = std::to_array<Name>({
    {"pass", "an empty block is written `{ }`"},
    {"this", "a method names its instance as its first parameter, `self`"},
    {"torch", "tensor functions need no module: `zeros(2, 3)`"},
    {"np", "tensor functions need no module: `zeros(2, 3)`"},
    {"numpy", "tensor functions need no module: `zeros(2, 3)`"},
    {"jnp", "tensor functions need no module: `zeros(2, 3)`"},
    {"jax", "tensor functions and transforms need no module: `grad(f)`, `zeros(2, 3)`"},
    {"F", "tensor functions need no module: `relu(x)`"},
    {"math", "these functions need no module: `sqrt(x)`, `pi`"},
    {"nn", "write `import nn` first"},
    {"optim", "write `import optim` first"},
    {"astype", "write `x.to(f64)`"},
    {"cuda", "write `x.to(\"cuda\")`"},
    {"mT", "write `x.transpose(-2, -1)`"},
    {"data", "write `x.detach()`, or work under `with no_grad() { … }`"},
    {"Exception", "name a kind of error, `throw ValueError(\"…\")`, or throw text, `throw \"…\"`"},
    {"RuntimeError", "name a kind of error, `throw ValueError(\"…\")`, or throw text, `throw \"…\"`"},
    {"append", "a tensor does not grow: `cat([x, y])`, or a list and `stack(list)`"},
});

}  // namespace

std::string foreign_name(std::string_view name) {
  for (const Name& each : kNames) {
    if (each.foreign == name) return "write `" + std::string(each.here) + "`";
  }
  for (const Name& each : kHelp) {
    if (each.foreign == name) return std::string(each.here);
  }
  return "";
}

}  // namespace kiln::lang
