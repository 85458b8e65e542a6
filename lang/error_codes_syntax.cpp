// Error codes of text that is not Kiln.
#include <array>

#include "lang/error_code_rows.h"

namespace kiln::lang {
namespace {

constexpr std::array<ErrorCode, 27> kSyntaxCodes{{
    {"K0100", "SyntaxError", "", "the text is not Kiln",
     "The text does not follow the grammar, in a way that has no page of its own. The caret stands "
     "under the first place that cannot be read; what is wrong is there or just before it.",
     "y = 3 if true", "y = 3 if true else 0"},
    {"K0101", "SyntaxError",
     "expected the end of the statement*\nexpected the end of the expression*\nexpected a new line or `;`*",
     "something follows a complete statement",
     "A statement was complete, and more follows on its line. Most often an operator, a comma or a "
     "pair of parentheses is missing: calls always have parentheses.",
     R"(print "hello")", R"(print("hello"))"},
    {"K0102", "SyntaxError", "expected `{` to begin the body of*\nexpected a body: *",
     "a body without braces",
     "The bodies of `if`, `for`, `while`, `fn`, `with` and `struct` stand in braces; indentation "
     "means nothing. A colon before the body, as in Python, is not written.",
     R"(x = 3
if x > 2: print("large"))",
     R"(x = 3
if x > 2 { print("large") })"},
    {"K0103", "SyntaxError",
     "expected `,` or * to close the*\n`)` without*\n`]` without*\n`}` without*\nfound * where * must close "
     "*\nthis `(` is never closed\nthis `[` is never closed\nthis `{` is never closed",
     "a bracket that does not close",
     "Between items stands a comma, and each bracket is closed by one of its kind. At the prompt "
     "an open bracket asks for another line.",
     "max(1 2)", "max(1, 2)"},
    {"K0104", "SyntaxError",
     "expected an expression*\nexpected an argument*\nexpected an index*\nexpected an item*",
     "a value is missing",
     "A value should stand here: after an operator, a comma or `=`, or between brackets.", "x = 1 + * 2",
     "x = 1 * 2"},
    {"K0105", "SyntaxError", "expected a name*\nexpected the name of*", "a name is missing",
     "A name should stand here: after a point, `fn`, `for` or `import`, or before the `=` of an "
     "argument.",
     "import nn as 3", "import nn as layers"},
    {"K0106", "SyntaxError", "unexpected *", "a character that Kiln does not know",
     "The character begins nothing in Kiln. `and`, `or` and `not` are words, a comment begins with "
     "`#`, and quotes are plain ones; text copied from a page may hold others that look alike.",
     R"(x = 3
x > 1 && x < 5)",
     R"(x = 3
x > 1 and x < 5)"},
    {"K0107", "SyntaxError", "this string is not closed*\nthe string that this * opens is never closed",
     "a text that does not end on its line",
     "A text in single or double quotes ends on its line. One of several lines stands in three "
     "quotes of a kind.",
     R"(x = "hello)", R"(x = "hello")"},
    {"K0108", "SyntaxError", "unknown escape*\n`\\u` must be followed*\n* does not name a character",
     "a backslash before something else",
     "In a text `\\n` is a new line, `\\t` a tab and `\\\\` a backslash; other letters after a "
     "backslash mean nothing.",
     R"(path = "data\images")", R"(path = "data\\images")"},
    {"K0109", "SyntaxError",
     "*is not a * number\n*is not a number\na decimal number does not begin with 0\nan underscore in a "
     "number*",
     "a number that cannot be read",
     "A number begins with a digit and has no letters at its end: `0x1f`, `0b101`, `1_000_000` and "
     "`1e-3` are numbers.",
     "x = 12px", "x = 12"},
    {"K0110", "SyntaxError", "this integer does not fit into 64 bits", "an integer beyond 64 bits",
     "An int has 64 bits: from -9223372036854775808 to 9223372036854775807. A float holds larger "
     "numbers, not exactly.",
     "x = 100000000000000000000", "x = 1e20"},
    {"K0111", "SyntaxError",
     "cannot assign to*\nthere is no target to assign to\na target that takes the rest*",
     "a target that cannot be assigned to",
     "Assigned to are names, fields, items and tuples of these. To compare, write `==`.",
     R"(x = 3
x + 1 = 4)",
     R"(x = 3
x + 1 == 4)"},
    {"K0112", "SyntaxError",
     "`=` assigns, which cannot happen in*\nexpected the name of an argument before `=`*",
     "an assignment inside an expression",
     "`=` is a statement of its own, or gives an argument by its name. To compare, write `==`.",
     R"(x = 3
print((x = 4)))",
     R"(x = 3
print((x == 4)))"},
    {"K0113", "SyntaxError", "`return` outside a function\n`yield` outside a function",
     "`return` or `yield` outside a function",
     "Both belong to a function. A script ends at its last line, or by `exit()`.", "return 3",
     R"(fn three() { return 3 }
three())"},
    {"K0114", "SyntaxError", "*outside a loop", "`break` or `continue` outside a loop",
     "Both belong to a loop, the innermost one around them, within the same function.", "if true { break }",
     "for i in range(3) { break }"},
    {"K0115", "SyntaxError",
     "there is no variable * around this function\n`nonlocal` outside a function\n*cannot be `nonlocal`",
     "`nonlocal` without a variable to mean",
     "`nonlocal x` makes assignments go to a variable x outside of the function; one must exist "
     "there, and the function's own parameters are not meant.",
     "fn f() { nonlocal missing_count; missing_count = 1 }",
     R"(fn f() { count = 0; fn g() { nonlocal count; count = 1 }; g(); return count }
f())"},
    {"K0116", "SyntaxError",
     "*without an `if` before it\n*without a `try` before it\nexpected `catch` or `finally`*",
     "a part of a statement without its beginning",
     "`else` follows the `}` of an `if`, `catch` and `finally` that of a `try`; at the prompt on "
     "the same line.",
     R"(else { print("no") })", R"(if false { print("yes") } else { print("no") })"},
    {"K0117", "SyntaxError",
     "*stands twice*\n* is declared twice\n*is given twice*\n*named twice*\nthe parameter * "
     "twice*\nparameter * twice\n*twice in*",
     "the same name twice", "Parameters, arguments and names of a pattern differ from each other.",
     "fn f(x, x) = x", "fn f(x, y) = x"},
    {"K0118", "SyntaxError",
     "*needs a default, because*\n*must be the last parameter\n*cannot have a default\n*must stand before*",
     "parameters in an order that cannot be called",
     "Parameters with defaults stand after those without, then `*rest`, and `**named` last.",
     "fn f(x = 1, y) = x", "fn f(y, x = 1) = x"},
    {"K0119", "SyntaxError",
     "*in an f-string*\nexpected `}` to close the field of the f-string\na field inside a format*",
     "a field of an f-string that cannot be read",
     "In an f-string a pair of braces holds an expression, perhaps with a format after a colon; a "
     "brace itself is written twice, `{{`.",
     R"(name = "Ada"
f"{name")",
     R"(name = "Ada"
