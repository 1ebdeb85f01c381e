// Vectors of numbers, as the instructions of this compilation take them.
//
// What a kernel includes has no name outside of its object file: each set of instructions has its
// own, and the linker must not choose among them.

#pragma once

#include <cstdint>

// Where a call would cost more than what is in it, and take sums out of registers.
#define INSTAR_INLINE __attribute__((always_inline)) inline

namespace instar {
namespace {

// As many numbers as one instruction takes: what is added up in them stays in registers.
#if defined(__AVX512F__)
constexpr int BYTES = 64;
#elif defined(__AVX__)
constexpr int BYTES = 32;
#else
constexpr int BYTES = 16;
#endif
template <class Real>
struct Wide;
template <>
struct Wide<double> {
  typedef double Type __attribute__((vector_size(BYTES)));
};
template <>
struct Wide<float> {
  typedef float Type __attribute__((vector_size(BYTES)));
};

template <class Vector, class Real>
inline Vector get(const Real* from) {
  Vector values;
  __builtin_memcpy(&values, from, sizeof values);
  return values;
}

// The same number in each lane.
template <class Vector, class Real>
INSTAR_INLINE Vector all(Real number) {
  return number - Vector{};  // −0 stays −0
}

template <class Vector, class Real>
inline void put(const Vector& values, Real* to) {
  __builtin_memcpy(to, &values, sizeof values);
}

template <class Vector, class Real>
inline void more(const Vector& values, Real* to) {
  put(Vector(get<Vector>(to) + values), to);
}

#if defined(__clang__)
#define INSTAR_SHUFFLE(Mask, a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define INSTAR_SHUFFLE(Mask, a, b, i, j, k, l) __builtin_shuffle(a, b, Mask{i, j, k, l})
#endif

}  // namespace
}  // namespace instar
