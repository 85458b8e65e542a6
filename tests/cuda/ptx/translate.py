"""Translates PTX, the assembly of NVIDIA's compilers, to C++ that the system's compiler takes: one statement for each
instruction, one function for each kernel. What the translator does not know is an error, never skipped.

Registers are unsigned numbers that hold bits; runtime.h says what is done with them. A kernel becomes a function of a
thread's place and of pointers to its arguments, and runs one thread from begin to end: barriers and shuffles are not known."""
import re

SIZES = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "b32": 4, "u32": 4, "s32": 4, "f32": 4,
         "b64": 8, "u64": 8, "s64": 8, "f64": 8}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
               "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
WHOLE_ROUNDINGS = {"rni", "rzi", "rmi", "rpi"}
# Of the compiler: signed numbers wrap and memory has no types, as on the device.
CXX_OPTIONS = ("-std=c++20", "-O1", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-shared", "-fPIC")
SPACES = {"global", "local", "param", "const", "nc"}


class TranslationError(Exception):
    pass


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


def c_type(kind):
    return {"b": "u", "u": "u", "s": "s", "f": "f"}[kind[0]] + kind[1:]


def unsigned(kind):
    """Of integers the type whose arithmetic wraps."""
    return kind if kind[0] == "f" else "u" + kind[1:]


def identifier(name):
    return name.replace("%", "q_").replace("$", "L_").replace(".", "_")


def number_bits(text):
    """The bits of a constant as the text of an unsigned number."""
    if text[:2] in ("0f", "0F", "0d", "0D"):
        return f"0x{text[2:]}ull"
    return f"0x{int(text, 0) & (2**64 - 1):x}ull"


class Instruction:
    """An instruction taken apart: `add.rn.f32 %f3, %f1, %f2`."""

    def __init__(self, text):
        self.text = text
        operation, _, rest = text.partition(" ")
        self.name, *self.modifiers = operation.split(".")
        self.kind = self.modifiers[-1] if self.modifiers else ""
        self.operands = re.findall(r"\{[^}]*\}|\([^)]*\)|\[[^\]]*\]|[^,\s]+", rest)

    def fail(self, why="unknown instruction"):
        raise TranslationError(f"{why}: {self.text}")

    def allow(self, *modifiers):
        """Refuses modifiers, the type left aside, that are not among these."""
        for modifier in self.modifiers[:-1]:
            if modifier not in modifiers:
                self.fail(f"unknown modifier .{modifier}")

    def value(self, i, kind=None):
        return value(self, self.operands[i], kind or self.kind)

    def put(self, expression, kind=None):
        return put(self.operands[0], expression, kind or self.kind)


def value(instruction, operand, kind):
    """An operand read as a type."""
    if operand.startswith("%") and re.fullmatch(r"%n?(?:tid|ctaid)\.[xyz]", operand):
        return "(u32)place." + operand[1:].replace(".", "_")
    if kind == "pred":
        if re.fullmatch(r"-?\d+", operand):
            return "true" if int(operand) else "false"
        return ("!" if operand.startswith("!") else "") + identifier(operand.lstrip("!"))
    if kind not in SIZES:
        instruction.fail("unknown type")
    if re.fullmatch(r"%(?:[a-z]+\d+|SPL?)", operand):
        return f"as<{c_type(kind)}>({identifier(operand)})"
    if re.fullmatch(r"-?\d+|0[fFdDxX][0-9a-fA-F]+", operand):
        return f"as<{c_type(kind)}>({number_bits(operand)})"
    if re.fullmatch(r"[\w$]+", operand):
        return f"(u64){identifier(operand)}"
    return instruction.fail("unknown operand")


def put(register, expression, kind):
    if kind == "pred":
        return f"{identifier(register)} = {expression};"
    return f"set({identifier(register)}, ({c_type(kind)})({expression}));"


def address(instruction, operand):
    found = re.fullmatch(r"\[\s*([%\w$]+)\s*(?:\+\s*(-?\d+))?\s*\]", operand)
    if not found:
        instruction.fail("unknown address")
    base = identifier(found[1])
    return f"((u64){base} + {found[2] or 0}ll)"


# ---- One function for each kind of instruction; each gives a statement. ----

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


def convert(i):
    *modifiers, to, of = i.modifiers
    if to not in SIZES or of not in SIZES:
        i.fail("unknown conversion")
    source = value(i, i.operands[1], of)
    rounding = modifiers[0] if modifiers else ""
    if len(modifiers) > 1:
        i.fail("unknown conversion")
    if to[0] == "f" and of[0] == "f":
        if to == of and rounding in WHOLE_ROUNDINGS:
            source = f"to_whole({source}, '{rounding[1]}')"
        elif not (rounding == "rn" or (not rounding and SIZES[to] >= SIZES[of])):
            i.fail("unknown conversion")
    elif of[0] == "f":
        if rounding not in WHOLE_ROUNDINGS:
            i.fail("unknown conversion")
        source = f"to_integer<{c_type(to)}>({source}, '{rounding[1]}')"
    elif to[0] == "f":
        if rounding != "rn":
            i.fail("unknown conversion")
    elif rounding:
        i.fail("unknown conversion")
    return put(i.operands[0], source, to)


def compare(a, b, comparison, kind):
    """The text of a comparison; those that end in u hold of what is unordered, too."""
    if kind == "pred":
        return None
    is_float = kind[0] == "f"
    if comparison in COMPARISONS:
        text = f"{a} {COMPARISONS[comparison]} {b}"
        return f"(ordered({a}, {b}) && {text})" if is_float and comparison == "ne" else f"({text})"
    if not is_float:
        return None
    if comparison == "num":
        return f"ordered({a}, {b})"
    if comparison == "nan":
        return f"!ordered({a}, {b})"
    if comparison.endswith("u") and comparison[:-1] in COMPARISONS:
        return f"(!ordered({a}, {b}) || {a} {COMPARISONS[comparison[:-1]]} {b})"
    return None


def set_predicate(i):
    combine = [m for m in i.modifiers[1:-1]]
    text = compare(i.value(1), i.value(2), i.modifiers[0], i.kind)
    if text is None or "|" in i.operands[0] or len(combine) > 1:
        i.fail("unknown comparison")
    if combine:
        if combine[0] not in ("and", "or", "xor"):
            i.fail("unknown comparison")
        text = f"{text} {dict(zip(('and', 'or', 'xor'), '&|^'))[combine[0]]} {value(i, i.operands[3], 'pred')}"
    return put(i.operands[0], text, "pred")


def select(i):
    i.allow()
    return i.put(f"{value(i, i.operands[3], 'pred')} ? {i.value(1)} : {i.value(2)}")


def bitwise(i):
    i.allow()
    if i.name == "not":
        return i.put(f"!{i.value(1)}" if i.kind == "pred" else f"~{i.value(1)}")
    sign = {"and": "&", "or": "|", "xor": "^"}[i.name]
    return i.put(f"{i.value(1)} {sign} {i.value(2)}")


def shift(i):
    i.allow()
    return i.put(f"shift_{'left' if i.name == 'shl' else 'right'}<{c_type(i.kind)}>({i.value(1)}, {i.value(2, 'u32')})")


def arithmetic(i):
    """Of two operands. Sums and products of floats say how they are rounded."""
    if i.kind[0] == "f":
        i.allow("rn")
        if "rn" not in i.modifiers:
            i.fail("not rounded by itself")
        return i.put(f"{i.value(1)} {dict(add='+', sub='-', mul='*', div='/')[i.name]} {i.value(2)}")
    if i.name in ("div", "rem"):
        i.allow()
        return i.put(f"integer_{i.name}<{c_type(i.kind)}>({i.value(1)}, {i.value(2)})")
    if i.name == "mul":
        return multiply(i)
    i.allow()
    u = unsigned(i.kind)
    return i.put(f"{i.value(1, u)} {dict(add='+', sub='-')[i.name]} {i.value(2, u)}")


def multiply(i, more=None):
    """`lo`, `hi` and `wide` products of integers, and sums of those with a third operand."""
    form = i.modifiers[0]
    if form not in ("lo", "hi", "wide") or len(i.modifiers) != 2:
        i.fail("unknown product")
    kind = i.kind if form != "wide" else i.kind[0] + str(16 * SIZES[i.kind])
    u = unsigned(kind)
    if form == "lo":
        product = f"{i.value(1, u)} * {i.value(2, u)}"
    else:
        product = f"{'high' if form == 'hi' else 'wide'}_product<{c_type(i.kind)}>({i.value(1)}, {i.value(2)})"
    if more is not None:
        product = f"(({c_type(u)})({product})) + {value(i, i.operands[more], u)}"
    return i.put(product, kind)


def multiply_add(i):
    if i.kind[0] == "f":
        i.fail("not rounded by itself")
    return multiply(i, more=3)


def fused(i):
    i.allow("rn")
    if i.kind not in ("f32", "f64") or "rn" not in i.modifiers:
        i.fail()
    return i.put(f"fused({i.value(1)}, {i.value(2)}, {i.value(3)})")


def of_one(i):
    if i.name in ("rcp", "sqrt"):
        i.allow("rn")
        if "rn" not in i.modifiers or i.kind not in ("f32", "f64"):
            i.fail("not rounded correctly")
        return i.put(f"1 / {i.value(1)}" if i.name == "rcp" else f"root({i.value(1)})")
    i.allow()
    return i.put(f"{ {'neg': 'negative', 'abs': 'absolute'}[i.name]}({i.value(1)})")


def extremum(i):
    i.allow()
    return i.put(f"{ {'min': 'smaller', 'max': 'larger'}[i.name]}({i.value(1)}, {i.value(2)})")


def copy_sign(i):
    """The sign of the first and the magnitude of the second."""
    i.allow()
    if i.kind not in ("f32", "f64"):
        i.fail()
    return i.put(f"std::copysign({i.value(2)}, {i.value(1)})")


def permute(i):
    i.allow()
    if i.kind != "b32":
        i.fail()
    return i.put(f"permute({i.value(1)}, {i.value(2)}, {i.value(3)})")


def funnel(i):
    """The upper or lower half of two words that are shifted as one."""
    side, mode = i.modifiers[0], i.modifiers[1]
    if i.kind != "b32" or side not in ("l", "r") or mode not in ("wrap", "clamp"):
        i.fail()
    return i.put(f"funnel_{side}({i.value(1)}, {i.value(2)}, {i.value(3)}, {'31u' if mode == 'wrap' else '0u'})")


def count_bits(i):
    i.allow()
    return put(i.operands[0], f"{ {'clz': 'leading_zeros', 'popc': 'set_bits'}[i.name]}({i.value(1)})", "u32")


def branch(i):
    if [m for m in i.modifiers if m != "uni"]:
        i.fail()
    return f"goto {identifier(i.operands[0])};"


def give_back(i):
    if i.modifiers:
        i.fail()
    return "return;"


def call(i):
    """`call.uni (result), function, (argument, …)`: results and arguments are memory of the caller."""
    if i.modifiers != ["uni"] or len(i.operands) not in (2, 3):
        i.fail("unknown call")
    names = [re.findall(r"[\w$]+", operand) for operand in i.operands]
    function = names.pop(1 if i.operands[0].startswith("(") else 0)
    memory_of = [identifier(name) for group in names for name in group]
    return f"{identifier(function[0])}({', '.join(['place', *memory_of])});"


HANDLERS = {
    "ld": move_memory, "st": move_memory, "mov": move, "cvta": move_address, "cvt": convert, "setp": set_predicate,
    "selp": select, "and": bitwise, "or": bitwise, "xor": bitwise, "not": bitwise, "shl": shift, "shr": shift,
    "add": arithmetic, "sub": arithmetic, "mul": arithmetic, "div": arithmetic, "rem": arithmetic, "mad": multiply_add,
    "fma": fused, "rcp": of_one, "sqrt": of_one, "neg": of_one, "abs": of_one, "min": extremum, "max": extremum,
    "copysign": copy_sign, "prmt": permute, "shf": funnel, "clz": count_bits, "popc": count_bits, "bra": branch, "ret": give_back,
    "exit": give_back, "call": call,
}


# ---- Declarations and functions ----

def declaration(text):
    """A statement that begins with a dot, in a function, and whether it is one of registers."""
    found = re.fullmatch(r"\.reg \.(\w+) (%\w+|temp_param_reg)(?:<(\d+)>)?", text)
    if found:
        kind, name, count = found.groups()
        if name == "temp_param_reg":  # in each block of a call, and never used
            return "", False
        names = [f"{name}{k}" for k in range(int(count))] if count else [name]
        c = "bool" if kind == "pred" else f"u{8 * SIZES[kind]}"
        return f"{c} " + ", ".join(f"{identifier(n)} = 0" for n in names) + ";", True
    found = re.fullmatch(r"\.(?:param|local) (?:\.align (\d+) )?\.(\w+) ([\w$]+)(?:\[(\d+)\])?", text)
    if found:
        return f"{memory(found[3], found[2], found[4], found[1])};", False
    if re.match(r"\.(pragma|loc|file)\b", text):
        return "", False
    raise TranslationError(f"unknown declaration: {text}")


def memory(name, kind, count, align):
    return f"alignas({align or SIZES[kind]}) u8 {identifier(name)}[{SIZES[kind] * int(count or 1)}]"


def statement(text):
    predicate = re.match(r"@(!?)(%p\d+) ", text)
    if predicate:
        text = text[predicate.end():]
    instruction = Instruction(text)
    handler = HANDLERS.get(instruction.name)
    if handler is None:
        instruction.fail()
    code = handler(instruction)
    return f"if ({predicate[1]}{identifier(predicate[2])}) {code}" if predicate else code


# Braces at the place of a statement are of a block; others are of operands, within a statement.
PART = re.compile(r"\s*(?:(?P<label>[$\w]+):|(?P<brace>[{}])|(?P<statement>[^;]+);|(?P<nothing>;|$))")


def body(text):
    """Registers first, since a jump may not cross their initial values."""
    registers, code, at = [], [], 0
    while at < len(text):
        part = PART.match(text, at)
        if part is None:
            raise TranslationError(f"unknown text: {text[at:at + 60].strip()}")
        at = part.end()
        if part["label"]:
            code.append(identifier(part["label"]) + ":;")
        elif part["brace"]:
            code.append(part["brace"])
        elif part["statement"]:
            line = " ".join(part["statement"].split())
            if line.startswith("."):
                declared, is_register = declaration(line)
                (registers if is_register else code).append(declared)
            else:
                code.append(statement(line))
    return [line for line in registers + code if line]


def parameters(text):
    """(name, alignment, size) of each."""
    result = []
    for each in filter(None, (" ".join(part.split()) for part in text.split(","))):
        found = re.fullmatch(r"\.param (?:\.align (\d+) )?\.(\w+)(?: \.ptr(?: \.\w+)*(?: \.align \d+)?)? ([\w$]+)(?:\[(\d+)\])?", each)
        if not found:
            raise TranslationError(f"unknown parameter: {each}")
        result.append(found[3])
    return result


def function(kind, results, name, arguments, text):
    """A kernel finds its arguments as `cuLaunchKernel` is given them; a function has pointers to its own and its result's."""
    names = parameters(arguments)
    if kind == ".entry":
        head = f'extern "C" void {identifier(name)}(const Place& place, void* const* arguments)'
        lines = [f"u8* const {identifier(n)} = (u8*)arguments[{k}];" for k, n in enumerate(names)]
    else:
        every = parameters(results or "") + names
        head = f"static void {identifier(name)}(" + ", ".join(["const Place& place"] + [f"u8* {identifier(n)}" for n in every]) + ")"
        lines = []
    return head, lines + body(text)


def variables(source):
    pattern = r"\.(?:global|const)\s+(?:\.align (\d+) )?\.(\w+)\s+([\w$]+)(?:\[(\d*)\])?\s*(?:=\s*(\{[^}]*\}|[^;]+))?;"
    result = []
    for align, kind, name, _, values in re.findall(pattern, source):
        if kind not in SIZES:
            raise TranslationError(f"unknown variable: {name}")
        items = [v.strip() for v in values.strip("{} \n").split(",")] if values else []
        u = f"u{8 * SIZES[kind]}"
        result.append(f"alignas({align or SIZES[kind]}) static {u} {identifier(name)}[] = "
                      f"{{{', '.join(f'({u}){number_bits(v)}' for v in items) or '0'}}};")
    return result


FUNCTION = re.compile(r"(?:\.(?:visible|weak|extern)\s+)?(\.entry|\.func)\s+(?:\(([^)]*)\)\s*)?([\w$]+)\s*\(([^)]*)\)([^{;]*)([{;])")


def closing_brace(source, begin):
    """Of the brace before `begin`."""
    depth = 1
    for found in re.compile(r"[{}]").finditer(source, begin):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.start()
    raise TranslationError("a function without an end")


def translate(ptx):
    """C++ of a module of PTX; see runtime.h for what it includes."""
    source = re.sub(r"//[^\n]*", "", ptx)
    functions, outside, at = [], [], 0
    while found := FUNCTION.search(source, at):
        outside.append(source[at:found.start()])
        at = found.end()
        if found[6] == "{":
            end = closing_brace(source, at)
            functions.append(function(*found.groups()[:4], source[at:end]))
            at = end + 1
    outside.append(source[at:])
    lines = ['#include "runtime.h"', *variables("".join(outside))]
    lines += [f"{head};" for head, _ in functions]
    for head, code in functions:
        lines += [head + " {", *("  " + line for line in code), "}"]
    return "\n".join(lines) + "\n"
