// What a vector of rows does together: a product added with one rounding, and points read side by
// side.
//
// Without an instruction for it a product is rounded before it is added. All sums of a pass are
// compiled for the same instructions, so forces have the same bits whatever else is asked for.

#pragma once

#include <type_traits>

#include "vectors.hpp"

#if defined(__AVX2__) && defined(__FMA__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // of its own _mm512_undefined_pd
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

namespace instar {
namespace {

template <class Real>
constexpr int AT_ONCE = BYTES / int(sizeof(Real));

// a·b + c
template <class Number>
INSTAR_INLINE Number added(Number a, Number b, Number c) {
#if defined(__FMA__)
  if constexpr (std::is_same_v<Number, double>) return __builtin_fma(a, b, c);
  if constexpr (std::is_same_v<Number, float>) return __builtin_fmaf(a, b, c);
#endif
  return a * b + c;
}

// Numbers of images, as many as there are lanes.
template <class Real>
struct Numbers {
  typedef std::uint32_t Type __attribute__((vector_size(4 * AT_ONCE<Real>)));
};

// What a number of images may be at most, and whether there is one at all.
template <class Real>
struct Seen {
  using Type = typename Numbers<Real>::Type;
  Type largest = {};

  INSTAR_INLINE void add(const std::int32_t* near) {
    const Type numbers = get<Type>(near);
    largest = numbers > largest ? numbers : largest;
  }
  INSTAR_INLINE std::uint32_t most() const {
    std::uint32_t most = 0;
    for (int l = 0; l < AT_ONCE<Real>; ++l) most = largest[l] > most ? largest[l] : most;
    return most;
  }
};

// x, y, z of the points (…, 4) with these numbers, one for each lane.
template <class Real>
struct Points {
  using Vector = typename Wide<Real>::Type;
  Vector x, y, z;

  static INSTAR_INLINE Points of(const Real* points, const std::int32_t* near) {
    Points all;
    for (int l = 0; l < AT_ONCE<Real>; ++l) {
      const Real* point = points + 4 * std::int64_t(near[l]);
      all.x[l] = point[0];
      all.y[l] = point[1];
      all.z[l] = point[2];
    }
    return all;
  }
};

#if defined(__AVX512F__) && defined(__FMA__)

template <>
INSTAR_INLINE Wide<double>::Type added(Wide<double>::Type a, Wide<double>::Type b, Wide<double>::Type c) {
  return _mm512_fmadd_pd(a, b, c);
}

template <>
INSTAR_INLINE Wide<float>::Type added(Wide<float>::Type a, Wide<float>::Type b, Wide<float>::Type c) {
  return _mm512_fmadd_ps(a, b, c);
}

// Eight points are four registers of two each, transposed: six shuffles in place of 24 loads.
template <>
INSTAR_INLINE Points<double> Points<double>::of(const double* points, const std::int32_t* near) {
  const auto both = [&](int k) {
    const auto at = [&](int l) { return _mm256_loadu_pd(points + 4 * std::int64_t(near[k + l])); };
    return _mm512_mask_broadcast_f64x4(_mm512_castpd256_pd512(at(0)), 0xF0, at(4));
  };
  const __m512d a = both(0), b = both(1), c = both(2), d = both(3);
  const __m512d front = _mm512_unpacklo_pd(a, b), back = _mm512_unpacklo_pd(c, d);
  const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
  const __m512i second = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
  const __m512d y = _mm512_permutex2var_pd(_mm512_unpackhi_pd(a, b), first,
                                           _mm512_unpackhi_pd(c, d));
  return {_mm512_permutex2var_pd(front, first, back), y,
          _mm512_permutex2var_pd(front, second, back)};
}

template <>
INSTAR_INLINE Points<float> Points<float>::of(const float* points, const std::int32_t* near) {
  const auto four = [&](int k) {
    const auto at = [&](int l) { return _mm_loadu_ps(points + 4 * std::int64_t(near[k + l])); };
    __m512 all = _mm512_castps128_ps512(at(0));
    all = _mm512_mask_broadcast_f32x4(all, 0x00F0, at(4));
    all = _mm512_mask_broadcast_f32x4(all, 0x0F00, at(8));
    return _mm512_mask_broadcast_f32x4(all, 0xF000, at(12));
  };
  const __m512d ab = _mm512_castps_pd(_mm512_unpacklo_ps(four(0), four(1)));
  const __m512d cd = _mm512_castps_pd(_mm512_unpacklo_ps(four(2), four(3)));
  const __m512d ef = _mm512_castps_pd(_mm512_unpackhi_ps(four(0), four(1)));
  const __m512d gh = _mm512_castps_pd(_mm512_unpackhi_ps(four(2), four(3)));
  return {_mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd)), _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd)),
          _mm512_castpd_ps(_mm512_unpacklo_pd(ef, gh))};
}

#elif defined(__AVX2__) && defined(__FMA__)

template <>
INSTAR_INLINE Wide<double>::Type added(Wide<double>::Type a, Wide<double>::Type b, Wide<double>::Type c) {
  return _mm256_fmadd_pd(a, b, c);
}

template <>
INSTAR_INLINE Wide<float>::Type added(Wide<float>::Type a, Wide<float>::Type b, Wide<float>::Type c) {
  return _mm256_fmadd_ps(a, b, c);
}

template <>
INSTAR_INLINE Points<double> Points<double>::of(const double* points, const std::int32_t* near) {
  const auto at = [&](int k) { return _mm256_loadu_pd(points + 4 * std::int64_t(near[k])); };
  const __m256d front = _mm256_unpacklo_pd(at(0), at(1)), back = _mm256_unpacklo_pd(at(2), at(3));
  const __m256d y = _mm256_permute2f128_pd(_mm256_unpackhi_pd(at(0), at(1)),
                                           _mm256_unpackhi_pd(at(2), at(3)), 0x20);
  return {_mm256_permute2f128_pd(front, back, 0x20), y, _mm256_permute2f128_pd(front, back, 0x31)};
}

template <>
INSTAR_INLINE Points<float> Points<float>::of(const float* points, const std::int32_t* near) {
  const auto both = [&](int k) {
    const __m256 one = _mm256_castps128_ps256(_mm_loadu_ps(points + 4 * std::int64_t(near[k])));
    return _mm256_insertf128_ps(one, _mm_loadu_ps(points + 4 * std::int64_t(near[k + 4])), 1);
  };
  const __m256d ab = _mm256_castps_pd(_mm256_unpacklo_ps(both(0), both(1)));
  const __m256d cd = _mm256_castps_pd(_mm256_unpacklo_ps(both(2), both(3)));
  const __m256d ef = _mm256_castps_pd(_mm256_unpackhi_ps(both(0), both(1)));
  const __m256d gh = _mm256_castps_pd(_mm256_unpackhi_ps(both(2), both(3)));
  return {_mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd)), _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd)),
          _mm256_castpd_ps(_mm256_unpacklo_pd(ef, gh))};
}

#endif

}  // namespace
}  // namespace instar
