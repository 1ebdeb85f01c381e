// Who is within reach of each row: neighbors/search.py in C++.
//
//     for each column of bins that the ball around a point touches
//         the candidates are one range of rows; those with |r − r₀|² ≤ R² are neighbors, in order
//
// In an orthorhombic cell a column at the distance d, seen from the point, is within reach only up
// to √(R² − d²) along z. Neighbors of 16 points are collected in a tile and written together, as
// the slots of points beside each other are.

#include "neighbor_search.hpp"

#include "neighbor_arithmetic.hpp"
#include "vectors.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace instar {
namespace {

constexpr int LANES = SEARCHED_TOGETHER;
constexpr int DEPTH = 256;  // slots in a tile; more are written one by one
constexpr std::int64_t WORD = 32;
constexpr int ACROSS = 2 * MOST_SUBDIVISION + 1;

// Bit by bit, whether a ≤ b.
template <class Vector, class Real>
inline std::uint32_t not_above(const Vector& a, const Vector& b, Real) {
  std::uint32_t bits = 0;
  for (unsigned k = 0; k < sizeof(Vector) / sizeof(Real); ++k) bits |= std::uint32_t(a[k] <= b[k]) << k;
  return bits;
}
#if defined(__AVX512F__)
inline std::uint32_t not_above(const __m512d& a, const __m512d& b, double) {
  return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ);
}
inline std::uint32_t not_above(const __m512& a, const __m512& b, float) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}
#elif defined(__AVX2__)
inline std::uint32_t not_above(const __m256d& a, const __m256d& b, double) {
  return std::uint32_t(_mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LE_OQ)));
}
inline std::uint32_t not_above(const __m256& a, const __m256& b, float) {
  return std::uint32_t(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LE_OQ)));
}
#endif

