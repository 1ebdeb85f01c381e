// The grid of images and the search in it, in the instructions of this processor.

#pragma once

#include "instructions.hpp"
#include "neighbor_grid.hpp"
#include "neighbor_search.hpp"

namespace instar {

#define INSTAR_DECLARE(set)                                                                   \
  namespace set {                                                                             \
  void make_grid(const NeighborGrid<double>&, const Pool&);                                   \
  void make_grid(const NeighborGrid<float>&, const Pool&);                                    \
  void search_groups(const NeighborSearch<double>&, std::int64_t begin, std::int64_t end);    \
  void search_groups(const NeighborSearch<float>&, std::int64_t begin, std::int64_t end);     \
  }
INSTAR_DECLARE(baseline)
#if defined(INSTAR_X86)
INSTAR_DECLARE(avx2)
INSTAR_DECLARE(avx512)
#endif
#undef INSTAR_DECLARE

template <class Real>
MakeGrid<Real> make_grid(Instructions instructions) {
#if defined(INSTAR_X86)
  if (instructions == Instructions::avx512) return avx512::make_grid;
  if (instructions == Instructions::avx2) return avx2::make_grid;
#endif
  (void)instructions;
  return baseline::make_grid;
}

template <class Real>
SearchGroups<Real> search_groups(Instructions instructions) {
#if defined(INSTAR_X86)
  if (instructions == Instructions::avx512) return avx512::search_groups;
  if (instructions == Instructions::avx2) return avx2::search_groups;
#endif
  (void)instructions;
  return baseline::search_groups;
}

}  // namespace instar
