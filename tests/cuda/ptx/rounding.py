"""Finds in PTX what gives results that depend on more than their operands."""
import re


def rounding_faults(ptx):
    """Instructions whose results depend on more than their operands: sums and products that the assembler may contract,
    approximations, and those that flush subnormal numbers."""
    faults = []
    for number, line in enumerate(ptx.splitlines(), 1):
        code = line.split("//")[0]
        found = re.search(r"(?:^|\s)([a-z]\w*(?:\.\w+)+)\s", code + " ")
        if not found:
            continue
        parts = found[1].split(".")
        may_contract = parts[0] in ("add", "sub", "mul") and parts[-1] in ("f16", "f32", "f64") and "rn" not in parts
        fused = parts[0] == "mad" and parts[-1] in ("f32", "f64")
        if may_contract or fused or {"approx", "ftz", "full"} & set(parts):
            faults.append(f"{number}: {code.strip()}")
    return faults
