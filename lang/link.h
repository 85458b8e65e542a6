// Owns links in text for terminals: what opens a file at a line when it is clicked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::lang {

// `text` as an OSC 8 link to the line of a file (file://host/path#line). The text alone for what is no file
// that is there: an entry at the prompt, a part of the standard library.
std::string link_to_file(const std::string& path, std::uint32_t line, std::string_view text);

}  // namespace kiln::lang
