// The pair pass in the instructions of this processor.

#pragma once

#include "instructions.hpp"
#include "pair_pass.hpp"

namespace instar {

#define INSTAR_DECLARE(set)                                                       \
  namespace set {                                                                 \
  void pair_groups(const PairPass<double>&, std::int64_t begin, std::int64_t end); \
  void pair_groups(const PairPass<float>&, std::int64_t begin, std::int64_t end);  \
  }
INSTAR_DECLARE(baseline)
#if defined(INSTAR_X86)
INSTAR_DECLARE(avx2)
INSTAR_DECLARE(avx512)
#endif
#undef INSTAR_DECLARE

template <class Real>
Groups<Real> pair_groups(Instructions instructions) {
#if defined(INSTAR_X86)
  if (instructions == Instructions::avx512) return avx512::pair_groups;
  if (instructions == Instructions::avx2) return avx2::pair_groups;
#endif
  (void)instructions;
  return baseline::pair_groups;
}

}  // namespace instar
