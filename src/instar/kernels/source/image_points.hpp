// What the points of images are made from; see image_points.cpp.

#pragma once

#include <cstdint>

namespace instar {

template <class Real>
struct ImagePoints {
  const Real* positions;  // (particles, 3)
  std::int64_t particles;
  const std::int32_t* system;  // (particles,)
  const Real* vectors;         // (systems, 3, 3)
  std::int64_t systems;
  const std::int32_t* owner;  // (images,): out of bounds for a row that is nowhere
  const std::int32_t* shift;  // (images, 3) whole cells
  Real* points;               // (images, 4): x, y, z, 0
};

// The points of images [begin, end).
template <class Real>
using Located = void (*)(const ImagePoints<Real>&, std::int64_t begin, std::int64_t end);

}  // namespace instar
