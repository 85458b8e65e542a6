#include "repl/init_file.h"

#include <unistd.h>

#include "repl/paths.h"

namespace kiln::repl {

void run_init_file(Session& session) {
  const std::string path = config_folder() + "/init.kiln";
  if (path.front() == '/' && access(path.c_str(), F_OK) == 0) session.eval_file(path);
}

}  // namespace kiln::repl
