// Owns whether compiled code may round otherwise than ops one by one do, as programs say by `with fastmath()
// { … }`. It belongs to the thread, and graphs keep what holds when they are recorded.
#pragma once

namespace kiln {

bool fast_math();
void set_fast_math(bool allowed);

}  // namespace kiln
