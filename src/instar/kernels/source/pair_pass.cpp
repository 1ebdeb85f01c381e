// One pass over the neighbors for all pair formulas together.
//
// For each row i of the neighbor matrix, with d = r_i − r_j for every j near it and s = |d|²,
//
//     f_i = Σ_j −2 u'(s) d,    e_i = ½ Σ_j u(s),    W_i = ½ Σ_j −2 u'(s) d ⊗ d,    u' = du/ds
//
// Sixteen rows and eight neighbors of each are a batch that stays in a core's first cache: their
// distances, then u and u' of each formula, then the sums. Each step is a loop over all pairs of
// the batch that the compiler turns into vectors. A row's sums are added up in the order of its
// neighbors, whichever rows are beside it and whoever works on them.
//
// Compiled once for each set of instructions, named INSTRUCTIONS. Only pair_pass.hpp is shared.

#include "pair_pass.hpp"

#include <cstddef>

#include "lanes.hpp"
#include "pair_alone.hpp"
#include "pair_formulas.hpp"
#include "vectors.hpp"

namespace instar {
namespace {

// Where pairs are: d and |d|².
template <class Real>
inline void separate(const PairPass<Real>& pass, const Row<Real>& row, Batch<Real>& batch) {
  using Vector = typename Wide<Real>::Type;
  for (int i = 0; i < PAIRS; i += AT_ONCE<Real>) {
    const auto near = Points<Real>::of(pass.points, batch.near + i);
    const int l = i % LANES;
    const Vector x = get<Vector>(row.x + l) - near.x, y = get<Vector>(row.y + l) - near.y,
                 z = get<Vector>(row.z + l) - near.z;
    put(x, batch.x + i);
    put(y, batch.y + i);
    put(z, batch.z + i);
    put(added(z, z, added(y, y, Vector(x * x))), batch.squared + i);
  }
}

typedef std::uint32_t Images __attribute__((vector_size(LANES * 4)));

// The next eight neighbors of each row, those out of bounds as 0; false if there are none.
template <class Real>
inline bool neighbors(const PairPass<Real>& pass, const std::int32_t* slots, std::int64_t first,
                      int lanes, Batch<Real>& batch) {
  const std::uint32_t end = std::uint32_t(pass.images);
  const std::int64_t depth = pass.room - first < DEPTH ? pass.room - first : DEPTH;
  Images any = {};
  for (int k = 0; k < DEPTH; ++k) {
    Images images = {};
    if (k < depth) {
      const std::int32_t* from = slots + (first + k) * pass.width;
      if (lanes == LANES) {
        __builtin_memcpy(&images, from, sizeof images);
      } else {
        __builtin_memcpy(&images, from, std::size_t(lanes) * 4);
      }
    }
    images &= Images(images < end);
    any |= images;
    __builtin_memcpy(batch.near + k * LANES, &images, sizeof images);
  }
  std::uint32_t found = 0;
  for (int l = 0; l < LANES; ++l) found |= any[l];
  return found != 0;
}

// Parameters of each pair. Those that all pairs of a row share are filled once for each row.
template <class Real>
void fill(const Term<Real>& term, int rows, const std::int32_t* entry, Table<Real>& table) {
  for (int p = 0; p < rows; ++p) {
    const Real* from = term.parameters + p * term.entries;
    for (int i = 0; i < PAIRS; ++i) table.of[p][i] = from[entry[i]];
  }
}

template <class Real>
void fill_by_row(const Term<Real>& term, int rows, const Row<Real>& row, Table<Real>& table) {
  std::int32_t entry[PAIRS];
  for (int i = 0; i < PAIRS; ++i) {
    const bool one = term.lookup == Lookup::one;
    entry[i] = one ? 0 : bounded(term.index[row.image[i % LANES]], term.entries);
  }
  fill(term, rows, entry, table);
}

template <class Real>
void fill_by_pair(const Term<Real>& term, int rows, const Row<Real>& row,
                  const Batch<Real>& batch, Table<Real>& table) {
  alignas(64) std::int32_t entry[PAIRS], first[LANES];
  for (int l = 0; l < LANES; ++l) {
    first[l] = std::int32_t(term.species) * bounded(term.index[row.image[l]], term.species);
  }
  for (int k = 0; k < DEPTH; ++k) {
    for (int l = 0; l < LANES; ++l) {
      const int i = k * LANES + l;
      entry[i] = first[l] + bounded(term.index[batch.near[i]], term.species);
    }
  }
  fill(term, rows, entry, table);
}

template <class Real>
void fill_factor(const Term<Real>& term, const Row<Real>& row, Batch<Real>& batch) {
  for (int i = 0; i < PAIRS; ++i) {
    batch.factor[i] = term.strength[row.image[i % LANES]] * term.strength[batch.near[i]];
  }
}

// u and u' of one formula for all pairs of a batch, zero beyond its cutoff. The first formula
// begins the sums of both, others add to them.
template <class Formula, class Ending, bool scaled, bool first, class Real>
void add(const Table<Real>& table, Batch<Real>& batch) {
  constexpr int own = Formula::parameters, all = own + Ending::parameters;
  for (int i = 0; i < PAIRS; ++i) {
    Real parameters[all + 1];
    for (int p = 0; p <= all; ++p) parameters[p] = table.of[p][i];
    const Real limit = parameters[all] * parameters[all];
    const bool beyond = batch.squared[i] >= limit;  // what is not a number must not vanish
    const Real s = beyond ? limit : batch.squared[i];
    Value<Real> value = Ending::at(Formula::at(s, parameters), s, parameters + own);
    if (scaled) {
      value.u *= batch.factor[i];
      value.slope *= batch.factor[i];
    }
    batch.u[i] = (beyond ? Real(0) : value.u) + (first ? Real(0) : batch.u[i]);
    batch.slope[i] = (beyond ? Real(0) : value.slope) + (first ? Real(0) : batch.slope[i]);
  }
}

template <class Real>
using Add = void (*)(const Table<Real>&, Batch<Real>&);

template <class Real>
struct Chosen {
  Add<Real> add;
  int rows;
};

template <class Formula, class Ending, class Real>
Chosen<Real> of_ending(bool scaled, bool first) {
  constexpr int rows = Formula::parameters + Ending::parameters + 1;
  if (first) {
    return {scaled ? add<Formula, Ending, true, true, Real>
                   : add<Formula, Ending, false, true, Real>, rows};
  }
  return {scaled ? add<Formula, Ending, true, false, Real>
                 : add<Formula, Ending, false, false, Real>, rows};
}

template <class Formula, class Real>
Chosen<Real> of_formula(const Term<Real>& term, bool first) {
  const bool scaled = term.strength != nullptr;
  switch (term.ending) {
    case Ending::shift: return of_ending<Formula, Shift, Real>(scaled, first);
    case Ending::force_shift: return of_ending<Formula, ForceShift, Real>(scaled, first);
    case Ending::switched: return of_ending<Formula, Switch, Real>(scaled, first);
    default: return of_ending<Formula, Plain, Real>(scaled, first);
  }
}

template <class Real>
Chosen<Real> chosen(const Term<Real>& term, bool first) {
  switch (term.formula) {
    case Formula::weeks_chandler_andersen:
      return of_formula<WeeksChandlerAndersen, Real>(term, first);
    case Formula::buckingham: return of_formula<Buckingham, Real>(term, first);
    case Formula::morse: return of_formula<Morse, Real>(term, first);
    case Formula::soft_sphere: return of_formula<SoftSphere, Real>(term, first);
    case Formula::screened_coulomb: return of_formula<ScreenedCoulomb, Real>(term, first);
    default: return of_formula<LennardJones, Real>(term, first);
  }
}

// −½ of forces and −1 of virials: the factors are exact, and left to the end.
template <bool forces, bool energy, Virial virial, class Real>
void sum(const Batch<Real>& batch, Sums<Real>& sums) {
  using Vector = typename Wide<Real>::Type;
  constexpr bool trace = virial == Virial::trace, tensor = virial == Virial::tensor;
  for (int l = 0; l < LANES; l += AT_ONCE<Real>) {
    Vector fx = {}, fy = {}, fz = {}, u = {}, xx = {}, yy = {}, zz = {}, yz = {}, xz = {}, xy = {};
    for (int k = 0; k < DEPTH; ++k) {
      const int i = k * LANES + l;
      const Vector x = get<Vector>(batch.x + i), y = get<Vector>(batch.y + i),
                   z = get<Vector>(batch.z + i), f = get<Vector>(batch.slope + i);
      const Vector px = f * x, py = f * y, pz = f * z;
      if (forces) fx += px, fy += py, fz += pz;
      if (energy) u += get<Vector>(batch.u + i);
      if (trace) xx = added(f, get<Vector>(batch.squared + i), xx);
      if (tensor) {
        xx = added(px, x, xx), yy = added(py, y, yy), zz = added(pz, z, zz);
        yz = added(py, z, yz), xz = added(px, z, xz), xy = added(px, y, xy);
      }
    }
    if (forces) more(fx, sums.fx + l), more(fy, sums.fy + l), more(fz, sums.fz + l);
    if (energy) more(u, sums.energy + l);
    if (trace || tensor) more(xx, sums.virial[0] + l);
    if (tensor) {
      more(yy, sums.virial[1] + l), more(zz, sums.virial[2] + l), more(yz, sums.virial[3] + l);
      more(xz, sums.virial[4] + l), more(xy, sums.virial[5] + l);
    }
  }
}

template <class Real>
using Sum = void (*)(const Batch<Real>&, Sums<Real>&);

template <bool forces, bool energy, class Real>
Sum<Real> sum_with(Virial virial) {
  switch (virial) {
    case Virial::trace: return sum<forces, energy, Virial::trace, Real>;
    case Virial::tensor: return sum<forces, energy, Virial::tensor, Real>;
    default: return sum<forces, energy, Virial::none, Real>;
  }
}

template <class Real>
Sum<Real> summing(const PairPass<Real>& pass) {
  if (pass.forces) {
    return pass.energy ? sum_with<true, true, Real>(pass.virial)
                       : sum_with<true, false, Real>(pass.virial);
  }
  return pass.energy ? sum_with<false, true, Real>(pass.virial)
                     : sum_with<false, false, Real>(pass.virial);
}

template <class Real>
void write(const PairPass<Real>& pass, const Sums<Real>& sums, int lanes, Real* to) {
  const int virials = pass.virial == Virial::tensor ? 6 : pass.virial == Virial::trace ? 1 : 0;
  for (int l = 0; l < lanes; ++l) {
    if (pass.forces) {
      *to++ = -2 * sums.fx[l];
      *to++ = -2 * sums.fy[l];
      *to++ = -2 * sums.fz[l];
    }
    if (pass.energy) *to++ = sums.energy[l] / 2;
    for (int k = 0; k < virials; ++k) *to++ = -sums.virial[k][l];
  }
}

// One call's formulas, and their parameters for the pairs of a batch.
template <class Real>
struct Work {
  Alone<Real> alone;
  Sum<Real> sum;
  Chosen<Real> chosen[MOST_TERMS];
  Table<Real> tables[MOST_TERMS];
  Batch<Real> batch;
};

// All formulas of a call, batch by batch.
template <class Real>
void together(const PairPass<Real>& pass, const Row<Real>& row, const std::int32_t* slots,
              int lanes, Work<Real>& work, Sums<Real>& sums) {
  for (int t = 0; t < pass.count; ++t) {
    if (pass.terms[t].lookup == Lookup::system) {
      fill_by_row(pass.terms[t], work.chosen[t].rows, row, work.tables[t]);
    }
  }
  sums = {};
  for (std::int64_t k = 0; k < pass.room; k += DEPTH) {
    if (!neighbors(pass, slots, k, lanes, work.batch)) continue;
    separate(pass, row, work.batch);
    for (int t = 0; t < pass.count; ++t) {
      const Term<Real>& term = pass.terms[t];
      if (term.lookup == Lookup::species) {
        fill_by_pair(term, work.chosen[t].rows, row, work.batch, work.tables[t]);
      }
      if (term.strength != nullptr) fill_factor(term, row, work.batch);
      work.chosen[t].add(work.tables[t], work.batch);
    }
    work.sum(work.batch, sums);
  }
}

template <class Real>
void group(const PairPass<Real>& pass, std::int64_t number, Work<Real>& work) {
  const std::int64_t each = groups_of(pass.width);
  const std::int64_t block = number / each, first = number % each * LANES;
  const int lanes = int(pass.width - first < LANES ? pass.width - first : LANES);
  const Row<Real> row = looking(pass, pass.rows + block * pass.width + first, lanes);
  const std::int32_t* slots = pass.slots + block * pass.room * pass.width + first;
  Sums<Real> sums;
  if (work.alone != nullptr) {
    work.alone(pass, row, slots, lanes, sums);
  } else {
    together(pass, row, slots, lanes, work, sums);
  }
  write(pass, sums, lanes, pass.sums + (block * pass.width + first) * pass.columns());
}

template <class Real>
void groups(const PairPass<Real>& pass, std::int64_t begin, std::int64_t end) {
  Work<Real> work;
  work.alone = alone_in(pass);
  work.sum = summing(pass);
  const Row<Real> nobody = {};
  for (int t = 0; t < pass.count; ++t) {
    work.chosen[t] = chosen(pass.terms[t], t == 0);
    if (pass.terms[t].lookup == Lookup::one) {
      fill_by_row(pass.terms[t], work.chosen[t].rows, nobody, work.tables[t]);
    }
  }
  for (std::int64_t number = begin; number < end; ++number) group(pass, number, work);
}

}  // namespace

namespace INSTRUCTIONS {

void pair_groups(const PairPass<double>& pass, std::int64_t begin, std::int64_t end) {
  groups(pass, begin, end);
}

void pair_groups(const PairPass<float>& pass, std::int64_t begin, std::int64_t end) {
  groups(pass, begin, end);
}

}  // namespace INSTRUCTIONS
}  // namespace instar
