"""Translates PTX, the assembly of NVIDIA's compilers, to C++ that the system's compiler takes: one statement for each
instruction, one function for each kernel. What the translator does not know is an error, never skipped.

Registers are unsigned numbers that hold bits; runtime.h says what is done with them. What comes of it is a library for the fake
driver (tests/cuda/fake/shim/abi.h). A kernel's function has its name, takes pointers to the arguments, and runs the one thread
whose place the library's `place` says."""
import re

import arithmetic
import flow
import matrices
import memory
import threads
from operands import SIZES, Instruction, TranslationError, identifier, number_bits

HANDLERS = {**arithmetic.HANDLERS, **memory.HANDLERS, **flow.HANDLERS, **threads.HANDLERS, **matrices.HANDLERS}
# Of the compiler: signed numbers wrap and memory has no types, as on the device.
CXX_OPTIONS = ("-std=c++20", "-O1", "-w", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-shared", "-fPIC")


def registers(text):
    """The declaration of registers, or None where the text is of something else."""
    found = re.fullmatch(r"\.reg \.(\w+) (%?\w+)(?:<(\d+)>)?", text)
    if not found:
        return None
    kind, name, count = found.groups()
    names = [f"{name}{k}" for k in range(int(count))] if count else [name]
    c = "bool" if kind == "pred" else f"u{8 * SIZES[kind]}"
    return f"{c} " + ", ".join(f"{identifier(n)} = 0" for n in names) + ";"


VARIABLE = r"(?:\.align (\d+) )?\.(\w+) ([\w$]+)(\[\d*\])?"


def bytes_named(name, align, kind, count, storage=""):
    return f"alignas({align or SIZES[kind]}) {storage}u8 {name}[{SIZES[kind] * int(count.strip('[]') if count else 1)}]"


def declaration(text):
    """A statement of a function that declares memory of its own, or says something of the code."""
    found = re.fullmatch(r"\.(?:param|local) " + VARIABLE, text)
    if found:
        align, kind, name, count = found.groups()
        return f"{bytes_named(identifier(name), align, kind, count)};"
    if re.match(r"\.pragma\b", text) or is_shared(text):
        return ""
    raise TranslationError(f"unknown declaration: {text}")


def statement(text, line=0):
    predicate = re.match(r"@(!?)(%p\d+) ", text)
    if predicate:
        text = text[predicate.end():]
    instruction = Instruction(text, line)
    handler = HANDLERS.get(instruction.name)
    if handler is None:
        instruction.fail()
    code = handler(instruction)
    return f"if ({predicate[1]}{identifier(predicate[2])}) {code}" if predicate else code


# Braces at the place of a statement are of a block; others are of operands, within a statement.
PART = re.compile(r"\s*(?:\.loc\s+\d+\s+(?P<line>\d+)[^\n]*|(?P<label>[$\w]+):|(?P<brace>[{}])|(?P<statement>[^;]+);|(?P<nothing>;|$))")


class Body:
    """What stands between the braces of a function. Declarations come first, since a jump may not cross initial values; registers
    of a block within it, which has no labels, stand there."""

    def __init__(self, text, first_line):
        self.declared, self.code = [], []
        self.label, self.line, self.depth, at = None, 0, 0, 0
        while at < len(text):
            part = PART.match(text, at)
            if part is None:
                raise TranslationError(f"unknown text: {text[at:at + 60].strip()}")
            at = part.end()
            try:
                self.add(part)
            except TranslationError as error:
                raise TranslationError(f"line {first_line + text.count(chr(10), 0, part.start('statement'))} of the PTX: {error}")

    def add(self, part):
        if part["line"]:
            self.line = int(part["line"])
        elif part["label"]:
            self.label = part["label"]
            self.code.append(identifier(part["label"]) + ":;")
        elif part["brace"]:
            self.depth += 1 if part["brace"] == "{" else -1
            self.code.append(part["brace"])
        elif part["statement"]:
            self.add_statement(" ".join(part["statement"].split()))

    def add_statement(self, text):
        declared = registers(text)
        if text.startswith(".branchtargets"):
            self.code.pop()  # the label is the table's
            declared = flow.branch_targets(self.label, text)
        if declared is not None:
            (self.code if self.depth > 0 else self.declared).append(declared)
        else:
            self.code.append(declaration(text) if text.startswith(".") else statement(text, self.line))

    def lines(self):
        return [line for line in self.declared + self.code if line]


def parameters(text):
    """(name, bytes) of each."""
    result = []
    for each in filter(None, (" ".join(part.split()) for part in text.split(","))):
        found = re.fullmatch(r"\.param (?:\.align (\d+) )?\.(\w+)(?: \.ptr(?: \.\w+)*(?: \.align \d+)?)? ([\w$]+)(?:\[(\d+)\])?", each)
        if not found:
            raise TranslationError(f"unknown parameter: {each}")
        result.append((found[3], SIZES[found[2]] * int(found[4] or 1)))
    return result


class Function:
    """A kernel finds its arguments as `cuLaunchKernel` is given them; a function has pointers to its own and its result's."""

    def __init__(self, found, text, first_line):
        kind, results, self.name, arguments, self.limits = found.groups()[:5]
        self.is_kernel, self.parameters = kind == ".entry", parameters(arguments)
        self.body = Body(text, first_line).lines()
        if "cp.async" in text:
            self.body.insert(0, "Copies copies;")
        name = identifier(self.name)
        if self.is_kernel:
            self.head = f'extern "C" void {name}(void* const* arguments)'
            self.body = [f"u8* const {identifier(n)} = (u8*)arguments[{k}];" for k, (n, _) in enumerate(self.parameters)] + self.body
            return
        if re.search(r"\bexit;", text):
            raise TranslationError(f"{self.name} ends the thread")
        every = parameters(results or "") + self.parameters
        self.head = f"static void {name}(" + ", ".join(f"u8* {identifier(n)}" for n, _ in every) + ")"

    def sizes(self):
        """The array that the row names."""
        sizes = "".join(f"{size}, " for _, size in self.parameters)
        return f"static const unsigned sizes_of_{identifier(self.name)}[] = {{{sizes}0}};"

    def row(self):
        """Of the library's table of kernels."""
        bounds = re.search(r"\.maxntid ([\d, ]+)", self.limits)
        most_threads = bounds[1].replace(",", " *") if bounds else "1024"
        name = identifier(self.name)
        return f'{{"{self.name}", run_threads<{name}>, {len(self.parameters)}, sizes_of_{name}, {most_threads}}}, '


def variables(source, is_used):
    pattern = r"\.(?:global|const)\s+(?:\.align (\d+) )?\.(\w+)\s+([\w$]+)(?:\[(\d*)\])?\s*(?:=\s*(\{[^}]*\}|[^;]+))?;"
    result = []
    for align, kind, name, count, values in re.findall(pattern, source):
        if not is_used(name):
            continue
        if kind not in SIZES:
            raise TranslationError(f"unknown variable: {name}")
        items = [v.strip() for v in values.strip("{} \n").split(",")] if values else []
        u = f"u{8 * SIZES[kind]}"
        result.append(f"alignas({align or SIZES[kind]}) static {u} {identifier(name)}[{max(int(count or 1), len(items))}] = "
                      f"{{{', '.join(f'({u}){number_bits(v)}' for v in items)}}};")
    return result


def is_shared(text):
    return re.match(r"(?:\.extern )?\.shared\b", text) is not None


def shared_variables(source):
    """In the section that the driver knows, under their own names. Those without a size are what a launch gives."""
    result = []
    for align, kind, name, count in dict.fromkeys(re.findall(r"\.shared " + VARIABLE + ";", source)):
        memory_of = "kiln_fake_dynamic"
        if count != "[]":
            memory_of = identifier(name) + "_memory"
            result.append(f"{bytes_named(memory_of, align, kind, count, 'static ')} __asm__(\"{name}\") "
                          '__attribute__((used, section("kiln_fake_shared")));')
        result.append(f"static const SharedVariable {identifier(name)}{{{memory_of}}};")
    return result


FUNCTION = re.compile(r"(?:\.(?:visible|weak|extern)\s+)?(\.entry|\.func)\s+(?:\(([^)]*)\)\s*)?([\w$]+)\s*\(([^)]*)\)([^{;]*)([{;])")
TABLE = """static const KilnFakeKernel kernels[] = {{{rows}{{}}}};
extern "C" __attribute__((visibility("default"))) KilnFakeLibrary kiln_fake_library = {{
  &kiln_fake_place, kernels, {count}, __start_kiln_fake_shared, __stop_kiln_fake_shared, kiln_fake_dynamic,
  kiln_fake_dynamic + sizeof(kiln_fake_dynamic)}};"""


def closing_brace(source, begin):
    """Of the brace before `begin`."""
    depth = 1
    for found in re.compile(r"[{}]").finditer(source, begin):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.start()
    raise TranslationError("a function without an end")


def translate(ptx):
    """C++ of a module of PTX; see card.h for what it includes."""
    source = re.sub(r"//[^\n]*", "", ptx)
    functions, inside, outside, at = [], [], [], 0
    while found := FUNCTION.search(source, at):
        outside.append(source[at:found.start()])
        at = found.end()
        if found[6] == "{":
            end = closing_brace(source, at)
            functions.append(Function(found, source[at:end], 1 + source.count("\n", 0, at)))
            inside.append(source[at:end])
            at = end + 1
    outside.append(source[at:])
    names = set(re.findall(r"[\w$]+", "".join(inside)))
    lines = ['#include "tests/cuda/ptx/card.h"', *variables("".join(outside), names.__contains__), *shared_variables(source)]
    lines += [f"{each.head};" for each in functions]
    for each in functions:
        lines += [each.head + " {", *("  " + line for line in each.body), "}"]
    kernels = [each for each in functions if each.is_kernel]
    lines += [each.sizes() for each in kernels]
    lines.append(TABLE.format(rows="".join(each.row() for each in kernels), count=len(kernels)))
    return "\n".join(lines) + "\n"
