// Owns documents as notebooks.
#pragma once

#include <string_view>

#include "notebook/client.h"

namespace kiln::notebook {

// A notebook (nbformat 4.5) of a document in Markdown: each example is a cell, what stands between them is
// text. A cell says in its metadata, as "kiln": {"expected": …}, what the document shows as its output.
Json notebook_of(std::string_view document);

}  // namespace kiln::notebook
