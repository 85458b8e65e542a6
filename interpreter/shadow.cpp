#include "interpreter/shadow.h"

#include <unistd.h>

#include <utility>

#include "interpreter/values/unknown.h"
#include "tensor/collective.h"
#include "tensor/error.h"

namespace kiln::interp::shadow {
namespace {
bool is_shadow = false;
thread_local bool is_check = false;

// The other ranks of a job know nothing of a shadow.
class NoRanks final : public Collectives {
 public:
  std::uint64_t start(std::vector<Collective>) override { end(); }
  bool is_done(std::uint64_t) override { end(); }
  Tensors wait(std::uint64_t) override { end(); }
  int rank(int) override { end(); }
  int size(int) override { end(); }

 private:
  [[noreturn]] static void end() {
    leave();
    throw InternalError("a process that is no shadow has no ranks");
  }
};
}  // namespace

bool active() { return is_shadow; }
bool is_silent() { return is_shadow || is_check; }
void begin() {
  static NoRanks none;
  set_collectives(&none);
  is_shadow = true;
}
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
