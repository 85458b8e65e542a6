// Owns how the tensor room tells the user what is no error.
#pragma once

#include <functional>
#include <string>

namespace kiln {

// Where warnings go; null, the default: stderr, a line each.
void set_warning_sink(std::function<void(const std::string& sentence)> sink);
void warn(const std::string& sentence);
// Once in this process for each `key`.
void warn_once(const std::string& key, const std::string& sentence);

}  // namespace kiln
