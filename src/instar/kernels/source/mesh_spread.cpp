// Charges onto a mesh: for each particle, at each of the p³ points that its splines touch,
//
//     Q(i, j, k) += q M_p(x − i) M_p(y − j) M_p(z − k)
//
// Particles come in the order of the lines they are on (mesh_sort.cpp): what one touches is in a
// core's cache from the one before. A share of the work is a slab of planes, with all particles in it.
// First the slabs with even numbers are done, then the odd ones: no two that are done at the same
// time touch the same point, and each point gets its terms in the same order, whoever works on it.
//
// Compiled once for each set of instructions, named INSTRUCTIONS. Only mesh.hpp is shared.

#include "mesh.hpp"
#include "mesh_splines.hpp"

namespace instar {
namespace {

template <int width, class Real>
inline void add_line(Real factor, const Real* line, Real* to) {
  constexpr int part = width == 6 ? 4 : width;
  using Vector = typename Line<Real, part>::Type;
  more(Vector(factor * get<Vector>(line)), to);
  if constexpr (part < width) add_line<width - part>(factor, line + part, to + part);
}

template <int order, class Real>
inline void add(const Grid& grid, const Windows<Real>& all, int i, Real* mesh) {
  std::int64_t planes[order], rows[order], points[order];
  wrapped<order>(all.first[0][i], grid.x, planes);
  wrapped<order>(all.first[1][i], grid.y, rows);
  wrapped<order>(all.first[2][i], grid.z, points);
  const bool whole = all.first[2][i] >= 0;
  for (int a = 0; a < order; ++a) {
    const Real along = all.charge[i] * all.value[0][a][i];
    Real* plane = mesh + planes[a] * grid.y * grid.z;
    for (int b = 0; b < order; ++b) {
      const Real factor = along * all.value[1][b][i];
      Real* line = plane + rows[b] * grid.z;
      if (whole) {
        add_line<order>(factor, all.line[i], line + points[0]);
      } else {
        for (int j = 0; j < order; ++j) line[points[j]] += factor * all.line[i][j];
      }
    }
  }
}

template <class Real>
void clear(const Grid& grid, std::int64_t slab, Real* mesh) {
  const std::int64_t plane = grid.y * grid.z;
  Real* end = mesh + slab_begin(grid, slab + 1) * plane;
  for (Real* point = mesh + slab_begin(grid, slab) * plane; point < end; ++point) *point = 0;
}

template <int order, class Real>
void spread_slab(const MeshSpread<Real>& to, std::int64_t system, std::int64_t slab) {
  const Grid& grid = to.grid;
  const std::int64_t count = to.charges.count, slabs = slabs_of(grid);
  Real* mesh = to.mesh + system * grid.points();
  if (slab % 2 == 0) {
    clear(grid, slab, mesh);
    if (slabs > 1) clear(grid, (slab + slabs - 1) % slabs, mesh);
  }
  const std::int32_t* start = to.sorted.start + system * (grid.lines() + 2);
  const std::int32_t* particle = to.sorted.particle + system * count;
  const std::int64_t end = start[slab_begin(grid, slab + 1) * grid.y];
  Windows<Real> all;
  for (std::int64_t i = start[slab_begin(grid, slab) * grid.y]; i < end; i += AT_ONCE) {
    const int lanes = int(end - i < AT_ONCE ? end - i : AT_ONCE);
    windows<order, false>(grid, to.charges.place + system * count * 3,
                          to.charges.charge + system * count, particle + i, lanes, all);
    for (int l = 0; l < lanes; ++l) add<order>(grid, all, l, mesh);
  }
}

template <class Real>
void spread(const MeshSpread<Real>& to, std::int64_t system, std::int64_t slab) {
  switch (to.grid.order) {
    case 4: return spread_slab<4>(to, system, slab);
    case 6: return spread_slab<6>(to, system, slab);
    default: return spread_slab<8>(to, system, slab);
  }
}

}  // namespace

namespace INSTRUCTIONS {

void mesh_spread(const MeshSpread<double>& to, std::int64_t system, std::int64_t slab) {
  spread(to, system, slab);
}
void mesh_spread(const MeshSpread<float>& to, std::int64_t system, std::int64_t slab) {
  spread(to, system, slab);
}

}  // namespace INSTRUCTIONS
}  // namespace instar
