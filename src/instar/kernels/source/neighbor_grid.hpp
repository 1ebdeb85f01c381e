// What the grid of images takes and gives; see neighbor_grid.cpp.

#pragma once

#include <cstdint>

namespace instar {

// Threads that share work: run(context, count, each, work, of) calls work(of, begin, end) for all
// of [0, count) in shares of `each`.
struct Pool {
  void* context;
  void (*run)(void* context, std::int64_t count, std::int64_t each,
              void (*work)(const void* of, std::int64_t begin, std::int64_t end), const void* of);
};

template <class Real>
struct NeighborGrid {
  std::int64_t particles, systems;
  std::int64_t rows;      // of images, with the first one, which is nowhere
  std::int64_t table;     // length of `first`
  std::int64_t looking;   // length of `at`, at least as many as particles
  std::int64_t partners;  // that each particle does not see, at most
  std::int64_t subdivision;

  const Real* inside;           // (particles, 3) fractional
  const std::int32_t* cells;    // (particles, 3) how many cells away particles are
  const std::int32_t* system;   // (particles,)
  const bool* there;            // (particles,)
  const Real* positions;        // (particles, 3) Å
  const Real* vectors;          // (systems, 3, 3) Å
  const bool* periodic;         // (systems, 3)
  const Real* reach;            // (systems, 3) fractional
  const std::int32_t* unseen;   // (particles, partners, 4): a partner or −1, and cells to it

  std::int32_t* owner;  // (rows,)
  std::int32_t* shift;  // (rows, 3)
  Real *x, *y, *z;      // (rows,)
  std::int32_t* first;  // (table,) the first row of each bin
  std::int32_t* bins;   // (systems, 3)
  std::int32_t* before;  // (systems,)
  Real *low, *width, *span, *fuzz;  // (systems, 3)
  std::int32_t* home;      // (particles,)
  std::int32_t* needed;    // one number
  std::int32_t* at;        // (looking,) rows in the order of space that are particles
  std::int32_t* place;     // (particles,) which of them each particle is
  std::int32_t* left_out;  // (particles, partners) rows
  std::int32_t* scratch;   // (scratch_of(…),)
};

constexpr std::int64_t SCRATCH_OF_PARTICLE = 7;

constexpr std::int64_t BINS_PER_IMAGE = 2;  // of grid.py, at most

// Lengths of arrays, as in instar/kernels/neighbor_search.py.
inline std::int64_t table_of(std::int64_t rows, std::int64_t systems, std::int64_t subdivision) {
  return 1 + (subdivision == 0 ? systems : BINS_PER_IMAGE * rows + 8 * systems);
}

inline std::int64_t scratch_of(std::int64_t particles, std::int64_t rows, std::int64_t systems,
                               std::int64_t table) {
  return SCRATCH_OF_PARTICLE * particles + rows + table + systems;
}

template <class Real>
using MakeGrid = void (*)(const NeighborGrid<Real>&, const Pool&);

}  // namespace instar
