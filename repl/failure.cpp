#include "repl/failure.h"

#include <unistd.h>

#include <atomic>
#include <ctime>
#include <fstream>
#include <new>

#include "interpreter/interpreter.h"
#include "repl/version.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace kiln::repl {
namespace {

Failure internal(std::string cause) {
  Failure failure;
  failure.fault = Failure::Fault::Internal;
  failure.diagnostic.kind = "InternalError";
  failure.diagnostic.message = "kiln itself failed here, your program did not";
  failure.cause = std::move(cause);
  return failure;
}

Failure user(lang::Diagnostic diagnostic) {
  // The VM gives a defect of ours a place in the program; what it says of it is for a report.
  if (diagnostic.kind == "InternalError") {
    Failure failure = internal(diagnostic.message);
    failure.diagnostic.labels = std::move(diagnostic.labels);
    failure.diagnostic.trace = std::move(diagnostic.trace);
    return failure;
  }
  Failure failure;
  failure.exit_code = kExitError;
  // A syntax error with a trace comes from a module imported by a running program: that one had begun.
  if (diagnostic.kind == "SyntaxError" && diagnostic.trace.size() <= 1) failure.exit_code = kExitUsage;
  if (diagnostic.kind == "Interrupted") {
    failure.exit_code = kExitInterrupted;
    kiln::interrupt_requested.store(false);
  }
  failure.diagnostic = std::move(diagnostic);
  return failure;
}

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const lang::UserError& error) {
    return user(error.diagnostic());
  } catch (const interp::Exit& exit) {
    return {Failure::Fault::Exit, {}, exit.code, {}};
  } catch (const OpError& error) {
    return user({std::string(name(error.kind())), error.message(), {}, error.help(), {}});
  } catch (const std::bad_alloc&) {
    return user({"OutOfMemory", "the machine has no memory left for this", {}, {}, {}});
  } catch (const std::exception& error) {
    return internal(error.what());
  } catch (...) {
    return internal("an exception of unknown type");
  }
}

std::string write_reproduction(const std::string& folder, const std::string& done, const std::string& last,
                               const std::string& cause) {
  if (folder.empty()) return {};
  const std::time_t now = std::time(nullptr);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", std::localtime(&now));
  static int count = 0;
  const std::string path =
      folder + "/failure-" + stamp + "-" + std::to_string(getpid()) + "-" + std::to_string(++count) + ".kiln";
  std::ofstream file(path);
  file << "# An internal failure of kiln " << kVersion << ".\n# Cause: ";
  for (const char c : cause) file << (c == '\n' ? ' ' : c);
  file << "\n# This script should fail the same way. Please attach it to a report.\n\n" << done;
  file << "\n# The entry that failed:\n" << last << "\n";
  file.close();
  return file ? path : std::string();
}

}  // namespace kiln::repl
