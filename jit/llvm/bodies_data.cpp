// The bitcode of bodies.cpp as bytes of this library. KILN_BODIES is the file.
asm(".section .rodata\n"
    ".global kiln_bodies_begin\n.hidden kiln_bodies_begin\n"
    ".global kiln_bodies_end\n.hidden kiln_bodies_end\n"
    ".balign 16\n"
    "kiln_bodies_begin:\n"
    ".incbin \"" KILN_BODIES
    "\"\n"
    "kiln_bodies_end:\n"
    ".previous\n");
