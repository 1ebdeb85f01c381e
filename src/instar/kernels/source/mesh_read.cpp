// What a field on a mesh says at each particle, by the splines that spread it:
//
//     φ = Σ Φ(i, j, k) M_p(x − i) M_p(y − j) M_p(z − k),    f = −q ∂φ/∂r
//
// Of each window lines along z are added up first, with the weights of y and their slopes, then
// planes with those of x; what is left is one line for φ and one for each slope. Particles are read
// in the order of the lines they are on, and written where they belong.
//
// Compiled once for each set of instructions, named INSTRUCTIONS. Only mesh.hpp is shared.

#include "mesh.hpp"
#include "mesh_splines.hpp"

namespace instar {
namespace {

// Lines of a window, all of the same width; those at the end of the mesh go on at its beginning.
template <int order, class Real>
struct Lines {
  static constexpr int width = order == 4 ? 4 : 8;
  using Vector = typename Line<Real, width>::Type;

  const Real* field;
  const Grid& grid;
  std::int64_t planes[order], rows[order], points[order];
  bool whole;

  Lines(const Grid& of, const Real* from, const Windows<Real>& all, int i) : field(from), grid(of) {
    wrapped<order>(all.first[0][i], grid.x, planes);
    wrapped<order>(all.first[1][i], grid.y, rows);
    wrapped<order>(all.first[2][i], grid.z, points);
    whole = all.first[2][i] >= 0 && all.first[2][i] + width <= grid.z;
  }

  inline void at(int a, int b, Vector& line) const {
    const Real* from = field + (planes[a] * grid.y + rows[b]) * grid.z;
    if (whole) {
      line = get<Vector>(from + points[0]);
    } else {
      Real values[width] = {};
      for (int j = 0; j < order; ++j) values[j] = from[points[j]];
      line = get<Vector>(values);
    }
  }
};

// φ and its slopes along the mesh.
template <int order, class Real>
inline void sums(const Lines<order, Real>& lines, const Windows<Real>& all, int i, Real* found) {
  using Vector = typename Lines<order, Real>::Vector;
  Vector plain = {}, along_x = {}, along_y = {}, line;
  for (int a = 0; a < order; ++a) {
    Vector plane = {}, tilted = {};
    for (int b = 0; b < order; ++b) {
      lines.at(a, b, line);
      plane += all.value[1][b][i] * line;
      tilted += all.slope[1][b][i] * line;
    }
    plain += all.value[0][a][i] * plane;
    along_x += all.slope[0][a][i] * plane;
    along_y += all.value[0][a][i] * tilted;
  }
  for (int k = 0; k < 4; ++k) found[k] = 0;
  for (int j = 0; j < order; ++j) {
    found[0] += all.line[i][j] * plain[j];
    found[1] += all.line[i][j] * along_x[j];
    found[2] += all.line[i][j] * along_y[j];
    found[3] += all.tilted[i][j] * plain[j];
  }
}

// From slopes along the mesh to a force: −q A⁻¹ (K₁ φ₁, K₂ φ₂, K₃ φ₃).
template <class Real>
inline void write(const Grid& grid, const Real* inverse, Real charge, const Real* found, Real* to) {
  const Real turns[3] = {found[1] * Real(grid.x), found[2] * Real(grid.y), found[3] * Real(grid.z)};
  to[0] = charge * found[0];
  for (int x = 0; x < 3; ++x) {
    const Real* row = inverse + 3 * x;
    to[1 + x] = -charge * (row[0] * turns[0] + row[1] * turns[1] + row[2] * turns[2]);
  }
}

template <int order, class Real>
void read_some(const MeshRead<Real>& from, std::int64_t system, std::int64_t begin,
               std::int64_t end) {
  const Grid& grid = from.grid;
  const std::int64_t count = from.charges.count, lines = grid.lines();
  const std::int32_t* particle = from.sorted.particle + system * count;
  const std::int64_t charged = from.sorted.start[system * (lines + 2) + lines];
  const Real* field = from.field + system * grid.points();
  Real* to = from.found + system * count * 4;
  const std::int64_t last = end < charged ? end : charged;
  Windows<Real> all;
  for (std::int64_t i = begin; i < last; i += AT_ONCE) {
    const int lanes = int(last - i < AT_ONCE ? last - i : AT_ONCE);
    windows<order, true>(grid, from.charges.place + system * count * 3,
                         from.charges.charge + system * count, particle + i, lanes, all);
    for (int l = 0; l < lanes; ++l) {
      Real found[4];
      sums<order>(Lines<order, Real>(grid, field, all, l), all, l, found);
      Real* mine = to + 4 * std::int64_t(particle[i + l]);
      write(grid, from.inverse + 9 * system, all.charge[l], found, mine);
    }
  }
  for (std::int64_t i = begin < charged ? charged : begin; i < end; ++i) {
    for (int k = 0; k < 4; ++k) to[4 * std::int64_t(particle[i]) + k] = 0;
  }
}

template <class Real>
void read(const MeshRead<Real>& from, std::int64_t system, std::int64_t begin, std::int64_t end) {
  switch (from.grid.order) {
    case 4: return read_some<4>(from, system, begin, end);
    case 6: return read_some<6>(from, system, begin, end);
    default: return read_some<8>(from, system, begin, end);
  }
}

}  // namespace

namespace INSTRUCTIONS {

void mesh_read(const MeshRead<double>& from, std::int64_t system, std::int64_t begin,
               std::int64_t end) {
  read(from, system, begin, end);
}
void mesh_read(const MeshRead<float>& from, std::int64_t system, std::int64_t begin,
               std::int64_t end) {
  read(from, system, begin, end);
}

}  // namespace INSTRUCTIONS
}  // namespace instar
