#include "repl/not_finite.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "jit/graph/text.h"
#include "tensor/host_view.h"

namespace kiln::repl {
namespace {

struct What {
  const char* name;
  bool (*is)(double x);
};
const What kNan{"nan", [](double x) { return std::isnan(x); }};
const What kInf{"inf", [](double x) { return std::isinf(x); }};

// The elements of a float tensor on the host, in order; none of others.
class Elements {
 public:
  explicit Elements(const Tensor& x) {
    if (!x || x.is_number() || !is_float(x.dtype())) return;
    view_.emplace(x, DType::F64);
    all_ = {view_->as<double>(), static_cast<std::size_t>(x.numel())};
  }
  std::int64_t count(const What& what) const { return std::ranges::count_if(all_, what.is); }
  std::size_t first(const What& what) const {
    return static_cast<std::size_t>(std::ranges::find_if(all_, what.is) - all_.begin());
  }
  std::span<const double> all() const { return all_; }

 private:
  std::optional<HostView> view_;
  std::span<const double> all_;
};

bool has(const Tensor& x, const What& what) { return Elements(x).count(what) > 0; }

// "[1, 0]": where the element of that number is.
std::vector<std::int64_t> place_of(std::size_t element, const Dims& sizes) {
  std::vector<std::int64_t> place(sizes.size());
  auto rest = static_cast<std::int64_t>(element);
  for (std::size_t d = sizes.size(); d-- > 0;) {
    place[d] = rest % sizes[d].fixed();
    rest /= sizes[d].fixed();
  }
  return place;
}

// The number of the element of `sizes` that lies at a place of what it is stretched to; nothing where it is
// not.
std::optional<std::size_t> element_at(std::span<const std::int64_t> place, const Dims& sizes,
                                      const Dims& result) {
  if (sizes.size() > place.size() || !broadcastable_to(sizes, result)) return std::nullopt;
  std::int64_t element = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const std::int64_t size = sizes[d].fixed(), at = place[place.size() - sizes.size() + d];
    element = element * size + (size == 1 ? 0 : at);
  }
  return static_cast<std::size_t>(element);
}

// The sign of a nan says nothing.
double without_sign(double x) { return std::isnan(x) ? NAN : x; }

// "%x: f32[3], from -2 to 3, 1 nan, at [1]: -1".
std::string about(const std::string& name, const Tensor& x, std::span<const std::int64_t> place,
                  const Dims& result) {
  std::string text = fmt::format("{}: {}", name, to_string(x.type()));
  const Elements elements(x);
  double least = INFINITY, most = -INFINITY;
  for (const double each : elements.all()) {
    if (!std::isfinite(each)) continue;
    least = std::min(least, each);
    most = std::max(most, each);
  }
  if (least <= most) text += fmt::format(", from {:.6g} to {:.6g}", least, most);
  for (const What& what : {kNan, kInf}) {
    if (const std::int64_t found = elements.count(what); found > 0)
      text += fmt::format(", {} {}", found, what.name);
  }
  const std::optional<std::size_t> element = element_at(place, x.sizes(), result);
  if (element && *element < elements.all().size())
    text += fmt::format(", at [{}]: {:.6g}", fmt::join(place, ", "), without_sign(elements.all()[*element]));
  return text;
}

// Does the node make such elements out of operands without any?
bool makes(const Walk& walk, std::size_t stop, const What& what) {
  const auto operands = walk.operands_at(stop);
  return std::ranges::any_of(walk.results_at(stop), [&](const Tensor& each) { return has(each, what); }) &&
         std::ranges::none_of(operands, [&](const auto& each) { return has(each.second, what); });
}

std::string node_text(Session& session, const Walk& walk, std::size_t stop, const What& what) {
  const Tensors& results = walk.results_at(stop);
  const auto* const made = std::ranges::find_if(results, [&](const Tensor& each) { return has(each, what); });
  const auto place = place_of(Elements(*made).first(what), made->sizes());
  const jit::Graph& graph = walk.graph_at(stop);
  std::string text = fmt::format("the first node of {} that makes {}:\n", jit::name(graph.stage), what.name);
  text += walk.heading_at(session, stop);
  const std::vector<std::string> names = jit::value_names(graph);
  const jit::ValueId id = walk.node_at(stop).outputs[static_cast<std::size_t>(made - results.begin())];
  text += "  " + about(names[static_cast<std::size_t>(id)], *made, place, made->sizes()) + "\n";
  for (const auto& [name, operand] : walk.operands_at(stop))
    text += "  of " + about(name, operand, place, made->sizes()) + "\n";
  return text;
}

}  // namespace

std::string not_finite_text(Session& session, const Walk& walk) {
  std::string text;
  for (const auto& [name, x] : walk.inputs()) {
    for (const What& what : {kNan, kInf}) {
      const Elements elements(x);
      const std::int64_t found = elements.count(what);
      if (found == 0) continue;
      const auto place = place_of(elements.first(what), x.sizes());
      text += fmt::format("the argument {} has {} {}, the first at [{}]\n", name, found, what.name,
                          fmt::join(place, ", "));
    }
  }
  std::vector<std::pair<std::size_t, const What*>> found;
  for (const What* what : {&kNan, &kInf}) {
    for (std::size_t k = 0; k < walk.size(); ++k) {
      if (!makes(walk, k, *what)) continue;
      found.emplace_back(k, what);
      break;
    }
  }
  std::ranges::sort(found);
  for (const auto& [stop, what] : found) text += node_text(session, walk, stop, *what);
  return text.empty() ? "no node makes a nan or an inf\n" : text;
}

}  // namespace kiln::repl
