// B-splines M_p of several particles at once, as potentials/ewald/splines.py has them.
//
//     M_n(u) = [u M_(n−1)(u) + (n − u) M_(n−1)(u − 1)]/(n − 1),    M_p'(u) = M_(p−1)(u) − M_(p−1)(u − 1)
//
// A particle at the fraction x of the way from one point of the mesh to the next touches p points
// along an axis, the last of them the one after it; point j has M_p(x + p − 1 − j).

#pragma once

#include <cstdint>

#include "mesh.hpp"
#include "vectors.hpp"

namespace instar {
namespace {

constexpr int AT_ONCE = 16;
constexpr int WIDEST = 8;  // a line of a window is that wide in memory, with zeros at its end

// So many points of a line in one register, or in two.
template <class Real, int width>
struct Line;
template <>
struct Line<double, 2> {
  typedef double Type __attribute__((vector_size(16)));
};
template <>
struct Line<double, 4> {
  typedef double Type __attribute__((vector_size(32)));
};
template <>
struct Line<double, 8> {
  typedef double Type __attribute__((vector_size(64)));
};
template <>
struct Line<float, 2> {
  typedef float Type __attribute__((vector_size(8)));
};
template <>
struct Line<float, 4> {
  typedef float Type __attribute__((vector_size(16)));
};
template <>
struct Line<float, 8> {
  typedef float Type __attribute__((vector_size(32)));
};

template <class Real>
struct Windows {
  alignas(64) Real charge[AT_ONCE];
  alignas(64) Real value[3][WIDEST][AT_ONCE], slope[3][WIDEST][AT_ONCE];
  alignas(64) Real line[AT_ONCE][WIDEST], tilted[AT_ONCE][WIDEST];  // along z
  std::int32_t first[3][AT_ONCE];  // the first point that is touched, from −(p − 1) on
};

// The point before a particle. What is not a number is put before the last point: in bounds.
template <class Real>
inline Real corner_of(Real turned, Real size) {
  const Real below = __builtin_floor(turned);
  return below < size - 1 ? below : size - 1;
}

template <class Real>
inline Real turned_of(Real place, Real size) {
  return (place - Real(__builtin_floor(place))) * size;
}

// M_n at n points from M_(n−1) at n − 1, in place.
template <int n, class Real, class Vector>
inline void longer(const Vector& x, Vector* m) {
  const Vector scale = Vector{} + Real(1.0 / (n - 1));
  m[n - 1] = x * m[n - 2] * scale;
#pragma GCC unroll 8
  for (int j = n - 2; j > 0; --j) {
    m[j] = ((x + Real(n - 1 - j)) * m[j - 1] + (Real(1 + j) - x) * m[j]) * scale;
  }
  m[0] = (Real(1) - x) * m[0] * scale;
}

template <int n, int order, class Real, class Vector>
inline void lengthened(const Vector& x, Vector* m) {
  if constexpr (n <= order) {
    longer<n, Real>(x, m);
    lengthened<n + 1, order, Real>(x, m);
  }
}

template <int order, bool slopes, class Real>
inline void splines(const Real* fraction, Real (*value)[AT_ONCE], Real (*slope)[AT_ONCE]) {
  using Vector = typename Wide<Real>::Type;
  constexpr int lanes = sizeof(Vector) / sizeof(Real);
  for (int i = 0; i < AT_ONCE; i += lanes) {
    const Vector x = get<Vector>(fraction + i);
    Vector m[order] = {Real(1) - x, x};
    lengthened<3, order - 1, Real>(x, m);
    if (slopes) {
      put(Vector(-m[0]), slope[0] + i);
      for (int j = 1; j < order - 1; ++j) put(Vector(m[j - 1] - m[j]), slope[j] + i);
      put(m[order - 2], slope[order - 1] + i);
    }
    longer<order, Real>(x, m);
    for (int j = 0; j < order; ++j) put(m[j], value[j] + i);
  }
}

// The windows of `count` particles, numbered by `particle`.
template <int order, bool slopes, class Real>
inline void windows(const Grid& grid, const Real* place, const Real* charge,
                    const std::int32_t* particle, int count, Windows<Real>& all) {
  const std::int64_t sizes[3] = {grid.x, grid.y, grid.z};
  alignas(64) Real fraction[3][AT_ONCE];
  for (int i = 0; i < AT_ONCE; ++i) {
    const std::int64_t one = particle[i < count ? i : count - 1];
    all.charge[i] = charge[one];
    for (int k = 0; k < 3; ++k) fraction[k][i] = place[3 * one + k];
  }
  for (int k = 0; k < 3; ++k) {
    for (int i = 0; i < AT_ONCE; ++i) {
      const Real turned = turned_of(fraction[k][i], Real(sizes[k]));
      const Real corner = corner_of(turned, Real(sizes[k]));
      fraction[k][i] = turned - corner;
      all.first[k][i] = std::int32_t(corner) - (order - 1);
    }
    splines<order, slopes>(fraction[k], all.value[k], all.slope[k]);
  }
  for (int i = 0; i < AT_ONCE; ++i) {
    for (int j = 0; j < WIDEST; ++j) {
      all.line[i][j] = j < order ? all.value[2][j][i] : Real(0);
      if (slopes) all.tilted[i][j] = j < order ? all.slope[2][j][i] : Real(0);
    }
  }
}

// Where p points from `first` on are along an axis of `size` points that repeats.
template <int order>
inline void wrapped(std::int32_t first, std::int64_t size, std::int64_t* points) {
  for (int j = 0; j < order; ++j) {
    const std::int64_t point = std::int64_t(first) + j;
    points[j] = point < 0 ? point + size : point;
  }
}

}  // namespace
}  // namespace instar
