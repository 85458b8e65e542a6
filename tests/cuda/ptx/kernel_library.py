#!/usr/bin/env python3
"""Writes the C++ of a library for the fake driver: of a program in CUDA C++, as NVRTC compiles it.

    kernel_library.py nvrtc architecture program result [option…]

`nvrtc` is the library's file. Headers are the other files of the folder, by their names within it. What is wrong with the program
or its PTX goes to stderr, and the status is 1 then."""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import nvrtc  # noqa: E402
import rounding  # noqa: E402
import translate  # noqa: E402


def text_in(sources, file):
    """A source, which NVRTC may name with folders before."""
    return next(text for name, text in sources.items() if file == name or file.endswith("/" + name))


def main(path, architecture, program, result, *options):
    library = nvrtc.Nvrtc(path)
    sources = {str(file): file.read_text() for file in sorted(Path().rglob("*")) if file.is_file()}
    headers = {name: text for name, text in sources.items() if name != program}
    if library.version < nvrtc.HAS_MINIMAL:
        options = [option for option in options if option != "--minimal"]
    try:
        ptx = library.compile_to_ptx(sources[program], program, architecture, options, headers)
        faults = rounding.rounding_faults(ptx, lambda file: text_in(sources, file))
        if faults and "--fmad=false" in options:
            raise translate.TranslationError("results that depend on more than their operands:\n" + "\n".join(faults))
        Path(result).write_text(translate.translate(ptx))
    except (nvrtc.CompileError, translate.TranslationError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
