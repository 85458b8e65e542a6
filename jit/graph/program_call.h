// Owns what a program gave where it applied a function with a derivative of its own: its arguments and
// results in order, as far as they are no tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace kiln::jit {

struct HostTuple;

// An object of the program that a graph has no copy of: its type in words, the name under which the program
// keeps it for files ("" where it has none), and what it is the same as.
struct HostObject {
  std::string type;
  std::string registered;
  const void* identity = nullptr;
  friend bool operator==(const HostObject&, const HostObject&) = default;
};

// A whole number that follows the sizes of a call: what it was when the graph was made.
struct HostSize {
  std::int64_t was = 0;
  friend bool operator==(const HostSize&, const HostSize&) = default;
};

// A value that is no tensor. Monostate is `none`.
using HostValue =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, HostSize, HostTuple, HostObject>;
struct HostTuple {
  std::vector<HostValue> items;
  friend bool operator==(const HostTuple& a, const HostTuple& b);
};
inline bool operator==(const HostTuple& a, const HostTuple& b) { return a.items == b.items; }

// One of the places in a call; without a value the next tensor is there.
struct CallPlace {
  std::string name;  // of the parameter; empty for results
  std::optional<HostValue> value;
  friend bool operator==(const CallPlace&, const CallPlace&) = default;
};

// The shape of one tensor as a hook is given it and gives it, and its dtype.
struct HookType {
  Dims sizes;
  DType dtype = DType::F32;
};
// The node as hooks see it: attributes by name, in words of the language.
struct HookNode {
  std::string name;  // of the function, qualified
  std::vector<CallPlace> arguments;
};
// For each result, and for each argument's gradient, the place whose memory it takes, or -1.
struct AliasMaps {
  std::vector<std::int64_t> forward, backward;
};

struct ProgramCall {
  std::string qualified_name;  // module and name: "layers.Clip"
  std::vector<CallPlace> arguments;
  std::vector<CallPlace> results;
  std::vector<bool> requires_grads;  // by argument, when it was recorded
  // The program's own hooks; null where the function has none. They throw what the language raises.
  std::function<std::vector<HookType>(const HookNode&, const std::vector<HookType>&)> infer_shape;
  std::function<AliasMaps(const HookNode&)> alias_input;

  // The hooks belong to the function, which the name tells.
  friend bool operator==(const ProgramCall& a, const ProgramCall& b) {
    return a.qualified_name == b.qualified_name && a.arguments == b.arguments && a.results == b.results &&
           a.requires_grads == b.requires_grads;
  }
};

}  // namespace kiln::jit
