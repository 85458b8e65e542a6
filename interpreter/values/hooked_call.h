// Owns what a call of an instance means: its method `call`, or that with the hooks that were put on the
// module.
#pragma once

#include "interpreter/values/objects.h"

namespace kiln::interp {

// The field that the library gives a module with hooks (stdlib/prelude_hooks.kiln): called with the module in
// front of the arguments. None where its hooks are gone. No part of what the module is.
inline constexpr std::string_view kHookedCall = "_hooked_call";

// Null where the instance cannot be called.
inline const Value* called_of(Instance& instance) {
  if (!instance.extra.empty()) {
    if (const Value* hooked = instance.find(kHookedCall); hooked != nullptr && !hooked->is_none())
      return hooked;
  }
  return instance.struct_type().method("call");
}

}  // namespace kiln::interp
