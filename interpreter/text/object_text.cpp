#include "interpreter/text/object_text.h"

#include <fmt/format.h>

#include "interpreter/text/print_tensor.h"
#include "interpreter/values/graph_value.h"
#include "interpreter/values/natives.h"
#include "interpreter/values/unknown.h"
#include "jit/graph/text.h"

namespace kiln::interp {
namespace {

// Within other values; alone a graph is its text.
std::string short_graph(const jit::Graph& graph) {
  return fmt::format("graph {} {} of {} node{}", jit::name(graph.stage), graph.name, graph.nodes.size(),
                     graph.nodes.size() == 1 ? "" : "s");
}

}  // namespace

std::string object_text(const Value& v) {
  switch (v.tag()) {
    case Tag::Function:
      return "fn " + function_text(v.as<Function>());
    case Tag::Native: {
      const auto& native = v.as<Native>();
      return "fn " + (native.signature.empty() ? native.name : native.signature);
    }
    case Tag::Method: {
      const auto& method = v.as<Method>();
      return fmt::format("{} of {}", object_text(method.function), describe(method.receiver));
    }
    case Tag::Type:
      return v.as<Type>().name;
    case Tag::StructType: {
      const auto& type = v.as<StructType>();
      return fmt::format("struct {}({})", type.name, fmt::join(type.fields, ", "));
    }
    case Tag::Module:
      return fmt::format("module {}", repr_of(std::string_view(v.as<Module>().name)));
    case Tag::Error: {
      const auto& diagnostic = v.as<Error>().diagnostic;
      return fmt::format("{}({})", diagnostic.kind, repr_of(std::string_view(diagnostic.message)));
    }
    case Tag::File: {
      const auto& file = v.as<File>();
      return fmt::format("open({}, '{}'){}", repr_of(std::string_view(file.path)), file.mode,
                         file.stream ? "" : "  # closed");
    }
    case Tag::Iterator:
      return fmt::format("iterator of {}", v.as<Iterator>().name);
    case Tag::Graph:
      return short_graph(graph_of(v));
    case Tag::Opaque:
      look_at(v);
      return v.as<Opaque>().name;
    default:
      return std::string(type_name(v));
  }
}

}  // namespace kiln::interp
