// The pair pass in the instructions of this processor.

#pragma once

#include "instructions.hpp"
#include "pair_pass.hpp"

namespace instar {

#define INSTAR_DECLARED(set)                                                       \
  namespace set {                                                                  \
  void pair_groups(const PairPass<double>&, std::int64_t begin, std::int64_t end); \
  void pair_groups(const PairPass<float>&, std::int64_t begin, std::int64_t end);  \
  }
INSTAR_IN_ALL_SETS(INSTAR_DECLARED)
INSTAR_CHOICE(Groups, pair_groups)
#undef INSTAR_DECLARED

}  // namespace instar
