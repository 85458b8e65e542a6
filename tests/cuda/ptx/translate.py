"""Translates PTX, the assembly of NVIDIA's compilers, to C++ that the system's compiler takes: one statement for each
instruction, one function for each kernel. What the translator does not know is an error, never skipped.

Registers are unsigned numbers that hold bits; runtime.h says what is done with them. A kernel becomes a function of a
thread's place and of pointers to its arguments, and runs one thread from begin to end: barriers and shuffles are not known."""
import re

import arithmetic
import flow
import memory
from operands import SIZES, Instruction, TranslationError, identifier, number_bits

HANDLERS = {**arithmetic.HANDLERS, **memory.HANDLERS, **flow.HANDLERS}
# Of the compiler: signed numbers wrap and memory has no types, as on the device.
CXX_OPTIONS = ("-std=c++20", "-O1", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-shared", "-fPIC")


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
        return f"{bytes_named(found[3], found[2], found[4], found[1])};", False
    if re.match(r"\.(pragma|loc|file)\b", text):
        return "", False
    raise TranslationError(f"unknown declaration: {text}")


def bytes_named(name, kind, count, align):
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
