// Points of images in the instructions of this processor.

#pragma once

#include "image_points.hpp"
#include "instructions.hpp"

namespace instar {

#define INSTAR_DECLARED(set)                                                           \
  namespace set {                                                                      \
  void image_points(const ImagePoints<double>&, std::int64_t begin, std::int64_t end); \
  void image_points(const ImagePoints<float>&, std::int64_t begin, std::int64_t end);  \
  }
INSTAR_IN_ALL_SETS(INSTAR_DECLARED)
INSTAR_CHOICE(Located, image_points)
#undef INSTAR_DECLARED

}  // namespace instar
