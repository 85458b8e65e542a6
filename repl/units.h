// Owns how durations and sizes of memory read.
#pragma once

#include <cstddef>
#include <string>

namespace kiln::repl {

// Three significant digits in the unit that suits: "12.3 µs".
std::string duration_text(double seconds);
// "512 B", "1.5 KiB".
std::string bytes_text(std::size_t bytes);

}  // namespace kiln::repl
