// What the pair pass works on at once: sixteen rows, and eight neighbors of each.

#pragma once

#include "pair_pass.hpp"

namespace instar {
namespace {

constexpr int DEPTH = 8;
constexpr int PAIRS = LANES * DEPTH;
constexpr int MOST_PARAMETERS = 3 + 2 + 1;

template <class Real>
struct Batch {
  alignas(64) std::int32_t near[PAIRS];
  alignas(64) Real x[PAIRS], y[PAIRS], z[PAIRS], squared[PAIRS], u[PAIRS], slope[PAIRS];
  alignas(64) Real factor[PAIRS];
};

// The rows that look: where they are, and what they bring to each term.
template <class Real>
struct Row {
  alignas(64) Real x[LANES], y[LANES], z[LANES];
  alignas(64) std::int32_t image[LANES];
};

template <class Real>
struct Table {
  alignas(64) Real of[MOST_PARAMETERS][PAIRS];
};

template <class Real>
struct Sums {
  alignas(64) Real fx[LANES], fy[LANES], fz[LANES], energy[LANES], virial[6][LANES];
};

// A number out of bounds, which a list that has overflowed may hold, is read as 0.
inline std::int32_t bounded(std::int32_t number, std::int64_t end) {
  return std::uint32_t(number) < std::uint32_t(end) ? number : 0;
}

template <class Real>
Row<Real> looking(const PairPass<Real>& pass, const std::int32_t* rows, int lanes) {
  constexpr Real far = Real(-1e9);  // −FAR of neighbors/images.py: nothing is near
  Row<Real> row;
  for (int l = 0; l < LANES; ++l) {
    const std::int32_t image = l < lanes ? bounded(rows[l], pass.images) : 0;
    const Real* point = pass.points + 4 * std::int64_t(image);
    row.image[l] = image;
    row.x[l] = image > 0 ? point[0] : far;
    row.y[l] = image > 0 ? point[1] : far;
    row.z[l] = image > 0 ? point[2] : far;
  }
  return row;
}

}  // namespace
}  // namespace instar
