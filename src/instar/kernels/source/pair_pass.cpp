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

#include "pair_formulas.hpp"
#include "vectors.hpp"

namespace instar {
namespace {

constexpr int DEPTH = 8;
constexpr int PAIRS = LANES * DEPTH;
constexpr int MOST_PARAMETERS = 3 + 2 + 1;

template <class Real>
struct Batch {
  alignas(64) std::int32_t near[PAIRS];
  alignas(64) Real x[PAIRS], y[PAIRS], z[PAIRS], squared[PAIRS], u[PAIRS], slope[PAIRS];
  alignas(64) Real factor[PAIRS];
};

// The rows that look: where they are, and what they bring to each term.
template <class Real>
struct Row {
  alignas(64) Real x[LANES], y[LANES], z[LANES];
  alignas(64) std::int32_t image[LANES];
};

template <class Real>
struct Table {
  alignas(64) Real of[MOST_PARAMETERS][PAIRS];
};

template <class Real>
struct Sums {
  alignas(64) Real fx[LANES], fy[LANES], fz[LANES], energy[LANES], virial[6][LANES];
};

#if defined(__AVX__)
template <class Real>
struct Four;
template <>
struct Four<double> {
  typedef double Type __attribute__((vector_size(32)));
  typedef std::int64_t Mask __attribute__((vector_size(32)));
};
template <>
struct Four<float> {
  typedef float Type __attribute__((vector_size(16)));
  typedef std::int32_t Mask __attribute__((vector_size(16)));
};

// Four points at a time: four loads and a transposition, in place of twelve loads.
template <class Real>
inline void separate(const PairPass<Real>& pass, const Row<Real>& row, Batch<Real>& batch) {
  using Vector = typename Four<Real>::Type;
  using Mask = typename Four<Real>::Mask;
  for (int i = 0; i < PAIRS; i += 4) {
    Vector point[4];
    for (int k = 0; k < 4; ++k) {
      point[k] = get<Vector>(pass.points + 4 * std::int64_t(batch.near[i + k]));
    }
    const Vector a = INSTAR_SHUFFLE(Mask, point[0], point[1], 0, 4, 1, 5);
    const Vector b = INSTAR_SHUFFLE(Mask, point[2], point[3], 0, 4, 1, 5);
    const Vector c = INSTAR_SHUFFLE(Mask, point[0], point[1], 2, 6, 3, 7);
    const Vector d = INSTAR_SHUFFLE(Mask, point[2], point[3], 2, 6, 3, 7);
    const int l = i % LANES;
    const Vector x = get<Vector>(row.x + l) - INSTAR_SHUFFLE(Mask, a, b, 0, 1, 4, 5);
    const Vector y = get<Vector>(row.y + l) - INSTAR_SHUFFLE(Mask, a, b, 2, 3, 6, 7);
    const Vector z = get<Vector>(row.z + l) - INSTAR_SHUFFLE(Mask, c, d, 0, 1, 4, 5);
    put(x, batch.x + i);
    put(y, batch.y + i);
    put(z, batch.z + i);
    put(Vector(x * x + y * y + z * z), batch.squared + i);
  }
}
#else
template <class Real>
inline void separate(const PairPass<Real>& pass, const Row<Real>& row, Batch<Real>& batch) {
  for (int i = 0; i < PAIRS; ++i) {
    const Real* point = pass.points + 4 * std::int64_t(batch.near[i]);
    const int l = i % LANES;
    const Real x = row.x[l] - point[0], y = row.y[l] - point[1], z = row.z[l] - point[2];
    batch.x[i] = x;
    batch.y[i] = y;
    batch.z[i] = z;
    batch.squared[i] = x * x + y * y + z * z;
  }
}
#endif

// A number out of bounds, which a list that has overflowed may hold, is read as 0.
inline std::int32_t bounded(std::int32_t number, std::int64_t end) {
  return std::uint32_t(number) < std::uint32_t(end) ? number : 0;
}

template <class Real>
Row<Real> looking(const PairPass<Real>& pass, const std::int32_t* rows, int lanes) {
  constexpr Real far = Real(-1e9);  // −FAR of neighbors/images.py: nothing is near
  Row<Real> row;
  for (int l = 0; l < LANES; ++l) {
    const std::int32_t image = l < lanes ? bounded(rows[l], pass.images) : 0;
    const Real* point = pass.points + 4 * std::int64_t(image);
    row.image[l] = image;
    row.x[l] = image > 0 ? point[0] : far;
    row.y[l] = image > 0 ? point[1] : far;
    row.z[l] = image > 0 ? point[2] : far;
  }
  return row;
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

template <bool forces, bool energy, Virial virial, class Real>
void sum(const Batch<Real>& batch, Sums<Real>& sums) {
  using Vector = typename Wide<Real>::Type;
  constexpr int at_once = BYTES / sizeof(Real);
  constexpr bool trace = virial == Virial::trace, tensor = virial == Virial::tensor;
  for (int l = 0; l < LANES; l += at_once) {
    Vector fx = {}, fy = {}, fz = {}, u = {}, xx = {}, yy = {}, zz = {}, yz = {}, xz = {}, xy = {};
    for (int k = 0; k < DEPTH; ++k) {
      const int i = k * LANES + l;
      const Vector x = get<Vector>(batch.x + i), y = get<Vector>(batch.y + i),
                   z = get<Vector>(batch.z + i), f = -2 * get<Vector>(batch.slope + i);
      const Vector px = f * x, py = f * y, pz = f * z;
      if (forces) fx += px, fy += py, fz += pz;
      if (energy) u += get<Vector>(batch.u + i);
      if (trace) xx += f * get<Vector>(batch.squared + i);
      if (tensor) xx += px * x, yy += py * y, zz += pz * z, yz += py * z, xz += px * z, xy += px * y;
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
      *to++ = sums.fx[l];
      *to++ = sums.fy[l];
      *to++ = sums.fz[l];
    }
    if (pass.energy) *to++ = sums.energy[l] / 2;
    for (int k = 0; k < virials; ++k) *to++ = sums.virial[k][l] / 2;
  }
}

// One call's formulas, and their parameters for the pairs of a batch.
template <class Real>
struct Work {
  Chosen<Real> chosen[MOST_TERMS];
  Table<Real> tables[MOST_TERMS];
  Batch<Real> batch;
};

template <class Real>
void group(const PairPass<Real>& pass, std::int64_t number, Sum<Real> sum, Work<Real>& work) {
  const std::int64_t each = groups_of(pass.width);
  const std::int64_t block = number / each, first = number % each * LANES;
  const int lanes = int(pass.width - first < LANES ? pass.width - first : LANES);
  const Row<Real> row = looking(pass, pass.rows + block * pass.width + first, lanes);
  for (int t = 0; t < pass.count; ++t) {
    if (pass.terms[t].lookup == Lookup::system) {
      fill_by_row(pass.terms[t], work.chosen[t].rows, row, work.tables[t]);
    }
  }
  Sums<Real> sums = {};
  const std::int32_t* slots = pass.slots + block * pass.room * pass.width + first;
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
    sum(work.batch, sums);
  }
  write(pass, sums, lanes, pass.sums + (block * pass.width + first) * pass.columns());
}

template <class Real>
void groups(const PairPass<Real>& pass, std::int64_t begin, std::int64_t end) {
  Work<Real> work;
  const Row<Real> nobody = {};
  for (int t = 0; t < pass.count; ++t) {
    work.chosen[t] = chosen(pass.terms[t], t == 0);
    if (pass.terms[t].lookup == Lookup::one) {
      fill_by_row(pass.terms[t], work.chosen[t].rows, nobody, work.tables[t]);
    }
  }
  const Sum<Real> sum = summing(pass);
  for (std::int64_t number = begin; number < end; ++number) group(pass, number, sum, work);
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
