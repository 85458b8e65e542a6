"""Finds in PTX what gives results that depend on more than their operands."""
import re

INSTRUCTION = re.compile(r"(?:^|\s)([a-z]\w*(?:\.\w+)+)\s")
FLOATS = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64")


def is_fault(name, modifiers):
    """Sums and products that the assembler may contract, approximations, and what flushes subnormal numbers."""
    kind = modifiers[-1]
    may_contract = name in ("add", "sub", "mul") and kind in FLOATS and "rn" not in modifiers
    return may_contract or (name == "mad" and kind in FLOATS) or bool({"approx", "ftz", "full"} & set(modifiers))


def rounding_faults(ptx, text_of=None):
    """The lines of such instructions. `text_of(file)` gives a file that the PTX was made of with -lineinfo: where a sum and a
    product are rounded together, the line must ask for it."""
    names = re.findall(r'\.file\s+(\d+)\s+"([^"]*)"', ptx) if text_of else []
    lines = {number: text_of(name).splitlines() for number, name in names}
    faults, asked_for = [], ""
    for number, line in enumerate(ptx.splitlines(), 1):
        code = line.split("//")[0]
        if text_of and (place := re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", code)):
            asked_for = (["", *lines[place[1]]])[int(place[2])]
            continue
        found = INSTRUCTION.search(code + " ")
        if not found:
            continue
        name, *modifiers = found[1].split(".")
        contracted = text_of is not None and name == "fma" and "fma" not in asked_for
        if contracted or is_fault(name, modifiers):
            faults.append(f"{number}: {code.strip()}" + (f" of the line: {asked_for.strip()}" if contracted else ""))
    return faults