f"{name}")"},
    {"K0120", "SyntaxError", "*comprehension*\n*stands in a dict\n*stands in a set",
     "items of a list, dict or set that do not go together",
     "A comprehension stands alone in its brackets, and a dict holds pairs throughout, a set none.",
     "{1: 2, 3}", "{1: 2, 3: 4}"},
    {"K0121", "SyntaxError", "`*` spreads*\n`**` spreads*", "a star with nothing to spread over",
     "`*xs` spreads items over a call, a list or a tuple, and takes the rest among targets; `**d` "
     "spreads a dict over a call or a dict. Elsewhere a star is a product.",
     R"(x = [1, 2]
y = *x)",
     R"(x = [1, 2]
y = [*x])"},
    {"K0122", "SyntaxError", "*pattern*\na `match` has no case\nthis takes every value*",
     "a pattern that cannot be read",
     "After `case` stands a literal, a name, `_`, a list or dict of patterns, a struct with its "
     "fields, or several with `|` between; a name takes any value, so only the last may be one.",
     "match 3 { }", R"(match 3 { case 3 { print("three") } })"},
    {"K0123", "SyntaxError", "this is nested too deeply*", "text that is nested too deeply",
     "Brackets and blocks are at most 500 levels deep. Give parts names of their own.",
     R"-(eval_text("(" * 600 + "1" + ")" * 600))-", R"-(eval_text("((1))"))-"},
    {"K0124", "SyntaxError", "graph text, line*", "the text of a graph that cannot be read",
     "`parse_graph` reads what a graph prints: a head with typed inputs, a node a line, `return`.",
     R"(parse_graph("graph f("))", R"(parse_graph("graph functional f(%x: f32[2]) {\n  return %x\n}"))"},
    {"K0125", "SyntaxError", "a field cannot be deleted*\n`del` takes*", "what cannot be deleted",
     "`del` takes a variable, or an item of a list or dict. A field stays as long as its instance; "
     "give it `none`.",
     R"(struct P { x }
p = P(1)
del p.x)",
     R"(struct P { x }
p = P(1)
p.x = none)"},
    {"K0126", "SyntaxError", "a tuple is always true*", "an assertion in parentheses",
     "`assert` is no function: in parentheses a condition and a message are a tuple, which is true "
     "whatever it holds.",
     R"(assert(1 == 2, "they differ"))", R"(assert 1 == 1, "they differ")"},
}};

}  // namespace

std::span<const ErrorCode> syntax_codes() { return kSyntaxCodes; }

}  // namespace kiln::lang
