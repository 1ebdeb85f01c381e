// Exponential, logarithm and screening function, as loops that compilers turn into vectors.
//
//     eˣ = 2ⁿ eʳ            n = round(x/ln 2), r = x − n ln 2, |r| ≤ ½ ln 2: a Taylor polynomial
//     ln x = n ln 2 + 2 artanh z      x = 2ⁿ m, √½ ≤ m < √2, z = (m − 1)/(m + 1): a series in z²
//     e^(x²) erfc(x) ≈ polynomial in a + b/(x + 2.5)       as potentials/screening.py derives it
//
// All of it is forced into the loops that call it: a call in a loop keeps it from becoming vectors.
// Polynomials take one instruction a term where processors have it (a product is then not rounded
// before it is added). What is not a number stays so.
//
// Everything is in an unnamed namespace: this file is compiled once for each set of instructions,
// and a linker must not take the one for the other.

#pragma once

#include <cstdint>
#include <cstring>

#include "vectors.hpp"

namespace {

// a b + c
template <class Real>
INSTAR_INLINE Real add_product(Real a, Real b, Real c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return sizeof(Real) == 8 ? Real(__builtin_fma(a, b, c))
                           : Real(__builtin_fmaf(float(a), float(b), float(c)));
#else
  return a * b + c;
#endif
}

template <class Real>
struct Format;

template <>
struct Format<double> {
  using Bits = std::uint64_t;
  static constexpr int mantissa = 52, bias = 1023, exponential_degree = 13, logarithm_terms = 11;
  static constexpr double round_to_whole = 6755399441055744.0;  // 1.5·2⁵²
  static constexpr double ln2_high = 6.93147180369123816490e-01;
  static constexpr double ln2_low = 1.90821492927058770002e-10;
  static constexpr double largest = 709.0, smallest = -708.0;
};

template <>
struct Format<float> {
  using Bits = std::uint32_t;
  static constexpr int mantissa = 23, bias = 127, exponential_degree = 7, logarithm_terms = 5;
  static constexpr float round_to_whole = 12582912.0f;  // 1.5·2²³
  static constexpr float ln2_high = 6.93359375e-1f;
  static constexpr float ln2_low = -2.12194440e-4f;
  static constexpr float largest = 88.0f, smallest = -87.0f;
};

template <class Real>
INSTAR_INLINE typename Format<Real>::Bits bits_of(Real x) {
  typename Format<Real>::Bits bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

template <class Real>
INSTAR_INLINE Real from_bits(typename Format<Real>::Bits bits) {
  Real x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Σ c_k x^k over `terms` coefficients: terms of even and of odd powers apart, since processors do
// two chains of products in the time of one.
template <class Coefficients, int terms, int first, int step, class Real>
INSTAR_INLINE Real chain(Real x) {
  constexpr Real coefficient = Real(Coefficients::at(first));
  if constexpr (first + step >= terms) {
    return coefficient;
  } else {
    return add_product(x, chain<Coefficients, terms, first + step, step>(x), coefficient);
  }
}

template <class Coefficients, int terms, class Real>
INSTAR_INLINE Real polynomial(Real x) {
  const Real squared = x * x;
  return add_product(x, chain<Coefficients, terms, 1, 2>(squared),
                     chain<Coefficients, terms, 0, 2>(squared));
}

// 1/n!
struct Taylor {
  static constexpr double at(int n) { return n < 2 ? 1.0 : at(n - 1) / n; }
};

// Zero below the smallest normal number, infinite above the largest.
template <class Real>
INSTAR_INLINE Real exponential(Real x) {
  using F = Format<Real>;
  const Real inside = x < F::smallest ? F::smallest : (x > F::largest ? F::largest : x);
  const Real shifted = add_product(inside, Real(1.44269504088896340736), F::round_to_whole);
  const Real n = shifted - F::round_to_whole;
  const Real r = add_product(-n, F::ln2_low, add_product(-n, F::ln2_high, inside));
  const Real power = from_bits<Real>((bits_of(shifted) + F::bias) << F::mantissa);
  const Real value = polynomial<Taylor, F::exponential_degree + 1>(r) * power;
  const Real ended = x > F::largest ? Real(__builtin_inf()) : value;
  return x < F::smallest ? Real(0) : ended;
}

// 1/(2n + 1), of the series of artanh(z)/z in z²
struct Artanh {
  static constexpr double at(int n) { return 1.0 / (2 * n + 1); }
};

// Of normal numbers above zero.
template <class Real>
INSTAR_INLINE Real logarithm(Real x) {
  using F = Format<Real>;
  using Bits = typename F::Bits;
  constexpr Real sqrt_half = Real(0.70710678118654752440);
  const Bits base = bits_of(sqrt_half);
  const Bits one = Bits(1) << F::mantissa;
  const Bits above = bits_of(x) - base + (F::bias + 1) * one;  // never below zero
  const Real m = from_bits<Real>((above & (one - 1)) + base);
  const Real n = from_bits<Real>(bits_of(F::round_to_whole) + (above >> F::mantissa)) -
                 (F::round_to_whole + (F::bias + 1));
  const Real z = (m - 1) / (m + 1);
  const Real series = 2 * z * polynomial<Artanh, F::logarithm_terms + 1>(z * z);
  return (n * F::ln2_high + (n * F::ln2_low + series)) + (x - x);
}

// Coefficients of the polynomial in −1.714… + 6.785…/(x + 2.5), constant first.
template <class Real>
struct Screening;

template <>
struct Screening<double> {
  static constexpr int degree = 18;
  static constexpr double coefficients[degree + 1] = {
      0.3285376678242111,      0.39286792095303225,     0.1995447331210059,
      0.06750251541631766,     0.012371379245328083,    -0.0002507644285530278,
      -0.0005855309761786302,  -2.0012433537855746e-05, 3.397873819297333e-05,
      1.1579647700778052e-07,  -2.3454852184919082e-06, 2.3635319291997006e-07,
      1.4995911222961084e-07,  -4.3301006261887765e-08, -4.7926908694275255e-09,
      4.7696206163419974e-09,  -5.545631123987633e-10,  -2.9012004604959166e-10,
      8.537748055546361e-11};
  static constexpr double at(int n) { return coefficients[n]; }
};

template <>
struct Screening<float> {
  static constexpr int degree = 10;
  static constexpr float coefficients[degree + 1] = {
      0.32853766782421084f,   0.39286792243797414f,    0.19954473456794916f,
      0.0675024853782276f,    0.012371350243001112f,   -0.0002505912874256304f,
      -0.0005853676528242615f, -2.0431430806463272e-05f, 3.3601283400299144e-05f,
      5.876297041111361e-07f, -1.959226703589756e-06f};
  static constexpr float at(int n) { return coefficients[n]; }
};

// e^(x²) erfc(x) for x ≥ 0.
template <class Real>
INSTAR_INLINE Real scaled_complement(Real x) {
  return polynomial<Screening<Real>, Screening<Real>::degree + 1>(Real(-12.0 / 7) +
                                                                  Real(47.5 / 7) / (x + Real(2.5)));
}

}  // namespace
