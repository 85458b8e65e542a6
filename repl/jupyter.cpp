#include "repl/jupyter.h"

#include <unistd.h>

#include "repl/options.h"
#include "tensor/own_folder.h"

namespace kiln::repl {

void run_jupyter(const std::vector<std::string>& arguments) {
  const std::string program = own_folder() / "kiln-kernel";
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& each : arguments) words.push_back(const_cast<char*>(each.c_str()));
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  throw UsageError{"this build has no kernel for Jupyter: there is no '" + program + "'",
                   "install xeus-dev (`scripts/setup` does) and build again"};
}

}  // namespace kiln::repl
