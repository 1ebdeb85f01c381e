// What the pair pass takes and gives; see pair_pass.cpp.

#pragma once

#include <cstdint>

namespace instar {

// As numbered in instar/kernels/pair_pass.py.
enum class Formula : std::int32_t { lennard_jones, weeks_chandler_andersen, buckingham, morse,
                                    soft_sphere, screened_coulomb, count };
enum class Ending : std::int32_t { plain, shift, force_shift, switched, count };
enum class Lookup : std::int32_t { one, species, system, count };
enum class Virial : std::int32_t { none, trace, tensor, count };

constexpr int MOST_TERMS = 4;

// A formula and its parameters: those of the formula, those of its ending, the cutoff, each a row
// of `entries` numbers. Which entry a pair has: the only one; that of both species, row by row of
// a square matrix of `species`; or that of the system of the particle that looks.
template <class Real>
struct Term {
  Formula formula;
  Ending ending;
  Lookup lookup;
  const Real* parameters;
  std::int64_t entries;
  std::int64_t species;
  const std::int32_t* index;  // (images,) species, or system; null for one entry
  const Real* strength;       // (images,) factors of each particle; null for none
};

template <class Real>
struct PairPass {
  const Real* points;  // (images, 4): x, y, z, and one number that is not read
  std::int64_t images;
  const std::int32_t* rows;   // (blocks, width) the image that looks; 0 for none
  const std::int32_t* slots;  // (blocks, room, width) images that it sees; 0 for none
  std::int64_t blocks, room, width;
  Term<Real> terms[MOST_TERMS];
  int count;
  bool forces, energy;
  Virial virial;
  Real* sums;  // (blocks, width, columns)

  int columns() const {
    const int virials = virial == Virial::tensor ? 6 : virial == Virial::trace ? 1 : 0;
    return (forces ? 3 : 0) + (energy ? 1 : 0) + virials;
  }
};

constexpr int LANES = 16;
// Rows that are worked on together. The sums of a row don't depend on the rows beside it.

// Sums for the groups [begin, end) of LANES rows, of all blocks in turn.
template <class Real>
using Groups = void (*)(const PairPass<Real>&, std::int64_t begin, std::int64_t end);

inline std::int64_t groups_of(std::int64_t width) { return (width + LANES - 1) / LANES; }

}  // namespace instar
