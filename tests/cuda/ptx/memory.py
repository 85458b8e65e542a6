"""Instructions of PTX that move bytes and addresses, each as a statement of C++."""
import re

from operands import SIZES, address, c_type, put, value

SPACES = {"global", "local", "param", "const", "nc"}



def move_memory(i):
    i.allow(*SPACES, "v2", "v4")
    count = 4 if "v4" in i.modifiers else 2 if "v2" in i.modifiers else 1
    loads = i.name == "ld"
    registers = re.findall(r"[^\s,{}]+", i.operands[0 if loads else 1])
    if len(registers) != count or i.kind not in SIZES:
        i.fail()
    where = address(i, i.operands[1 if loads else 0])
    kind = c_type(i.kind)
    statements = []
    for k, register in enumerate(registers):
        at = f"{where} + {k * SIZES[i.kind]}"
        statements.append(put(register, f"load<{kind}>({at})", i.kind) if loads
                          else f"store<{kind}>({at}, {value(i, register, i.kind)});")
    return "{ " + " ".join(statements) + " }"


def move(i):
    i.allow()
    target, source = i.operands
    if target.startswith("{") or source.startswith("{"):
        parts = re.findall(r"[^\s,{}]+", target if target.startswith("{") else source)
        part = "b" + str(8 * SIZES[i.kind] // len(parts))
        bits = 8 * SIZES[part]
        if target.startswith("{"):
            whole = i.value(1)
            return "{ " + " ".join(put(p, f"{whole} >> {k * bits}", part) for k, p in enumerate(parts) if p != "_") + " }"
        u = c_type(i.kind)
        return i.put(" | ".join(f"({u}){value(i, p, part)} << {k * bits}" for k, p in enumerate(parts)))
    return i.put(i.value(1))


def move_address(i):
    i.allow("to", *SPACES)
    return i.put(i.value(1))


HANDLERS = {"ld": move_memory, "st": move_memory, "mov": move, "cvta": move_address}
