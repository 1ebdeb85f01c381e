// The density of charges becomes the potential, wave by wave of its transform, with k = 2πA⁻¹n:
//
//     Φ̂(k) = N G(k) |b₁b₂b₃|² Q̂(k),    G(k) = (4πkₑ/V) e^(−k²/4α²)/k²,    G(0) = 0
//
// N is the number of points, by which the transform back divides. Of each plane of waves the sums
//
//     Σ U_k,    Σ U_k (1/k² + 1/4α²) k ⊗ k,    U_k = G |b₁b₂b₃|² |Q̂|²
//
// are added up (xx, yy, zz, yz, xz, xy), waves that the half transform leaves out with them. Terms
// are added up in sixteen sums, side by side, and these at the end.
//
// Compiled once for each set of instructions, named INSTRUCTIONS. Only mesh.hpp is shared.

#include "elementary.hpp"
#include "mesh.hpp"

namespace instar {
namespace {

constexpr int SIDE_BY_SIDE = 16;
constexpr double FOUR_PI_COULOMB = 12.566370614359172 * 14.39964547842567;  // eV Å/e², CODATA 2018
constexpr double TWO_PI = 6.283185307179586;

template <class Real>
struct Waves {
  alignas(64) Real real[SIDE_BY_SIDE], imaginary[SIDE_BY_SIDE], weight[SIDE_BY_SIDE];
  alignas(64) Real x[SIDE_BY_SIDE], y[SIDE_BY_SIDE], z[SIDE_BY_SIDE];
};

// n of the i-th wave along an axis of `size` points.
inline std::int64_t number_of(std::int64_t i, std::int64_t size) {
  return i < (size + 1) / 2 ? i : i - size;
}

// What a system's waves have in common.
template <class Real>
struct System {
  Real turns[3][3];  // 2πA⁻¹
  Real scale;        // 4πkₑ/V
  Real width;        // 1/4α²
  Real points;       // N

  System(const MeshConvolve<Real>& on, std::int64_t system) {
    for (int k = 0; k < 9; ++k) turns[k / 3][k % 3] = Real(TWO_PI) * on.inverse[9 * system + k];
    scale = Real(FOUR_PI_COULOMB) / on.volume[system];
    width = 1 / (4 * on.alpha[system] * on.alpha[system]);
    points = Real(on.grid.points());
  }
};

// Sixteen waves of a line: Φ̂ in place of Q̂, and their terms.
template <class Real>
inline void convolve_waves(const System<Real>& of, const Real* often, Waves<Real>& waves,
                           Real (*sums)[SIDE_BY_SIDE]) {
  for (int i = 0; i < SIDE_BY_SIDE; ++i) {
    const Real x = waves.x[i], y = waves.y[i], z = waves.z[i];
    const Real squared = x * x + y * y + z * z;
    const bool none = squared == 0;
    const Real inverse = 1 / (none ? Real(1) : squared);
    const Real size = of.scale * exponential(-squared * of.width) * inverse * waves.weight[i];
    const Real influence = none ? Real(0) : size;
    const Real real = waves.real[i], imaginary = waves.imaginary[i];
    const Real each = often[i] * influence * (real * real + imaginary * imaginary);
    const Real shape = each * (inverse + of.width);
    waves.real[i] = of.points * influence * real;
    waves.imaginary[i] = of.points * influence * imaginary;
    sums[0][i] += each;
    sums[1][i] += shape * x * x;
    sums[2][i] += shape * y * y;
    sums[3][i] += shape * z * z;
    sums[4][i] += shape * y * z;
    sums[5][i] += shape * x * z;
    sums[6][i] += shape * x * y;
  }
}

// A wave of the half transform stands for two, but for the first and, of an even number, the last.
template <class Real>
inline Real often_of(std::int64_t i, std::int64_t size) {
  return i == 0 || 2 * i == size ? Real(1) : Real(2);
}

template <class Real>
void convolve(const MeshConvolve<Real>& on, std::int64_t system, std::int64_t plane) {
  const Grid& grid = on.grid;
  const System<Real> of(on, system);
  const std::int64_t half = grid.z / 2 + 1, first = (system * grid.x + plane) * grid.y * half * 2;
  const Real along = Real(number_of(plane, grid.x));
  alignas(64) Real sums[MESH_SUMS][SIDE_BY_SIDE] = {};
  alignas(64) Real often[SIDE_BY_SIDE];
  Waves<Real> waves;
  for (std::int64_t z = 0; z < half; z += SIDE_BY_SIDE) {
    const int lanes = int(half - z < SIDE_BY_SIDE ? half - z : SIDE_BY_SIDE);
    for (int i = 0; i < SIDE_BY_SIDE; ++i) often[i] = often_of<Real>(z + i, grid.z);
    for (std::int64_t y = 0; y < grid.y; ++y) {
      const Real row = Real(number_of(y, grid.y));
      const Real* density = on.density + first + (y * half + z) * 2;
      Real* answer = on.answer + first + (y * half + z) * 2;
      const Real weight = on.moduli[0][plane] * on.moduli[1][y];
      for (int i = 0; i < SIDE_BY_SIDE; ++i) {
        const bool there = i < lanes;
        const Real n = Real(z + i);
        waves.real[i] = there ? density[2 * i] : Real(0);
        waves.imaginary[i] = there ? density[2 * i + 1] : Real(0);
        waves.weight[i] = there ? weight * on.moduli[2][z + i] : Real(0);
        waves.x[i] = of.turns[0][0] * along + of.turns[0][1] * row + of.turns[0][2] * n;
        waves.y[i] = of.turns[1][0] * along + of.turns[1][1] * row + of.turns[1][2] * n;
        waves.z[i] = of.turns[2][0] * along + of.turns[2][1] * row + of.turns[2][2] * n;
      }
      convolve_waves(of, often, waves, sums);
      for (int i = 0; i < lanes; ++i) {
        answer[2 * i] = waves.real[i];
        answer[2 * i + 1] = waves.imaginary[i];
      }
    }
  }
  Real* to = on.sums + (system * grid.x + plane) * MESH_SUMS;
  for (int k = 0; k < MESH_SUMS; ++k) {
    to[k] = 0;
    for (int i = 0; i < SIDE_BY_SIDE; ++i) to[k] += sums[k][i];
  }
}

}  // namespace

namespace INSTRUCTIONS {

void mesh_convolve(const MeshConvolve<double>& on, std::int64_t system, std::int64_t plane) {
  convolve(on, system, plane);
}
void mesh_convolve(const MeshConvolve<float>& on, std::int64_t system, std::int64_t plane) {
  convolve(on, system, plane);
}

}  // namespace INSTRUCTIONS
}  // namespace instar
