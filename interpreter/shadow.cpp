#include "interpreter/shadow.h"

#include <unistd.h>

namespace kiln::interp::shadow {
namespace {
bool is_shadow = false;
}  // namespace

bool active() { return is_shadow; }
void begin() { is_shadow = true; }
void leave() {
  if (is_shadow) _exit(kLeft);
}

}  // namespace kiln::interp::shadow
