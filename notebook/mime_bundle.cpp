#include "notebook/mime_bundle.h"

#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

#include "interpreter/host/figure_value.h"
#include "interpreter/host/plot_output.h"
#include "interpreter/plot/png_data.h"
#include "interpreter/values/graph_value.h"
#include "jit/graph/dot.h"
#include "notebook/tensor_html.h"
#include "repl/graphviz.h"

namespace kiln::notebook {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kDrawnNodes = 300;  // Graphviz takes seconds for more

// A file that is gone with the scope.
class TemporaryFile {
 public:
  TemporaryFile() : path_((fs::temp_directory_path() / "kiln-XXXXXX.svg").string()) {
    if (const int file = mkstemps(path_.data(), 4); file >= 0) close(file);
  }
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Nothing where Graphviz is not installed.
std::optional<std::string> graph_svg(const jit::Graph& graph) {
  if (graph.nodes.size() > kDrawnNodes) return std::nullopt;
  const TemporaryFile file;
  try {
    repl::draw(jit::dot_text(graph), file.path());
    return repl::read_text(file.path());
  } catch (const lang::UserError&) {
    return std::nullopt;
  }
}

std::string without_line_end(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

Json value_bundle(repl::Session& session, const interp::Value& value) {
  Json bundle;
  bundle["text/plain"] = without_line_end(repl::shown(session.interpreter(), value));
  if (value.is(interp::Tag::Tensor)) {
    if (std::optional<std::string> html = tensor_html(value.as_tensor()))
      bundle["text/html"] = *std::move(html);
  } else if (value.is(interp::Tag::Graph)) {
    if (std::optional<std::string> svg = graph_svg(interp::graph_of(value)))
      bundle["image/svg+xml"] = *std::move(svg);
  } else if (const interp::plot::Figure* figure = interp::host::figure_in(value)) {
    bundle["image/png"] = interp::plot::base64(interp::host::figure_png(*figure));
  }
  return bundle;
}

Json picture_bundle(std::string_view png, std::string text) {
  return {{"image/png", interp::plot::base64(png)}, {"text/plain", without_line_end(std::move(text))}};
}

Json page_bundle(std::string_view html) {
  constexpr int kHeight = 640;  // pixels
  return {{"text/html",
           fmt::format("<iframe sandbox=\"allow-scripts\" srcdoc=\"{}\" width=\"100%\" height=\"{}\" "
                       "style=\"border: 1px solid #ccc\"></iframe>",
                       escape_html(html), kHeight)},
          {"text/plain", "a page of all stages"}};
}

}  // namespace kiln::notebook
