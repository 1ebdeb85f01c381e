// Where images are: r = positions[owner] + shift·A, x, y, z and a zero side by side.
//
// As `Images.positions` in instar/neighbors/images.py has it. A row whose owner is out of bounds is
// nowhere, far away from everything.

#include "image_points.hpp"

#include "vectors.hpp"

namespace instar {
namespace {

// x, y, z and one number more.
template <class Real>
struct Four;
template <>
struct Four<double> {
  typedef double Type __attribute__((vector_size(32)));
};
template <>
struct Four<float> {
  typedef float Type __attribute__((vector_size(16)));
};

template <class Real>
inline typename Four<Real>::Type three(const Real* from) {
  return typename Four<Real>::Type{from[0], from[1], from[2], 0};
}

template <class Real>
void located(const ImagePoints<Real>& all, std::int64_t begin, std::int64_t end) {
  using Vector = typename Four<Real>::Type;
  constexpr Real far = Real(1e9);  // FAR of neighbors/images.py
  Vector cell[3] = {};
  std::int64_t present = -1;
  for (std::int64_t image = begin; image < end; ++image) {
    const std::int64_t owner = all.owner[image];
    if (owner < 0 || owner >= all.particles) {
      // One by one: GCC 12 takes a vector of these four constants for four times the first.
      Real* point = all.points + 4 * image;
      point[0] = point[1] = point[2] = far;
      point[3] = 0;
      continue;
    }
    std::int64_t system = all.systems == 1 ? 0 : all.system[owner];
    system = system < 0 ? 0 : system < all.systems ? system : all.systems - 1;
    if (system != present) {
      for (int k = 0; k < 3; ++k) cell[k] = three(all.vectors + 9 * system + 3 * k);
      present = system;
    }
    const std::int32_t* shift = all.shift + 3 * image;
    const Vector offset = Real(shift[0]) * cell[0] + Real(shift[1]) * cell[1] +
                          Real(shift[2]) * cell[2];
    put(Vector(three(all.positions + 3 * owner) + offset), all.points + 4 * image);
  }
}

}  // namespace

namespace INSTRUCTIONS {

void image_points(const ImagePoints<double>& all, std::int64_t begin, std::int64_t end) {
  located(all, begin, end);
}

void image_points(const ImagePoints<float>& all, std::int64_t begin, std::int64_t end) {
  located(all, begin, end);
}

}  // namespace INSTRUCTIONS
}  // namespace instar
