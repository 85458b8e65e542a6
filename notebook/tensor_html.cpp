#include "notebook/tensor_html.h"

#include <fmt/format.h>

#include "interpreter/text/print_tensor.h"

namespace kiln::notebook {
namespace {

using interp::TensorTable;

std::string number_text(std::int64_t number) {
  return number == TensorTable::kElided ? "…" : std::to_string(number);
}

std::string table_html(const TensorTable& table) {
  std::string html = "<table><thead><tr>";
  if (!table.rows.empty()) html += "<th></th>";
  for (const std::int64_t column : table.columns) html += "<th>" + number_text(column) + "</th>";
  html += "</tr></thead><tbody>";
  for (std::size_t row = 0; row < table.cells.size(); ++row) {
    html += "<tr>";
    if (!table.rows.empty()) html += "<th>" + number_text(table.rows[row]) + "</th>";
    for (const std::string& cell : table.cells[row]) html += "<td>" + escape_html(cell) + "</td>";
    html += "</tr>";
  }
  return html + "</tbody></table>";
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::optional<std::string> tensor_html(const Tensor& x) {
  if (x.rank() < 1 || x.rank() > interp::kTableRank || x.numel() == 0) return std::nullopt;
  std::string html = "<div><code>" + escape_html(interp::tensor_summary(x)) + "</code>";
  for (const TensorTable& table : interp::tensor_tables(x, interp::print_options())) {
    if (table.matrix == TensorTable::kElided) {
      html += "<p>…</p>";
      continue;
    }
    if (x.rank() == interp::kTableRank) html += fmt::format("<p><code>[{}]</code></p>", table.matrix);
    html += table_html(table);
  }
  return html + "</div>";
}

}  // namespace kiln::notebook
