"""Instructions of PTX that say where a thread goes on, each as a statement of C++."""
import re

from operands import identifier


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


HANDLERS = {"bra": branch, "ret": give_back, "exit": give_back, "call": call}
