// What the search takes and gives; see neighbor_search.cpp.

#pragma once

#include <cstdint>

namespace instar {

template <class Real>
struct NeighborSearch {
  std::int64_t particles, systems, images;
  std::int64_t table;  // length of `first`
  std::int64_t blocks, room, width;
  std::int64_t words;  // of 32 candidates: the most that one column of bins may have
  std::int64_t subdivision;
  std::int64_t partners;
  bool orthorhombic;

  const Real *x, *y, *z;        // (images,) Å
  const std::int32_t* owner;    // (images,)
  const std::int32_t* first;    // (table,) the first row of each bin
  const std::int32_t* bins;     // (systems, 3)
  const std::int32_t* before;   // (systems,)
  const Real *low, *size, *span, *fuzz;  // (systems, 3) fractional; `size` is that of a bin
  const Real* heights;          // (systems, 3) Å
  const Real* reach;            // (systems,) Å
  const Real* inside;           // (particles, 3) fractional
  const std::int32_t* system;   // (particles,)
  const std::int32_t* rows;     // (blocks, width) images that look; 0 for none
  const std::int32_t* left_out;  // (particles, partners) images that each particle does not see

  std::int32_t* slots;       // (blocks, room, width) images near; 0 where there are no more
  std::int32_t* count;       // (blocks, width) how many are near, also beyond the room
  std::int32_t* candidates;  // (blocks, width) the most in one column of bins
};

constexpr int MOST_SUBDIVISION = 7;
constexpr int SEARCHED_TOGETHER = 16;
// Rows that are written together. What a row sees doesn't depend on the rows beside it.

inline std::int64_t searches_of(std::int64_t width) {
  return (width + SEARCHED_TOGETHER - 1) / SEARCHED_TOGETHER;
}

// Neighbors for the groups [begin, end) of SEARCHED_TOGETHER rows, of all blocks in turn.
template <class Real>
using SearchGroups = void (*)(const NeighborSearch<Real>&, std::int64_t begin, std::int64_t end);

}  // namespace instar
