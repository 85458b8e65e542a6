// Owns the cells that ran as a program in a file, so that they can be run again after a kernel that crashed.
#pragma once

#include <atomic>
#include <string>

namespace kiln::notebook {

// The file is there while the kernel lives. One that is there already is of a kernel of the same name that
// did not end as it should: it is kept beside, and a later `forget` removes both.
class Journal {
 public:
  // "" keeps nothing. A file that cannot be written is not an error.
  explicit Journal(std::string path);

  // Of the kernel before; "" when there was none, or it ended as it should.
  const std::string& earlier() const { return earlier_; }
  // Takes the program so far, whose beginning is what it was given last but where a session forgot all.
  void keep(const std::string& program);
  void forget();  // for good; may be called by any thread

 private:
  std::string path_, earlier_;
  std::size_t written_ = 0;  // bytes of the program
  std::atomic<bool> is_forgotten_{false};
};

}  // namespace kiln::notebook
