"""An instruction of PTX taken apart, and its operands as C++: registers are unsigned numbers that hold bits."""
import re

SIZES = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "b32": 4, "u32": 4, "s32": 4, "f32": 4,
         "b64": 8, "u64": 8, "s64": 8, "f64": 8}
PLACES = {"tid": "thread", "ctaid": "block", "ntid": "block_dim", "nctaid": "grid_dim"}


class TranslationError(Exception):
    pass


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
    """An instruction taken apart: `add.rn.f32 %f3, %f1, %f2`. `line` is that of the program in CUDA C++, where it is known."""

    def __init__(self, text, line=0):
        self.text, self.line = text, line
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

    def must_be(self, *forms):
        """Refuses an instruction whose modifiers are none of these."""
        if ".".join(self.modifiers) not in forms:
            self.fail()

    def value(self, i, kind=None):
        return value(self, self.operands[i], kind or self.kind)

    def put(self, expression, kind=None):
        return put(self.operands[0], expression, kind or self.kind)


def special(operand):
    """The text of a register that tells where a thread is, or None."""
    found = re.fullmatch(r"%(n?(?:tid|ctaid))\.([xyz])", operand)
    if found:
        return f"(u32)kiln_fake_place.{PLACES[found[1]]}.{found[2]}"
    return "(u32)kiln_fake_lane()" if operand == "%laneid" else None


def value(instruction, operand, kind):
    """An operand read as a type."""
    if special(operand):
        return special(operand)
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
    if re.fullmatch(r"[\w$]+", operand) and kind[0] != "f":  # a variable's address, or a register of a block
        return f"(u64){identifier(operand)}"
    return instruction.fail("unknown operand")


def put(register, expression, kind):
    if register == "_":
        return f"(void)({expression});"
    if kind == "pred":
        return f"{identifier(register)} = {expression};"
    return f"set({identifier(register)}, ({c_type(kind)})({expression}));"


def address(instruction, operand, is_shared=None):
    """Where the memory of an operand in brackets is on the host; unless it is said, the modifiers tell whether it is shared."""
    found = re.fullmatch(r"\[\s*([%\w$]+)\s*(?:\+\s*(-?\d+))?\s*\]", operand)
    if not found:
        instruction.fail("unknown address")
    where = f"((u64){identifier(found[1])} + {found[2] or 0}ll)"
    is_shared = "shared" in instruction.modifiers if is_shared is None else is_shared
    return f"address_of_shared({where})" if is_shared else where
