#!/usr/bin/env python3
"""Checks that every file includes the standard header of each name it uses, itself or through headers of the project.

The common ones are precompiled (cmake/compiler.cmake), so the compiler does not tell."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ALGORITHMS = """sort stable_sort find find_if any_of all_of none_of count count_if copy copy_n fill fill_n transform min max clamp
min_element max_element minmax reverse rotate equal lower_bound upper_bound binary_search remove remove_if unique partition
nth_element for_each replace is_sorted search mismatch ranges::\\w+""".split()
FUNCTIONS = """sqrt pow exp log log2 floor ceil isnan isinf isfinite trunc round nearbyint lround fabs nan signbit copysign fmod ldexp
frexp lgamma tgamma erf cos sin tan""".split()
NAMES = {
    "algorithm": rf"std::(?:{'|'.join(ALGORITHMS)})[<(]",
    "array": r"std::array\b",
    "cmath": rf"std::(?:{'|'.join(FUNCTIONS)})\(",
    "cstdint": r"std::u?int(?:8|16|32|64|ptr)_t\b",
    "fmt/format.h": r"fmt::\w+",
    "functional": r"std::(?:function|hash|less|greater|plus|reference_wrapper|ref|cref)\b",
    "map": r"std::(?:multi)?map\b",
    "memory": r"std::(?:unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared|enable_shared_from_this)\b",
    "optional": r"std::(?:optional|nullopt)\b",
    "span": r"std::span\b",
    "string": r"std::(?:string|to_string)\b",
    "string_view": r"std::string_view\b",
    "unordered_map": r"std::unordered_map\b",
    "utility": r"std::(?:move|pair|forward|exchange|swap|declval|in_place|(?:make_)?(?:index|integer)_sequence)\b",
    "variant": r"std::(?:variant|visit|monostate|get_if|holds_alternative)\b",
    "vector": r"std::vector\b",
}
ALSO_IN = {"string_view": "string"}  # the standard says that one header has the names of another

listed = subprocess.run(["git", "ls-files", "*.h", "*.cpp"], cwd=ROOT, capture_output=True, text=True, check=True)
texts = {name: (ROOT / name).read_text() for name in listed.stdout.split() if (ROOT / name).exists()}
headers_of = {}


def headers(name):
    """Those outside of the project that a file includes, itself or through the project's."""
    if name not in headers_of:
        headers_of[name] = set()
        for included in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', texts[name], re.MULTILINE):
            beside = str(Path(name).parent / included)
            ours = included if included in texts else beside if beside in texts else None
            headers_of[name] |= headers(ours) if ours else {included}
    return headers_of[name]


failures = []
for name, text in texts.items():
    code = re.sub(r'//.*|"(?:\\.|[^"\\\n])*"', "", text)
    for header, pattern in NAMES.items():
        if header not in headers(name) and ALSO_IN.get(header) not in headers(name) and re.search(pattern, code):
            failures.append(f"{name}: include <{header}> for {re.search(pattern, code)[0].rstrip('(<')}")

print("\n".join(failures) or f"{len(texts)} files include what they use")
sys.exit(1 if failures else 0)
