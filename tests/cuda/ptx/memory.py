"""Instructions of PTX that move bytes and addresses, each as a statement of C++."""
import re

from operands import SIZES, address, c_type, put, unsigned, value

SPACES = {"global", "local", "param", "const", "nc", "shared"}
HINTS = {"ca", "cg", "cs", "lu", "cv", "wb", "wt"}  # for caches
# Orders among threads: those of a block take turns here, so that what counts is that the access is made.
ORDERS = {"volatile", "relaxed", "acquire", "release"}
SCOPES = {"cta", "gpu", "sys"}
ATOMICS = {"add": "old + given", "exch": "given", "min": "given < old ? given : old", "max": "given > old ? given : old",
           "and": "old & given", "or": "old | given", "xor": "old ^ given", "inc": "old >= given ? 0 : old + 1",
           "dec": "old == 0 || old > given ? given : old - 1"}


def move_memory(i):
    i.allow(*SPACES, *HINTS, *ORDERS, *SCOPES, "v2", "v4")
    count = 4 if "v4" in i.modifiers else 2 if "v2" in i.modifiers else 1
    loads = i.name == "ld"
    registers = re.findall(r"[^\s,{}]+", i.operands[0 if loads else 1])
    if len(registers) != count or i.kind not in SIZES:
        i.fail()
    where = address(i, i.operands[1 if loads else 0])
    kind = c_type(i.kind)
    prefix = "volatile_" if ORDERS & set(i.modifiers) else ""
    statements = [f"const u64 at = {where}; require_aligned(at, {count * SIZES[i.kind]});"]
    for k, register in enumerate(registers):
        at = f"at + {k * SIZES[i.kind]}"
        statements.append(put(register, f"{prefix}load<{kind}>({at})", i.kind) if loads
                          else f"{prefix}store<{kind}>({at}, {value(i, register, i.kind)});")
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
    if "shared" not in i.modifiers:
        return i.put(i.value(1))
    return i.put(f"{'shared_address' if 'to' in i.modifiers else 'address_of_shared'}({i.value(1)})")


def atomic(i):
    """`atom` gives what was there before, `red` does not."""
    operation = next((m for m in i.modifiers[:-1] if m in (*ATOMICS, "cas")), None)
    i.allow(operation, *SPACES, *ORDERS, *SCOPES, "acq_rel")
    if operation is None or i.kind not in SIZES:
        i.fail()
    register = i.operands[0] if i.name == "atom" else "_"
    at, *given = i.operands[1 if i.name == "atom" else 0:]
    kind = c_type(i.kind if operation in ("min", "max") else unsigned(i.kind))
    if operation == "cas":
        change = f"old == {value(i, given[0], i.kind)} ? {value(i, given[1], i.kind)} : old"
    else:
        change = f"const {kind} given = {value(i, given[0], i.kind)}; return {ATOMICS[operation]}"
    change = change if "return" in change else f"return {change}"
    return put(register, f"updated<{kind}>({address(i, at)}, [&]({kind} old) -> {kind} {{ {change}; }})", i.kind)


def fence(i):
    i.must_be("gl", "cta", "sys", *(f"{order}.{scope}" for order in ("sc", "acq_rel") for scope in ("cta", "gpu", "sys")))
    return "order_memory();"


def copy_later(i):
    """`cp.async.cg.shared.global [to], [from], 16, bytes`: of 16 bytes those that there are, then zeros."""
    i.must_be("async.cg.shared.global", "async.commit_group", "async.wait_group")
    if i.modifiers[1] == "commit_group":
        return "copies.end_group();"
    if i.modifiers[1] == "wait_group":
        return f"copies.wait({value(i, i.operands[0], 'u32')});"
    if i.operands[2] != "16":
        i.fail()
    return f"copies.begin({address(i, i.operands[0], True)}, {address(i, i.operands[1], False)}, {value(i, i.operands[3], 'u32')});"


HANDLERS = {"cp": copy_later, "ld": move_memory, "st": move_memory, "mov": move, "cvta": move_address, "atom": atomic, "red": atomic,
            "membar": fence, "fence": fence}
