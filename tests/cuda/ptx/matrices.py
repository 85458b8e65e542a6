"""Instructions of PTX for products of matrices of halves by a warp, each as a statement of C++."""
import re

from operands import address, put, value

HALVES = {"f16": "f16_of", "bf16": "bf16_of"}


def registers(operand):
    return re.findall(r"[^\s,{}]+", operand)


def load_matrices(i):
    """Four matrices of 8 x 8 halves: each lane gives the address of a row."""
    i.must_be("sync.aligned.m8n8.x4.shared.b16", "sync.aligned.m8n8.x4.trans.shared.b16")
    turned = "true" if "trans" in i.modifiers else "false"
    kept = " ".join(put(register, f"read[{k}]", "b32") for k, register in enumerate(registers(i.operands[0])))
    return f"{{ u32 read[4]; load_matrices({address(i, i.operands[1])}, {turned}, read, {i.line}); {kept} }}"


def multiply(i):
    """`mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}`: d = a * b + c"""
    *form, kind, same, sums = i.modifiers
    if form != ["sync", "aligned", "m16n8k16", "row", "col", "f32"] or kind not in HALVES or same != kind or sums != "f32":
        i.fail()
    results, *given = [registers(operand) for operand in i.operands]
    if [len(each) for each in (results, *given)] != [4, 4, 2, 4]:
        i.fail()
    a, b, c = (", ".join(value(i, register, k) for register in each) for each, k in zip(given, ("b32", "b32", "f32")))
    kept = " ".join(put(register, f"sums[{k}]", "f32") for k, register in enumerate(results))
    return (f"{{ const u32 left[4] = {{{a}}}, right[2] = {{{b}}}; f32 sums[4] = {{{c}}}; "
            f"multiply_matrices<{HALVES[kind]}>(left, right, sums, {i.line}); {kept} }}")


def rounded_pair(i):
    """`cvt.rn.f16x2.f32 both, high, low`"""
    high, low = (value(i, operand, "f32") for operand in i.operands[1:])
    return put(i.operands[0], f"rounded_to_{i.modifiers[1]}({high}, {low})", "b32")


HANDLERS = {"ldmatrix": load_matrices, "mma": multiply}
