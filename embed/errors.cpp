#include <new>

#include "embed/guarded.h"
#include "repl/failure.h"

namespace kiln::embed {
namespace {

// For when there is no memory for another one.
kiln_error& no_memory() {
  static kiln_error only{
      KILN_ERROR_INTERNAL, "OutOfMemory", "", "no memory for an error", "", "{}", "", 0, 0};
  return only;
}

kiln_error_kind kind_of(const repl::Failure& failure) {
  if (failure.fault == repl::Failure::Fault::Exit) return KILN_ERROR_EXIT;
  if (failure.fault == repl::Failure::Fault::Internal) return KILN_ERROR_INTERNAL;
  return failure.exit_code == repl::kExitInterrupted ? KILN_ERROR_INTERRUPTED : KILN_ERROR_PROGRAM;
}

lang::Diagnostic described(repl::Failure failure) {
  if (failure.fault == repl::Failure::Fault::Exit)
    return {"Exit", "the program called exit(" + std::to_string(failure.exit_code) + ")", {}, {}, {}};
  if (!failure.cause.empty()) failure.diagnostic.message += ": " + failure.cause;
  return std::move(failure.diagnostic);
}

kiln_error* made(kiln_error_kind kind, const lang::Diagnostic& diagnostic) {
  auto* const error = new kiln_error;
  error->kind = kind;
  error->name = diagnostic.kind;
  error->code = diagnostic.code();
  error->message = diagnostic.message;
  error->text = lang::render(diagnostic);
  error->json = lang::render_json(diagnostic);
  if (const lang::Span place = diagnostic.user_place()) {
    error->file = place.file->name();
    error->line = static_cast<int>(place.file->locate(place.begin).line);
  }
  return error;
}

kiln_error* error_being_handled() {
  try {
    throw;
  } catch (const WrongCall& wrong) {
    return made(KILN_ERROR_ARGUMENT, {"ArgumentError", wrong.message, {}, {}, {}});
  } catch (...) {
    const repl::Failure failure = repl::current_failure();
    kiln_error* const error = made(kind_of(failure), described(failure));
    if (error->kind == KILN_ERROR_EXIT) error->exit_code = failure.exit_code;
    return error;
  }
}

}  // namespace

kiln_error* current_error() noexcept {
  try {
    return error_being_handled();
  } catch (...) {
    return &no_memory();
  }
}

}  // namespace kiln::embed

kiln_error_kind kiln_error_get_kind(const kiln_error* error) { return error->kind; }
const char* kiln_error_name(const kiln_error* error) { return error->name.c_str(); }
const char* kiln_error_code(const kiln_error* error) { return error->code.c_str(); }
const char* kiln_error_message(const kiln_error* error) { return error->message.c_str(); }
const char* kiln_error_text(const kiln_error* error) { return error->text.c_str(); }
const char* kiln_error_json(const kiln_error* error) { return error->json.c_str(); }
const char* kiln_error_file(const kiln_error* error) { return error->file.c_str(); }
int kiln_error_line(const kiln_error* error) { return error->line; }
int kiln_error_exit_code(const kiln_error* error) { return error->exit_code; }

void kiln_error_free(kiln_error* error) {
  if (error != &kiln::embed::no_memory()) delete error;
}
