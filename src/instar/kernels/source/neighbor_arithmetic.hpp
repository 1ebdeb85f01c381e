// Arithmetic of the neighbor kernels, rounded as XLA's compiler rounds that of the JAX code.
//
// It lets a product that is added to something take one rounding with the sum, in the first factor
// that it finds, wherever the processor can. Which image is in a bin, or within reach, hangs on the
// last bit of such sums: what is written with `sum_of` here is what it makes of a·b + c there.
//
// What a kernel includes has no name outside of its object file, see vectors.hpp.

#pragma once

#include <cstdint>

namespace instar {
namespace {

// Rounding errors, in units of the last digit, by which ranges are wider: MARGIN of grid.py.
template <class Real>
constexpr Real margin();
template <>
constexpr double margin<double>() { return 8 * 2.220446049250313e-16; }
template <>
constexpr float margin<float>() { return 8 * 1.1920929e-07f; }

constexpr double FAR = 1e9;  // Å, where rows are that stand for no particle: FAR of images.py

inline double sum_of(double a, double b, double c) {
#if defined(__FP_FAST_FMA) || defined(__FMA__)  // Clang on x86 has but the second
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

inline float sum_of(float a, float b, float c) {
#if defined(__FP_FAST_FMAF) || defined(__FMA__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

inline double floor_of(double value) { return __builtin_floor(value); }
inline float floor_of(float value) { return __builtin_floorf(value); }
inline double ceil_of(double value) { return __builtin_ceil(value); }
inline float ceil_of(float value) { return __builtin_ceilf(value); }
inline double root_of(double value) { return __builtin_sqrt(value); }
inline float root_of(float value) { return __builtin_sqrtf(value); }
inline double cube_root_of(double value) { return __builtin_cbrt(value); }
inline float cube_root_of(float value) { return __builtin_cbrtf(value); }

template <class Value>
inline Value smaller(Value a, Value b) { return b < a ? b : a; }
template <class Value>
inline Value larger(Value a, Value b) { return a < b ? b : a; }
template <class Value>
inline Value within(Value value, Value low, Value high) {
  return smaller(larger(value, low), high);
}

// As XLA does it: what is not a number is 0, what is beyond the whole numbers the last of them.
template <class Real>
inline std::int32_t whole(Real value) {
  if (!(value > Real(-2147483648.0))) return value != value ? 0 : INT32_MIN;
  return value < Real(2147483648.0) ? std::int32_t(value) : INT32_MAX;
}

}  // namespace
}  // namespace instar
