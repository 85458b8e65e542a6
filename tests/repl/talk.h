// A conversation with a session, for tests of what entries print.
#pragma once

#include <string>
#include <string_view>

#include "repl/session.h"

namespace kiln::repl {

struct Talk {
  Session session{{}};
  // What the entry prints, errors behind the rest.
  std::string operator()(std::string_view entry) {
    const Result result = session.eval(entry);
    return result.output + result.diagnostics;
  }
};

}  // namespace kiln::repl
