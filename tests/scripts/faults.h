// Owns what the runner says when a script makes the process fault.
#pragma once

#include <string>

// From now on a fault tells the place that ran last, whether the host touched memory of the guarded device,
// and the functions that were under way.
void tell_faults();
void now_running(std::string place);
