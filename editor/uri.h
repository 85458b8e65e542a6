// Owns the names of documents: file URIs and paths.
#pragma once

#include <string>
#include <string_view>

namespace kiln::editor {

// "/home/a b.kiln" of "file:///home/a%20b.kiln"; "" of any other kind of URI.
std::string path_of_uri(std::string_view uri);
std::string uri_of_path(std::string_view path);

}  // namespace kiln::editor
