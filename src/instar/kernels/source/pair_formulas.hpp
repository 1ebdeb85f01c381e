// Pair formulas: u and u' = du/ds at s = r², as instar/potentials has them, one struct each.
//
// `parameters` are the fields of the Python class, in their order. An ending, how the formula is
// truncated, has its own after them (see potentials/truncation.py).

#pragma once

#include "elementary.hpp"
#include "lanes.hpp"

namespace instar {
namespace {

template <class Number>
struct Value {
  Number u, slope;
};

template <class Number, class Real>
INSTAR_INLINE Value<Number> scaled(const Value<Number>& value, const Value<Real>& scale) {
  return {scale.u * value.u, scale.slope * value.slope};
}

// 4ε (x² − x), x = (σ²/s)³        u' = −24ε (x² − ½x)/s
//
// Where all pairs have the same parameters `shape` is added up and the `scale` is left to the end;
// a Number is then a vector of Real, and beyond the cutoff it must be finite.
struct LennardJones {
  static constexpr int parameters = 2;
  template <class Number, class Real>
  static INSTAR_INLINE Value<Number> shape(Number s, const Real* p) {
    const Number inverse = 1 / s;
    const Number ratio = p[1] * p[1] * inverse;
    const Number x = ratio * ratio * ratio, twelfth = x * x;
    return {twelfth - x, added(x, all<Number>(Real(-0.5)), twelfth) * inverse};
  }
  template <class Real>
  static INSTAR_INLINE Value<Real> scale(const Real* p) {
    return {4 * p[0], -24 * p[0]};
  }
  template <class Real>
  static inline Value<Real> at(Real s, const Real* p) {
    return scaled(shape(s, p), scale(p));
  }
};

// Lennard-Jones + ε up to s = 2^(1/3) σ², then 0
struct WeeksChandlerAndersen {
  static constexpr int parameters = 2;
  template <class Number, class Real>
  static INSTAR_INLINE Value<Number> shape(Number s, const Real* p) {
    const Value<Number> lifted = LennardJones::shape(s, p);
    const auto beyond = s >= Real(1.2599210498948732) * p[1] * p[1];
    return {beyond ? Number{} : lifted.u + Real(0.25), beyond ? Number{} : lifted.slope};
  }
  template <class Real>
  static INSTAR_INLINE Value<Real> scale(const Real* p) {
    return LennardJones::scale(p);
  }
  template <class Real>
  static inline Value<Real> at(Real s, const Real* p) {
    return scaled(shape(s, p), scale(p));
  }
};

// A e^(−r/ρ) − C/s³        u' = −A e^(−r/ρ)/2ρr + 3C/s⁴
struct Buckingham {
  static constexpr int parameters = 3;
  template <class Real>
  static inline Value<Real> at(Real s, const Real* p) {
    const Real r = __builtin_sqrt(s);
    const Real wall = p[0] * exponential(-r / p[1]);
    const Real attraction = p[2] / (s * s * s);
    return {wall - attraction, 3 * attraction / s - wall / (2 * p[1] * r)};
  }
};

// D x (x − 2), x = e^(−a(r − r₀))        u' = −a D x (x − 1)/r
struct Morse {
  static constexpr int parameters = 3;
  template <class Real>
  static inline Value<Real> at(Real s, const Real* p) {
    const Real r = __builtin_sqrt(s);
    const Real x = exponential(-p[1] * (r - p[2]));
    return {p[0] * x * (x - 2), -p[1] * p[0] * x * (x - 1) / r};
  }
};

// ε (σ²/s)^(n/2)        u' = −n u/2s
struct SoftSphere {
  static constexpr int parameters = 3;
  template <class Real>
  static inline Value<Real> at(Real s, const Real* p) {
    const Real half = p[2] / 2;
    const Real u = p[0] * exponential(half * logarithm(p[1] * p[1] / s));
    return {u, -half * u / s};
  }
};

// kₑ erfc(αr)/r        u' = −[u + kₑ 2α/√π e^(−α²s)]/2s        kₑ in eV Å/e², CODATA 2018
struct ScreenedCoulomb {
  static constexpr int parameters = 1;
  template <class Real>
  static inline Value<Real> at(Real s, const Real* p) {
    const Real r = __builtin_sqrt(s);
    const Real cloud = Real(14.39964547842567) * exponential(-p[0] * p[0] * s);
    const Real u = cloud * scaled_complement(p[0] * r) / r;
    return {u, -(u + Real(1.1283791670955126) * p[0] * cloud) / (2 * s)};
  }
};

// u(r)
struct Plain {
  static constexpr int parameters = 0;
  template <class Number, class Real>
  static inline Value<Number> at(Value<Number> full, Number, const Real*) {
    return full;
  }
};

// u(r) − c
struct Shift {
  static constexpr int parameters = 1;
  template <class Number, class Real>
  static inline Value<Number> at(Value<Number> full, Number, const Real* p) {
    return {full.u - p[0], full.slope};
  }
};

// u(r) − c − d r
struct ForceShift {
  static constexpr int parameters = 2;
  template <class Real>
  static inline Value<Real> at(Value<Real> full, Real s, const Real* p) {
    const Real r = __builtin_sqrt(s);
    return {full.u - p[0] - p[1] * r, full.slope - p[1] / (2 * r)};
  }
};

// u(r) S(x), x = (r − R₁)/(R − R₁), S = 1 − 10x³ + 15x⁴ − 6x⁵
struct Switch {
  static constexpr int parameters = 2;
  template <class Real>
  static inline Value<Real> at(Value<Real> full, Real s, const Real* p) {
    const Real r = __builtin_sqrt(s);
    const Real per_length = 1 / (p[1] - p[0]);
    const Real place = (r - p[0]) * per_length;
    const Real x = place < 0 ? Real(0) : (place > 1 ? Real(1) : place);
    const Real kept = 1 - x * x * x * (10 - x * (15 - 6 * x));
    const Real fall = -30 * x * x * (1 - x) * (1 - x) * per_length;
    return {full.u * kept, full.slope * kept + full.u * fall / (2 * r)};
  }
};

}  // namespace
}  // namespace instar
