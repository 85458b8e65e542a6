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

constexpr std::string_view kTensorsNeedNoModule = "tensor functions need no module: `zeros(2, 3)`";
constexpr std::string_view kNumbersNeedNoModule = "these functions need no module: `sqrt(x)`, `pi`";
constexpr std::string_view kPlotsNeedNoModule = "`plot(y)`, `hist(x)` and `imshow(x)` need no module";
constexpr std::string_view kSystemNeedsNoModule =
    "files, folders and time need no module: `listdir(path)`, `exists(path)`, `time()`";

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
    {"length", "len"},
    {"println", "print"},
});

// What there is no other name for.
constexpr std::array kHelp = std::to_array<Name>({
    {"pass", "an empty block is written `{ }`"},
    {"this", "a method names its instance as its first parameter, `self`"},
    {"torch", kTensorsNeedNoModule},
    {"np", kTensorsNeedNoModule},
    {"numpy", kTensorsNeedNoModule},
    {"jnp", kTensorsNeedNoModule},
    {"jax", "tensor functions and transforms need no module: `grad(f)`, `zeros(2, 3)`"},
    {"F", "tensor functions need no module: `relu(x)`"},
    {"math", kNumbersNeedNoModule},
    {"plt", kPlotsNeedNoModule},
    {"tf", kTensorsNeedNoModule},
    {"help", "`?relu` at the prompt tells of a name, `doc(\"relu\")` gives it as text"},
    {"size", "the sizes of a tensor are `x.shape`, the length of a list is `len(xs)`"},
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

// Modules of Python, the longer names first.
constexpr std::array kModules = std::to_array<Name>({
    {"torch.nn.functional", kTensorsNeedNoModule},
    {"nn.functional", kTensorsNeedNoModule},
    {"torch.nn", "write `import nn`"},
    {"torch.optim", "write `import optim`"},
    {"torch.utils.data", "write `import data`"},
    {"torch", kTensorsNeedNoModule},
    {"numpy", kTensorsNeedNoModule},
    {"jax", kTensorsNeedNoModule},
    {"tensorflow", kTensorsNeedNoModule},
    {"math", kNumbersNeedNoModule},
    {"matplotlib", kPlotsNeedNoModule},
    {"os", kSystemNeedsNoModule},
    {"sys", kSystemNeedsNoModule},
    {"time", kSystemNeedsNoModule},
    {"pathlib", kSystemNeedsNoModule},
});

// Methods of lists, texts and dicts.
constexpr std::array kMethods = std::to_array<Name>({
    {"push", "write `xs.append(x)`"},
    {"push_back", "write `xs.append(x)`"},
    {"add", "write `xs.append(x)`"},
    {"length", "write `len(x)`"},
    {"size", "write `len(x)`"},
    {"contains", "write `x in xs`"},
    {"includes", "write `x in xs`"},
    {"has_key", "write `key in d`"},
    {"has", "write `key in d`"},
    {"trim", "write `text.strip()`"},
    {"indexOf", "write `x.index(item)`"},
    {"toUpperCase", "write `text.upper()`"},
    {"toLowerCase", "write `text.lower()`"},
    {"iteritems", "write `d.items()`"},
    {"slice", "write `x[a:b]`"},
    {"substring", "write `text[a:b]`"},
});

}  // namespace

std::string foreign_module(std::string_view name) {
  for (const Name& each : kModules) {
    const std::string_view rest = name.starts_with(each.foreign) ? name.substr(each.foreign.size()) : " ";
    if (rest.empty() || rest.front() == '.') return std::string(each.here);
  }
  return "";
}

std::string foreign_method(std::string_view name) {
  for (const Name& each : kMethods) {
    if (each.foreign == name) return std::string(each.here);
  }
  return "";
}

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
