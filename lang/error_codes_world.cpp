// Error codes of files, limits and what programs throw.
#include <array>

#include "lang/error_code_rows.h"

namespace kiln::lang {
namespace {

constexpr std::array<ErrorCode, 12> kWorldCodes{{
    {"K1000", "IOError", "", "a file that cannot be used",
     "A file or folder cannot be read or written, in a way that has no page of its own.",
     R"(throw IOError("no disk"))", R"(exists("/tmp"))"},
    {"K1001", "IOError", "there is no module*\nthere is no file * to import", "a module that is not there",
     "A module is one of the standard library, or a file given by its path in quotes, from the "
     "folder of the importing file.",
     "import optm", "import optim"},
    {"K1002", "IOError", "there is no file*\ncannot open*\ncannot read*\n*no such file*\n*does not exist*",
     "a file that is not there",
     "Paths are relative to where kiln was started. `exists(path)` asks, `listdir(folder)` shows "
     "what is there.",
     R"(load("/nowhere/weights.npz"))", R"(exists("/nowhere/weights.npz"))"},
    {"K1100", "AssertionError", "", "an assertion that does not hold",
     "`assert condition, \"message\"` found its condition false: the program's own check says that "
     "something is wrong.",
     R"(a = 1
assert a + 1 == 3)",
     R"(a = 1
assert a + 1 == 2)"},
    {"K1101", "OverflowError", "", "a number that does not fit",
     "A number does not fit where it should go: an int of 64 bits, or a tensor's dtype. Floats go "
     "further.",
     "tensor([300], dtype=u8)", "tensor([300], dtype=i64)"},
    {"K1102", "OverflowError", "the result of * does not fit an int (64 bits)", "an int beyond 64 bits",
     "Ints have 64 bits, and nothing wraps around silently. Floats go further, not exactly: `2.0 "
     "** 64`.",
     "2 ** 64", "2.0 ** 64"},
    {"K1103", "RecursionError", "", "something that is nested too deeply",
     "Calls or values are nested deeper than the machine follows: most often a function that calls "
     "itself without an end, or a list that holds itself.",
     R"(fn f(n) = f(n + 1)
f(0))",
     R"(fn f(n) = n if n > 100 else f(n + 1)
f(0))"},
    {"K1104", "OutOfMemory", "", "no memory for this",
     "The device has not as much memory as this needs. `:mem` shows what is alive; smaller "
     "batches, `no_grad()` where no gradient is needed, and `checkpoint` need less.",
     "zeros(1000000, 1000000, 100)", "zeros(100, 100)"},
    {"K1105", "Interrupted", "", "the program was stopped",
     "Ctrl-C ends what runs, and no `catch` takes it. Every variable keeps its value.",
     R"(throw Interrupted("stop"))", "1 + 1"},
    {"K1106", "RanksLost", "", "a process of the job is gone",
     "Another process of the job ended or does not answer, so that what all of them do together "
     "cannot be done. The message names which. A job that may go on with fewer catches it, and "
     "goes on from its last checkpoint.",
     R"(throw RanksLost("rank 2 is gone"))",
     R"(try { throw RanksLost("rank 2 is gone") } catch err { print(err.kind) })"},
    {"K1200", "Error", "", "an error that the program throws",
     "A text or another value was thrown by the program itself. `catch err` gets it; a kind of "
     "error, `throw ValueError(\"…\")`, lets those who catch it tell it from others.",
     R"(throw "no data")", R"(try { throw "no data" } catch err { print(err.message) })"},
    {"K1300", "InternalError", "", "Kiln itself failed",
     "The program did nothing wrong: Kiln made a mistake. The session goes on, and a script that "
     "shows it was written; please report it with that.",
     "", "1 + 1"},
}};

}  // namespace

std::span<const ErrorCode> world_codes() { return kWorldCodes; }

}  // namespace kiln::lang
