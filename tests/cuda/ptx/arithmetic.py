"""Instructions of PTX that compute, each as a statement of C++."""
import matrices
from operands import SIZES, c_type, put, unsigned, value

COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
               "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
WHOLE_ROUNDINGS = {"rni", "rzi", "rmi", "rpi"}


def convert(i):
    if i.modifiers in (["rn", "f16x2", "f32"], ["rn", "bf16x2", "f32"]):
        return matrices.rounded_pair(i)
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
    return i.put(f"copy_sign({i.value(2)}, {i.value(1)})")


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


def dot_product(i):
    """Of four bytes and four bytes, and a third operand; the types say which bytes have signs."""
    if len(i.modifiers) != 2 or not {*i.modifiers} <= {"u32", "s32"}:
        i.fail()
    bytes_of = ", ".join("s8" if kind == "s32" else "u8" for kind in i.modifiers)
    return i.put(f"dot_product<{bytes_of}>({', '.join(i.value(k, 'u32') for k in (1, 2, 3))})", "u32")


def bit_field(i):
    """Bits that are taken out of a number or put into one; the last operands say the first bit and how many."""
    i.allow()
    numbers = [i.value(k) for k in range(1, len(i.operands) - 2)]
    place = [i.value(k, "u32") for k in (-2, -1)]
    return i.put(f"{'extracted' if i.name == 'bfe' else 'inserted'}({', '.join(numbers + place)})")


def highest_bit(i):
    """Its place, or by how much a number is shifted to bring it to the top."""
    i.allow("shiftamt")
    if i.kind not in ("u32", "u64"):
        i.fail()
    return put(i.operands[0], f"highest_bit({i.value(1)}, {'true' if 'shiftamt' in i.modifiers else 'false'})", "u32")


def reverse(i):
    i.allow()
    return i.put(f"reversed({i.value(1)})")


def count_bits(i):
    i.allow()
    return put(i.operands[0], f"{ {'clz': 'leading_zeros', 'popc': 'set_bits'}[i.name]}({i.value(1)})", "u32")


HANDLERS = {
    "cvt": convert, "setp": set_predicate, "selp": select, "and": bitwise, "or": bitwise, "xor": bitwise, "not": bitwise,
    "shl": shift, "shr": shift, "add": arithmetic, "sub": arithmetic, "mul": arithmetic, "div": arithmetic, "rem": arithmetic,
    "mad": multiply_add, "fma": fused, "rcp": of_one, "sqrt": of_one, "neg": of_one, "abs": of_one, "min": extremum,
    "max": extremum, "copysign": copy_sign, "prmt": permute, "shf": funnel, "clz": count_bits, "popc": count_bits,
    "bfe": bit_field, "bfi": bit_field, "dp4a": dot_product, "bfind": highest_bit, "brev": reverse,
}
