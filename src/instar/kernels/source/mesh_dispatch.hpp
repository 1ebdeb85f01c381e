// The kernels of particle-mesh Ewald in the instructions of this processor.

#pragma once

#include "instructions.hpp"
#include "mesh.hpp"

namespace instar {

template <class Real>
using SortMesh = void (*)(const MeshSort<Real>&, std::int64_t system);
template <class Real>
using SpreadMesh = void (*)(const MeshSpread<Real>&, std::int64_t system, std::int64_t slab);
template <class Real>
using ConvolveMesh = void (*)(const MeshConvolve<Real>&, std::int64_t system, std::int64_t plane);
template <class Real>
using ReadMesh = void (*)(const MeshRead<Real>&, std::int64_t system, std::int64_t begin,
                          std::int64_t end);

template <class Real>
struct MeshKernels {
  SortMesh<Real> sort;
  SpreadMesh<Real> spread;
  ConvolveMesh<Real> convolve;
  ReadMesh<Real> read;
};

#define INSTAR_DECLARED_FOR(Real)                                                  \
  void mesh_sort(const MeshSort<Real>&, std::int64_t);                             \
  void mesh_spread(const MeshSpread<Real>&, std::int64_t, std::int64_t);           \
  void mesh_convolve(const MeshConvolve<Real>&, std::int64_t, std::int64_t);       \
  void mesh_read(const MeshRead<Real>&, std::int64_t, std::int64_t, std::int64_t);
#define INSTAR_DECLARED(set)  \
  namespace set {             \
  INSTAR_DECLARED_FOR(double) \
  INSTAR_DECLARED_FOR(float)  \
  }
INSTAR_IN_ALL_SETS(INSTAR_DECLARED)
INSTAR_CHOICE(SortMesh, mesh_sort)
INSTAR_CHOICE(SpreadMesh, mesh_spread)
INSTAR_CHOICE(ConvolveMesh, mesh_convolve)
INSTAR_CHOICE(ReadMesh, mesh_read)

template <class Real>
MeshKernels<Real> mesh_kernels(Instructions set) {
  return {mesh_sort<Real>(set), mesh_spread<Real>(set), mesh_convolve<Real>(set),
          mesh_read<Real>(set)};
}
#undef INSTAR_DECLARED
#undef INSTAR_DECLARED_FOR

}  // namespace instar
