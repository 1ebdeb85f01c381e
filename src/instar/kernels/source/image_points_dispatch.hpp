// Points of images in the instructions of this processor.

#pragma once

#include "image_points.hpp"
#include "instructions.hpp"

namespace instar {

#define INSTAR_DECLARE(set)                                                                \
  namespace set {                                                                          \
  void image_points(const ImagePoints<double>&, std::int64_t begin, std::int64_t end); \
  void image_points(const ImagePoints<float>&, std::int64_t begin, std::int64_t end);  \
  }
INSTAR_DECLARE(baseline)
#if defined(INSTAR_X86)
INSTAR_DECLARE(avx2)
INSTAR_DECLARE(avx512)
#endif
#undef INSTAR_DECLARE

template <class Real>
Located<Real> image_points(Instructions instructions) {
#if defined(INSTAR_X86)
  if (instructions == Instructions::avx512) return avx512::image_points;
  if (instructions == Instructions::avx2) return avx2::image_points;
#endif
  (void)instructions;
  return baseline::image_points;
}

}  // namespace instar