#if defined(__AVX512F__)
inline __m512d sum_of(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }
inline __m512 sum_of(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
#elif defined(__AVX2__)
inline __m256d sum_of(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
inline __m256 sum_of(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
#else
template <class Vector>
inline Vector sum_of(const Vector& a, const Vector& b, const Vector& c) {
  Vector sums;
  for (unsigned k = 0; k < sizeof(Vector) / sizeof(a[0]); ++k) sums[k] = sum_of(a[k], b[k], c[k]);
  return sums;
}
#endif

// What all points of a system have in common.
template <class Real>
struct Of {
  std::int32_t system = -1;
  std::int32_t bins[3], before;
  Real low[3], size[3];       // of bins, fractional
  Real breadth[2], fuzz[2];   // of a bin across, and rounding errors, Å
  Real per_length, fuzz_z;    // bins per Å along z, rounding errors in bins
  Real whole, squared;        // the reach in bins along z, and its square, Å²
};

template <class Real>
void prepare(const NeighborSearch<Real>& search, std::int32_t system, Of<Real>& of) {
  if (of.system == system) return;
  of.system = system;
  const std::int64_t s = system;
  for (int k = 0; k < 3; ++k) {
    of.bins[k] = search.bins[3 * s + k];
    of.low[k] = search.low[3 * s + k];
    of.size[k] = search.size[3 * s + k];
  }
  for (int k = 0; k < 2; ++k) {
    of.breadth[k] = of.size[k] * search.heights[3 * s + k];
    of.fuzz[k] = search.fuzz[3 * s + k] * search.heights[3 * s + k];
  }
  of.before = search.before[s];
  of.per_length = 1 / (of.size[2] * search.heights[3 * s + 2]);
  of.fuzz_z = search.fuzz[3 * s + 2] / of.size[2];
  of.whole = search.span[3 * s + 2] / of.size[2];
  of.squared = search.reach[s] * search.reach[s] * (1 + margin<Real>());
}

// Distances from a point to the bins around it along one axis, Å, squared where it matters.
template <class Real>
struct Axis {
  std::int32_t home;
  Real gap[ACROSS];
};

template <class Real>
void look(const Of<Real>& of, int k, Real inside, int subdivision, Axis<Real>& axis) {
  const Real place = (inside - of.low[k]) / of.size[k];
  axis.home = within(whole(floor_of(place)), 0, of.bins[k] - 1);
  const Real in = place - Real(axis.home);
  for (int n = 0; n <= 2 * subdivision; ++n) {
    const Real offset = Real(n - subdivision);
    const Real bins = larger(offset - in, in - offset - 1);
    axis.gap[n] = larger(sum_of(bins, of.breadth[k], -of.fuzz[k]), Real(0));
  }
}

// A tile of slots: what the rows beside each other see.
struct Tile {
  std::int32_t seen[DEPTH][LANES];
  std::int32_t* slots;  // of the first row
  std::int64_t room, width, depth;
  int lanes;

  void begin() {
    depth = smaller(room, std::int64_t(DEPTH));
    for (std::int64_t k = 0; k < depth; ++k) {
      for (int l = 0; l < LANES; ++l) seen[k][l] = 0;
    }
    for (std::int64_t k = depth; k < room; ++k) {
      for (int l = 0; l < lanes; ++l) slots[k * width + l] = 0;
    }
  }

  void put(int lane, std::int64_t k, std::int32_t row) {
    if (k < depth) {
      seen[k][lane] = row;
    } else if (k < room) {
      slots[k * width + lane] = row;
    }
  }

  void write() const {
    for (std::int64_t k = 0; k < depth; ++k) {
      std::int32_t* to = slots + k * width;
      for (int l = 0; l < lanes; ++l) to[l] = seen[k][l];
    }
  }
};

// Rows that one point sees, until they are put into the tile.
struct Seen {
  static constexpr int ROOM = 128, MOST_AT_ONCE = 16;
  std::int32_t rows[ROOM + MOST_AT_ONCE];
  std::int32_t held;
  std::int64_t before;

  // A row for each bit, from `row` on.
  void add(std::uint32_t bits, std::int64_t row) {
#if defined(__AVX512F__)
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i all = _mm512_add_epi32(lanes, _mm512_set1_epi32(std::int32_t(row)));
    _mm512_storeu_si512(rows + held, _mm512_maskz_compress_epi32(__mmask16(bits), all));
    held += __builtin_popcount(bits);
#else
    for (; bits != 0; bits &= bits - 1) rows[held++] = std::int32_t(row + __builtin_ctz(bits));
#endif
  }
};

// One point: where it is, and what is found around it.
template <class Real>
struct Point {
  Real x, y, z, limit;
  std::int32_t itself;
  const std::int32_t* left_out;  // rows that it does not see, so many:
  std::int64_t partners;
  int lane;
  Seen seen;
};

template <class Real>
void put(Point<Real>& point, Tile& tile) {
  Seen& seen = point.seen;
  for (std::int32_t n = 0; n < seen.held; ++n) {
    std::int32_t row = seen.rows[n];
    for (std::int64_t k = 0; k < point.partners; ++k) {
      if (point.left_out[k] == row) row = 0;
    }
    tile.put(point.lane, seen.before + n, row);
  }
  seen.before += seen.held;
  seen.held = 0;
}

// Neighbors among the rows [begin, end).
template <class Real>
inline void test(const NeighborSearch<Real>& search, std::int64_t begin, std::int64_t end,
                 Point<Real>& point, Tile& tile) {
  using Vector = typename Wide<Real>::Type;
  constexpr int at_once = BYTES / sizeof(Real);
  const Vector limit = point.limit - Vector{};
  std::int64_t row = begin;
  for (; row < end && row + at_once <= search.images; row += at_once) {
    const Vector x = get<Vector>(search.x + row) - point.x, y = get<Vector>(search.y + row) - point.y,
                 z = get<Vector>(search.z + row) - point.z;
    const Vector squared = sum_of(z, z, sum_of(x, x, Vector(y * y)));
    std::uint32_t bits = not_above(squared, limit, Real());
    if (end - row < at_once) bits &= (std::uint32_t(1) << (end - row)) - 1;
    const std::int64_t own = point.itself - row;
    if (own >= 0 && own < at_once) bits &= ~(std::uint32_t(1) << own);
    point.seen.add(bits, row);
    if (point.seen.held > Seen::ROOM) put(point, tile);
  }
  for (; row < end; ++row) {
    const Real x = search.x[row] - point.x, y = search.y[row] - point.y, z = search.z[row] - point.z;
    const Real squared = sum_of(z, z, sum_of(x, x, y * y));
    point.seen.add(squared <= point.limit && row != point.itself, row);
    if (point.seen.held > Seen::ROOM) put(point, tile);
  }
}

// Columns of bins that the ball around a point touches, and the part of each that it does.
template <class Real>
struct Columns {
  static constexpr int ROOM = ACROSS * ACROSS;
  int count = 0;
  std::int64_t number[ROOM];             // of the first bin of each column
  Real left[ROOM];                       // R² − d², Å²
  std::int32_t bottom[ROOM], top[ROOM];  // bins along z
};

template <class Real>
void find_columns(const NeighborSearch<Real>& search, const Of<Real>& of, const Real* inside,
                  Columns<Real>& columns) {
  const int subdivision = int(search.subdivision), across = 2 * subdivision + 1;
  Axis<Real> x, y;
  look(of, 0, inside[0], subdivision, x);
  look(of, 1, inside[1], subdivision, y);
  for (int i = 0; i < across; ++i) {
    const std::int32_t at_x = x.home + i - subdivision;
    if (at_x < 0 || at_x >= of.bins[0]) continue;
    const Real left_x = sum_of(-x.gap[i], x.gap[i], of.squared);
    for (int j = 0; j < across; ++j) {
      const std::int32_t at_y = y.home + j - subdivision;
      const Real left = sum_of(-y.gap[j], y.gap[j], left_x);
      const bool touched = !search.orthorhombic || left >= 0;
      columns.number[columns.count] =
          of.before + (std::int64_t(at_x) * of.bins[1] + at_y) * of.bins[2];
      columns.left[columns.count] = left;
      columns.count += at_y >= 0 && at_y < of.bins[1] && touched;
    }
  }
}

template <class Real>
void find_ranges(const Of<Real>& of, Real inside, bool orthorhombic, Columns<Real>& columns) {
  const Real z = (inside - of.low[2]) / of.size[2], last = Real(of.bins[2] - 1);
  const auto bin = [last](Real place) {
    const Real low = floor_of(place), at = low > 0 ? low : Real(0);
    return std::int32_t(at < last ? at : last);
  };
  for (int c = 0; c < columns.count; ++c) {
    const Real half = orthorhombic ? sum_of(root_of(columns.left[c]), of.per_length, of.fuzz_z)
                                   : of.whole;
    columns.bottom[c] = bin(z - half);
    columns.top[c] = bin(z + half);
  }
}

// All neighbors of a point; gives the most candidates in one column of bins.
template <class Real>
std::int64_t around(const NeighborSearch<Real>& search, const Of<Real>& of, const Real* inside,
                    Point<Real>& point, Tile& tile) {
  Columns<Real> columns;
  find_columns(search, of, inside, columns);
  find_ranges(of, inside[2], search.orthorhombic, columns);
  std::int64_t most = 0;
  for (int c = 0; c < columns.count; ++c) {
    const std::int64_t bottom = columns.number[c] + columns.bottom[c];
    const std::int64_t top = columns.number[c] + columns.top[c] + 1;
    if (bottom < 0 || top >= search.table) continue;
    const std::int64_t begin = search.first[bottom], end = search.first[top];
    most = larger(most, end - begin);
    const std::int64_t tested = smaller(end, begin + WORD * search.words);
    test(search, begin, smaller(tested, search.images), point, tile);
  }
  put(point, tile);
  return most;
}

template <class Real>
void group(const NeighborSearch<Real>& search, std::int64_t number, Of<Real>& of, Tile& tile) {
  const std::int64_t each = searches_of(search.width);
  const std::int64_t block = number / each, first = number % each * LANES;
  const std::int64_t from = block * search.width + first;
  tile.slots = search.slots + block * search.room * search.width + first;
  tile.room = search.room, tile.width = search.width;
  tile.lanes = int(smaller(search.width - first, std::int64_t(LANES)));
  tile.begin();
  Point<Real> point;
  point.partners = search.partners;
  point.seen.held = 0;
  for (int lane = 0; lane < tile.lanes; ++lane) {
    search.count[from + lane] = search.candidates[from + lane] = 0;
    const std::int64_t row = search.rows[from + lane];
    if (row <= 0 || row >= search.images) continue;
    const std::int64_t p = search.owner[row];
    if (p < 0 || p >= search.particles) continue;
    const std::int32_t system = search.system[p];
    if (system < 0 || system >= search.systems) continue;
    prepare(search, system, of);
    point.x = search.x[row], point.y = search.y[row], point.z = search.z[row];
    point.limit = of.squared;
    point.itself = std::int32_t(row);
    point.left_out = search.left_out + p * search.partners;
    point.lane = lane;
    point.seen.before = 0;
    const std::int64_t most = around(search, of, search.inside + 3 * p, point, tile);
    search.candidates[from + lane] = std::int32_t(most);
    search.count[from + lane] = std::int32_t(point.seen.before);
  }
  tile.write();
}

template <class Real>
void groups(const NeighborSearch<Real>& search, std::int64_t begin, std::int64_t end) {
  Of<Real> of;
  Tile tile;
  for (std::int64_t number = begin; number < end; ++number) group(search, number, of, tile);
}

}  // namespace

namespace INSTRUCTIONS {

void search_groups(const NeighborSearch<double>& search, std::int64_t begin, std::int64_t end) {
  groups(search, begin, end);
}

void search_groups(const NeighborSearch<float>& search, std::int64_t begin, std::int64_t end) {
  groups(search, begin, end);
}

}  // namespace INSTRUCTIONS
}  // namespace instar
