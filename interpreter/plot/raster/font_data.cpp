#include "interpreter/plot/raster/font_data.h"

// KILN_FONT is the file.
asm(".section .rodata\n"
    ".global kiln_font_begin\n.hidden kiln_font_begin\n"
    ".global kiln_font_end\n.hidden kiln_font_end\n"
    ".balign 16\n"
    "kiln_font_begin:\n"
    ".incbin \"" KILN_FONT
    "\"\n"
    "kiln_font_end:\n"
    ".previous\n");

extern "C" const unsigned char kiln_font_begin[];
extern "C" const unsigned char kiln_font_end[];

namespace kiln::interp::plot {

std::span<const unsigned char> font_data() { return {kiln_font_begin, kiln_font_end}; }

}  // namespace kiln::interp::plot
