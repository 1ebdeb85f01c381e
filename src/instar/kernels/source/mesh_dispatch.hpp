// The kernels of particle-mesh Ewald in the instructions of this processor.

#pragma once

#include "instructions.hpp"
#include "mesh.hpp"

namespace instar {

template <class Real>
struct MeshKernels {
  void (*sort)(const MeshSort<Real>&, std::int64_t system);
  void (*spread)(const MeshSpread<Real>&, std::int64_t system, std::int64_t slab);
  void (*convolve)(const MeshConvolve<Real>&, std::int64_t system, std::int64_t plane);
  void (*read)(const MeshRead<Real>&, std::int64_t system, std::int64_t begin, std::int64_t end);
};

#define INSTAR_DECLARE_FOR(Real)                                                   \
  void mesh_sort(const MeshSort<Real>&, std::int64_t);                             \
  void mesh_spread(const MeshSpread<Real>&, std::int64_t, std::int64_t);           \
  void mesh_convolve(const MeshConvolve<Real>&, std::int64_t, std::int64_t);       \
  void mesh_read(const MeshRead<Real>&, std::int64_t, std::int64_t, std::int64_t);
#define INSTAR_DECLARE(set)  \
  namespace set {            \
  INSTAR_DECLARE_FOR(double) \
  INSTAR_DECLARE_FOR(float)  \
  }
INSTAR_DECLARE(baseline)
#if defined(INSTAR_X86)
INSTAR_DECLARE(avx2)
INSTAR_DECLARE(avx512)
#endif
#undef INSTAR_DECLARE
#undef INSTAR_DECLARE_FOR

#define INSTAR_KERNELS_OF(set) {set::mesh_sort, set::mesh_spread, set::mesh_convolve, set::mesh_read}
template <class Real>
MeshKernels<Real> mesh_kernels(Instructions instructions) {
#if defined(INSTAR_X86)
  if (instructions == Instructions::avx512) return INSTAR_KERNELS_OF(avx512);
  if (instructions == Instructions::avx2) return INSTAR_KERNELS_OF(avx2);
#endif
  (void)instructions;
  return INSTAR_KERNELS_OF(baseline);
}
#undef INSTAR_KERNELS_OF

}  // namespace instar
