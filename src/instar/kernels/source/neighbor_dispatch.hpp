// The grid of images and the search in it, in the instructions of this processor.

#pragma once

#include "instructions.hpp"
#include "neighbor_grid.hpp"
#include "neighbor_search.hpp"

namespace instar {

#define INSTAR_DECLARED(set)                                                               \
  namespace set {                                                                          \
  void make_grid(const NeighborGrid<double>&, const Pool&);                                \
  void make_grid(const NeighborGrid<float>&, const Pool&);                                 \
  void search_groups(const NeighborSearch<double>&, std::int64_t begin, std::int64_t end); \
  void search_groups(const NeighborSearch<float>&, std::int64_t begin, std::int64_t end);  \
  }
INSTAR_IN_ALL_SETS(INSTAR_DECLARED)
INSTAR_CHOICE(MakeGrid, make_grid)
INSTAR_CHOICE(SearchGroups, search_groups)
#undef INSTAR_DECLARED

}  // namespace instar
