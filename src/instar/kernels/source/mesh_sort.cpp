// Particles by the line (x, y) of the mesh that they are on, each line in their own order.
//
// Compiled once for each set of instructions, named INSTRUCTIONS. Only mesh.hpp is shared.

#include "mesh.hpp"
#include "mesh_splines.hpp"

namespace instar {
namespace {

template <class Real>
std::int64_t line_of(const Grid& grid, const Real* place) {
  const Real x = Real(grid.x), y = Real(grid.y);
  const std::int64_t along_x = std::int64_t(corner_of(turned_of(place[0], x), x));
  return along_x * grid.y + std::int64_t(corner_of(turned_of(place[1], y), y));
}

// By counting: each particle keeps its place among those on its line.
template <class Real>
void sort(const MeshSort<Real>& of, std::int64_t system) {
  const std::int64_t count = of.charges.count, lines = of.grid.lines();
  const Real* place = of.charges.place + system * count * 3;
  const Real* charge = of.charges.charge + system * count;
  std::int32_t* start = of.sorted.start + system * (lines + 2);
  std::int32_t* particle = of.sorted.particle + system * count;
  const auto line = [&](std::int64_t i) {
    return charge[i] == 0 ? lines : line_of(of.grid, place + 3 * i);
  };
  for (std::int64_t n = 0; n < lines + 2; ++n) start[n] = 0;
  for (std::int64_t i = 0; i < count; ++i) ++start[line(i) + 1];
  for (std::int64_t n = 0; n < lines; ++n) start[n + 1] += start[n];
  // start[n] moves on to where line n + 1 begins, and is put back afterwards.
  for (std::int64_t i = 0; i < count; ++i) particle[start[line(i)]++] = std::int32_t(i);
  for (std::int64_t n = lines; n > 0; --n) start[n] = start[n - 1];
  start[0] = 0;
  start[lines + 1] = std::int32_t(count);
}

}  // namespace

namespace INSTRUCTIONS {

void mesh_sort(const MeshSort<double>& of, std::int64_t system) { sort(of, system); }
void mesh_sort(const MeshSort<float>& of, std::int64_t system) { sort(of, system); }

}  // namespace INSTRUCTIONS
}  // namespace instar
