// The pass for one formula alone whose parameters are the same for all pairs: what a vector of
// rows adds up stays in registers from its first neighbor to its last.

#pragma once

#include <type_traits>

#include "lanes.hpp"
#include "pair_batch.hpp"
#include "pair_formulas.hpp"

namespace instar {
namespace {

// u and u' of pairs, zero beyond the cutoff; what is not a number must not vanish. Without an
// ending the scale of the formula is left to the end.
template <class Formula, class Ending, class Vector, class Real>
INSTAR_INLINE Value<Vector> within(Vector squared, const Real* parameters, Vector limit) {
  Value<Vector> value = Formula::shape(squared, parameters);
  if constexpr (!std::is_same_v<Ending, Plain>) {
    value = Ending::at(scaled(value, Formula::scale(parameters)), squared,
                       parameters + Formula::parameters);
  }
  const auto beyond = squared >= limit;
  return {beyond ? Vector{} : value.u, beyond ? Vector{} : value.slope};
}

template <class Formula, class Ending, class Real>
INSTAR_INLINE Value<Real> left(const Real* parameters) {
  if constexpr (std::is_same_v<Ending, Plain>) return Formula::scale(parameters);
  return {1, 1};
}

template <bool forces, bool energy, Virial virial, class Real>
struct Totals {
  using Vector = typename Wide<Real>::Type;
  Vector fx = {}, fy = {}, fz = {}, u = {};
  Vector xx = {}, yy = {}, zz = {}, yz = {}, xz = {}, xy = {};

  INSTAR_INLINE void add(Vector x, Vector y, Vector z, Vector squared, Value<Vector> value) {
    const Vector px = value.slope * x, py = value.slope * y, pz = value.slope * z;
    if (forces) fx += px, fy += py, fz += pz;
    if (energy) u += value.u;
    if (virial == Virial::trace) xx = added(value.slope, squared, xx);
    if (virial == Virial::tensor) {
      xx = added(px, x, xx), yy = added(py, y, yy), zz = added(pz, z, zz);
      yz = added(py, z, yz), xz = added(px, z, xz), xy = added(px, y, xy);
    }
  }

  INSTAR_INLINE void keep(Sums<Real>& sums, int l, const Value<Real>& scale) const {
    const Real f = scale.slope;
    if (forces) {
      put(Vector(f * fx), sums.fx + l), put(Vector(f * fy), sums.fy + l);
      put(Vector(f * fz), sums.fz + l);
    }
    if (energy) put(Vector(scale.u * u), sums.energy + l);
    const Vector virials[6] = {xx, yy, zz, yz, xz, xy};
    constexpr int count = virial == Virial::tensor ? 6 : virial == Virial::trace ? 1 : 0;
    for (int k = 0; k < count; ++k) put(Vector(f * virials[k]), sums.virial[k] + l);
  }
};

// Numbers of images in place, those out of bounds as 0, and zeros where there are no rows.
template <class Real>
inline void copied(const std::int32_t* slots, std::int64_t stride, std::int64_t depth, int lanes,
                   std::int64_t images, std::int32_t* near) {
  for (int k = 0; k < DEPTH; ++k) {
    for (int l = 0; l < AT_ONCE<Real>; ++l) {
      const bool there = k < depth && l < lanes;
      near[k * AT_ONCE<Real> + l] = there ? bounded(slots[k * stride + l], images) : 0;
    }
  }
}

template <class Formula, class Ending, bool forces, bool energy, Virial virial, class Real>
void alone(const PairPass<Real>& pass, const Row<Real>& row, const std::int32_t* slots, int lanes,
           Sums<Real>& sums) {
  using Vector = typename Wide<Real>::Type;
  constexpr int own = Formula::parameters + Ending::parameters;
  Real parameters[own + 1];
  for (int p = 0; p <= own; ++p) parameters[p] = pass.terms[0].parameters[p * pass.terms[0].entries];
  const Vector limit = all<Vector>(parameters[own] * parameters[own]);
  alignas(64) std::int32_t safe[DEPTH * AT_ONCE<Real>];
  for (int l = 0; l < LANES && l < lanes; l += AT_ONCE<Real>) {
    const Vector x = get<Vector>(row.x + l), y = get<Vector>(row.y + l), z = get<Vector>(row.z + l);
    Totals<forces, energy, virial, Real> totals;
    for (std::int64_t k = 0; k < pass.room; k += DEPTH) {
      const std::int32_t* near = slots + k * pass.width + l;
      std::int64_t stride = pass.width;
      const std::int64_t depth = pass.room - k;
      bool whole = depth >= DEPTH && lanes - l >= AT_ONCE<Real>;
      if (whole) {
        Seen<Real> seen;
        for (int n = 0; n < DEPTH; ++n) seen.add(near + n * stride);
        const std::uint32_t most = seen.most();
        if (most == 0) continue;
        whole = most < std::uint32_t(pass.images);
      }
      if (!whole) {
        copied<Real>(near, stride, depth, lanes - l, pass.images, safe);
        near = safe;
        stride = AT_ONCE<Real>;
      }
      for (int n = 0; n < DEPTH; ++n) {
        const auto there = Points<Real>::of(pass.points, near + n * stride);
        const Vector dx = x - there.x, dy = y - there.y, dz = z - there.z;
        const Vector squared = added(dz, dz, added(dy, dy, Vector(dx * dx)));
        totals.add(dx, dy, dz, squared, within<Formula, Ending>(squared, parameters, limit));
      }
    }
    totals.keep(sums, l, left<Formula, Ending>(parameters));
  }
}

template <class Real>
using Alone = void (*)(const PairPass<Real>&, const Row<Real>&, const std::int32_t* slots,
                       int lanes, Sums<Real>&);

template <class Formula, class Ending, bool forces, bool energy, class Real>
Alone<Real> alone_with(Virial virial) {
  switch (virial) {
    case Virial::trace: return alone<Formula, Ending, forces, energy, Virial::trace, Real>;
    case Virial::tensor: return alone<Formula, Ending, forces, energy, Virial::tensor, Real>;
    default: return alone<Formula, Ending, forces, energy, Virial::none, Real>;
  }
}

template <class Formula, class Ending, class Real>
Alone<Real> alone_for(const PairPass<Real>& pass) {
  if (pass.forces) {
    return pass.energy ? alone_with<Formula, Ending, true, true, Real>(pass.virial)
                       : alone_with<Formula, Ending, true, false, Real>(pass.virial);
  }
  return pass.energy ? alone_with<Formula, Ending, false, true, Real>(pass.virial)
                     : alone_with<Formula, Ending, false, false, Real>(pass.virial);
}

template <class Formula, class Real>
Alone<Real> alone_of(const PairPass<Real>& pass) {
  switch (pass.terms[0].ending) {
    case Ending::plain: return alone_for<Formula, Plain, Real>(pass);
    case Ending::shift: return alone_for<Formula, Shift, Real>(pass);
    default: return nullptr;
  }
}

// Null for what is not computed in this way. It does not depend on what is asked for: forces have
// the same bits with and without an energy.
template <class Real>
Alone<Real> alone_in(const PairPass<Real>& pass) {
  const Term<Real>& term = pass.terms[0];
  if (pass.count != 1 || term.lookup != Lookup::one || term.strength != nullptr) return nullptr;
  switch (term.formula) {
    case Formula::lennard_jones: return alone_of<LennardJones, Real>(pass);
    case Formula::weeks_chandler_andersen: return alone_of<WeeksChandlerAndersen, Real>(pass);
    default: return nullptr;
  }
}

}  // namespace
}  // namespace instar
