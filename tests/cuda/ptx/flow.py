"""Instructions of PTX that say where a thread goes on, each as a statement of C++."""
import re

from operands import identifier, value


def branch(i):
    if [m for m in i.modifiers if m not in ("uni", "idx")]:
        i.fail()
    if "idx" in i.modifiers:
        return f"goto *{identifier(i.operands[1])}[{value(i, i.operands[0], 'u32')}];"
    return f"goto {identifier(i.operands[0])};"


def branch_targets(label, text):
    """The table of labels that `brx.idx` goes to."""
    names = text.removeprefix(".branchtargets").replace(",", " ").split()
    return f"static const void* const {identifier(label)}[] = {{{', '.join('&&' + identifier(name) for name in names)}}};"


def give_back(i):
    i.must_be("", "uni")
    return "return;"


def call(i):
    """`call.uni (result), function, (argument, …)`: results and arguments are memory of the caller."""
    i.must_be("", "uni")
    if len(i.operands) not in (1, 2, 3):
        i.fail("unknown call")
    names = [re.findall(r"[\w$]+", operand) for operand in i.operands]
    function = names.pop(1 if i.operands[0].startswith("(") else 0)
    memory_of = [identifier(name) for group in names for name in group]
    return f"{identifier(function[0])}({', '.join(memory_of)});"


HANDLERS = {"bra": branch, "brx": branch, "ret": give_back, "exit": give_back, "call": call}
