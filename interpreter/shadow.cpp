#include "interpreter/shadow.h"

#include <unistd.h>

#include <utility>

#include "interpreter/values/unknown.h"

namespace kiln::interp::shadow {
namespace {
bool is_shadow = false;
thread_local bool is_check = false;
}  // namespace

bool active() { return is_shadow; }
bool is_silent() { return is_shadow || is_check; }
void begin() { is_shadow = true; }
void leave() {
  need_run();
  if (is_shadow) _exit(kLeft);
}
void need_run() {
  if (is_check) throw Unknowable{"it depends on something outside of the program"};
}
Check::Check() : before_(std::exchange(is_check, true)) {}
Check::~Check() { is_check = before_; }

}  // namespace kiln::interp::shadow
