// Owns the form of what the fake NVRTC gives as a CUBIN and the fake driver loads: a head, and a library of
// the host.
#pragma once

#include <cstdint>
#include <string>

#include "tests/cuda/fake/shim/abi.h"

namespace kiln::fake {

struct Architecture {
  int number = 0;                 // 90 is sm_90
  bool is_for_one_alone = false;  // sm_90a
};

// The library is checked where settings say so.
std::string image_of(Architecture architecture, const std::string& library);

// An image that is checked is of another card than one that is not.
enum class ImageState { Good, Damaged, OtherCard };

struct Image {
  ImageState state = ImageState::Damaged;
  std::string library;
};
// Reads an image that may be anything, of memory that may end before it does.
Image read_image(const void* place, int capability);

}  // namespace kiln::fake
