// What the kernels of particle-mesh Ewald take and give; see mesh_sort.cpp, mesh_spread.cpp,
// mesh_convolve.cpp and mesh_read.cpp.

#pragma once

#include <cstdint>

namespace instar {

// A mesh of x·y·z points, and the order p of the splines: 4, 6 or 8, and no axis is shorter.
struct Grid {
  std::int64_t x, y, z;
  int order;

  std::int64_t points() const { return x * y * z; }
  std::int64_t lines() const { return x * y; }
};

// Charges of several systems, each with a mesh of its own. Where a charge is zero there is nobody.
template <class Real>
struct Charges {
  const Real* place;   // (systems, count, 3) in units of the cell's vectors
  const Real* charge;  // (systems, count)
  std::int64_t systems, count;
};

// Particles of each system by the line (x, y) of the mesh that they are on.
template <class Integer>
struct ByLine {
  Integer* particle;  // (systems, count): those on line 0, on line 1, …; then those without charge
  Integer* start;     // (systems, lines + 2): where each line begins, and those without charge
};

template <class Real>
struct MeshSort {
  Grid grid;
  Charges<Real> charges;
  ByLine<std::int32_t> sorted;
};

template <class Real>
struct MeshSpread {
  Grid grid;
  Charges<Real> charges;
  ByLine<const std::int32_t> sorted;
  Real* mesh;  // (systems, x, y, z)
};

// A slab of planes is as wide as a spline reaches, or wider, so that a particle touches its own
// slab and the one before. Slabs with even numbers have no point in common, nor have those with
// odd ones: there is an even number of slabs, or only one.
inline std::int64_t slabs_of(const Grid& grid) {
  const std::int64_t pairs = grid.x / (2 * (grid.order - 1));
  return pairs > 0 ? 2 * pairs : 1;
}

inline std::int64_t slab_begin(const Grid& grid, std::int64_t slab) {
  return slab * grid.x / slabs_of(grid);
}

template <class Real>
struct MeshConvolve {
  Grid grid;
  std::int64_t systems;
  const Real* density;    // (systems, x, y, z/2 + 1, 2): real and imaginary parts
  const Real* moduli[3];  // |b(n)|² along each axis: (x), (y), (z/2 + 1)
  const Real* inverse;    // (systems, 3, 3) A⁻¹, 1/Å
  const Real* volume;     // (systems) Å³
  const Real* alpha;      // (systems) 1/Å
  Real* answer;           // as the density, which it may be
  Real* sums;             // (systems, x, 7)
};

constexpr int MESH_SUMS = 7;

template <class Real>
struct MeshRead {
  Grid grid;
  Charges<Real> charges;
  ByLine<const std::int32_t> sorted;
  const Real* field;    // (systems, x, y, z)
  const Real* inverse;  // (systems, 3, 3)
  Real* found;          // (systems, count, 4): q φ and the force
};

}  // namespace instar
