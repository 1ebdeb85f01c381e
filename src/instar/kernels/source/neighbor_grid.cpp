// All images of particles that others may see, sorted into bins: neighbors/grid.py in C++.
//
//     steps      of each particle, along each axis: ⌈−R/h − s⌉ … ⌊1 + R/h − s⌋
//     bins       of each system: as many as the reach allows, fewer where there are few images
//     numbers    of the bin of each image, ⌊(s + t − low) / width⌋ along each axis
//     rows       of each image, by counting: in the order of bins, and of particles in a bin
//     images     at their rows: whose they are, how many cells away, where
//
// What is done for each particle is done in shares by the threads of a pool; what runs over all in
// turn only counts. Equal arrays to the bit, whoever does it.

#include "neighbor_grid.hpp"

#include "neighbor_arithmetic.hpp"

namespace instar {
namespace {

constexpr std::int32_t FINER_ALONG_Z = 4;  // of grid.py
constexpr std::int64_t PARTICLES_OF_SHARE = 512;
constexpr std::int64_t COUNTABLE = std::int64_t(1) << 30;
constexpr std::int32_t UNCOUNTABLE = INT32_MAX - 1;
constexpr double MOST = 1048576.0;  // steps and bins along an axis

template <class Real>
struct Made {
  const NeighborGrid<Real>& grid;
  std::int32_t* lowest;  // (particles, 3) first step along each axis
  std::int32_t* steps;   // (particles, 3) how many there are
  std::int32_t* start;   // (particles,) the first image of each, before they are sorted
  std::int32_t* row;     // (rows,) of each image: its bin first, then where it is sorted to
  std::int32_t* next;    // (table,) the row that is next in each bin
  std::int32_t* seen;    // (systems,) images
  std::int64_t images;   // that there is room for

  explicit Made(const NeighborGrid<Real>& of) : grid(of), images(0) {
    lowest = grid.scratch;
    steps = lowest + 3 * grid.particles;
    start = steps + 3 * grid.particles;
    row = start + grid.particles;
    next = row + grid.rows;
    seen = next + grid.table;
  }
};

template <class Work>
void in_pool(const Pool& pool, std::int64_t count, const Work& work) {
  pool.run(
      pool.context, count, PARTICLES_OF_SHARE,
      [](const void* of, std::int64_t begin, std::int64_t end) {
        const Work& each = *static_cast<const Work*>(of);
        for (std::int64_t p = begin; p < end; ++p) each(p);
      },
      &work);
}

template <class Real>
void count_steps(const Made<Real>& made, std::int64_t p) {
  const NeighborGrid<Real>& grid = made.grid;
  for (int k = 0; k < 3; ++k) made.lowest[3 * p + k] = made.steps[3 * p + k] = 0;
  if (!grid.there[p]) return;
  const std::int64_t s = grid.system[p];
  for (int k = 0; k < 3; ++k) {
    const Real at = grid.inside[3 * p + k], most = Real(MOST);
    const Real reach = grid.reach[3 * s + k] > most ? most : grid.reach[3 * s + k];
    const bool repeats = grid.periodic[3 * s + k];
    const std::int32_t low = repeats ? whole(ceil_of(-reach - at)) : 0;
    const std::int32_t high = repeats ? whole(floor_of(1 + reach - at)) : 0;
    made.lowest[3 * p + k] = low;
    made.steps[3 * p + k] = high - low + 1;
  }
}

template <class Real>
std::int64_t images_of(const Made<Real>& made, std::int64_t p) {
  const std::int32_t* steps = made.steps + 3 * p;
  std::int64_t count = 1;
  for (int k = 0; k < 3; ++k) count = smaller(count * steps[k], COUNTABLE);
  return count;
}

// Where the images of each particle begin: particle after particle; with one bin to a system,
// system after system.
template <class Real>
void begin_images(Made<Real>& made) {
  const NeighborGrid<Real>& grid = made.grid;
  const std::int64_t room = grid.rows - 1;
  std::int64_t all = 0;
  for (std::int64_t s = 0; s < grid.systems; ++s) made.seen[s] = 0;
  if (grid.subdivision == 0) {
    for (std::int64_t p = 0; p < grid.particles; ++p) {
      if (!grid.there[p]) continue;
      std::int32_t& of = made.seen[grid.system[p]];
      of = std::int32_t(smaller(of + images_of(made, p), COUNTABLE));
    }
    for (std::int64_t s = 0; s < grid.systems; ++s) {
      const std::int64_t of = made.seen[s];
      made.next[s] = std::int32_t(smaller(all, COUNTABLE));
      made.seen[s] = std::int32_t(within(room - all, std::int64_t(0), of));
      all += of;
    }
    for (std::int64_t p = 0; p < grid.particles; ++p) {
      made.start[p] = 0;
      if (!grid.there[p]) continue;
      std::int32_t& from = made.next[grid.system[p]];
      made.start[p] = from;
      from = std::int32_t(smaller(from + images_of(made, p), COUNTABLE));
    }
  } else {
    for (std::int64_t p = 0; p < grid.particles; ++p) {
      const std::int64_t of = images_of(made, p);
      made.start[p] = std::int32_t(smaller(all, COUNTABLE));
      if (!grid.there[p]) continue;
      made.seen[grid.system[p]] += std::int32_t(within(room - all, std::int64_t(0), of));
      all += of;
    }
  }
  *grid.needed = all < COUNTABLE ? std::int32_t(all) : UNCOUNTABLE;
  made.images = smaller(all, room);
}

// Where images begin and end: known along periodic axes, else where particles are.
template <class Real>
void find_ends(const NeighborGrid<Real>& grid) {
  Real *low = grid.low, *high = grid.width;
  for (std::int64_t k = 0; k < 3 * grid.systems; ++k) low[k] = 1, high[k] = 0;  // no particle yet
  for (std::int64_t p = 0; p < grid.particles; ++p) {
    if (!grid.there[p]) continue;
    for (int k = 0; k < 3; ++k) {
      const std::int64_t of = 3 * std::int64_t(grid.system[p]) + k;
      const Real at = grid.inside[3 * p + k];
      const bool begun = low[of] <= high[of];
      low[of] = begun ? smaller(low[of], at) : at;
      high[of] = begun ? larger(high[of], at) : at;
    }
  }
  for (std::int64_t k = 0; k < 3 * grid.systems; ++k) {
    if (low[k] > high[k]) low[k] = high[k] = 0;
    if (grid.periodic[k]) low[k] = -grid.reach[k], high[k] = 1 + grid.reach[k];
  }
}

// The most bins n with n³ · product ≤ wanted³ · limit: all axes get fewer by one factor.
template <class Real>
Real fewer(Real wanted, Real product, Real limit) {
  const Real most = wanted * wanted * wanted * limit;
  const auto fits = [&](Real n) { return n * n * n * product <= most; };
  const Real about = floor_of(wanted / larger(Real(1), cube_root_of(product / limit)));
  return fits(about + 1) ? about + 1 : fits(about) ? about : about - 1;
}

template <class Real>
void count_bins(const Made<Real>& made, std::int64_t s) {
  const NeighborGrid<Real>& grid = made.grid;
  std::int32_t* bins = grid.bins + 3 * s;
  bins[0] = bins[1] = bins[2] = 1;
  if (grid.subdivision == 0) return;
  Real wanted[3];
  for (int k = 0; k < 3; ++k) {
    const Real extent = grid.width[3 * s + k] - grid.low[3 * s + k], span = grid.span[3 * s + k];
    const Real finer = Real((k == 2 ? FINER_ALONG_Z : 1) * grid.subdivision);
    const Real many = extent / (span > 0 ? span : Real(1)) * finer;
    wanted[k] = floor_of(many > 1 ? smaller(many, Real(MOST)) : Real(1));
  }
  const std::int32_t room = std::int32_t(BINS_PER_IMAGE) * made.seen[s] + 8;
  const Real product = wanted[0] * wanted[1] * wanted[2], limit = Real(room);
  std::int32_t most[3];
  for (int k = 0; k < 3; ++k) {
    most[k] = larger(1, whole(product > limit ? fewer(wanted[k], product, limit) : wanted[k]));
  }
  bins[0] = smaller(most[0], room);
  bins[1] = smaller(most[1], room / bins[0]);
  bins[2] = smaller(most[2], room / (bins[0] * bins[1]));
}

template <class Real>
void divide_systems(const Made<Real>& made) {
  const NeighborGrid<Real>& grid = made.grid;
  find_ends(grid);
  std::int32_t before = 0;
  for (std::int64_t s = 0; s < grid.systems; ++s) {
    for (std::int64_t k = 3 * s; k < 3 * s + 3; ++k) {
      const Real low = grid.low[k], high = grid.width[k];
      const Real a = low < 0 ? -low : low, b = high < 0 ? -high : high;
      grid.fuzz[k] = margin<Real>() * larger(Real(1), larger(a, b));
      grid.span[k] = grid.reach[k] + 2 * grid.fuzz[k];
    }
    count_bins(made, s);
    const std::int32_t* bins = grid.bins + 3 * s;
    for (int k = 0; k < 3; ++k) {
      Real& width = grid.width[3 * s + k];
      width = (width - grid.low[3 * s + k]) / Real(bins[k]);
      if (!(width > 0)) width = 1;
    }
    grid.before[s] = before;
    before += bins[0] * bins[1] * bins[2];
  }
}

// use(step, image) for each image of a particle that there is room for.
template <class Real, class Use>
void for_images(const Made<Real>& made, std::int64_t p, const Use& use) {
  if (!made.grid.there[p]) return;
  const std::int32_t *low = made.lowest + 3 * p, *steps = made.steps + 3 * p;
  std::int64_t image = made.start[p];
  for (std::int32_t i = 0; i < steps[0]; ++i) {
    for (std::int32_t j = 0; j < steps[1]; ++j) {
      for (std::int32_t k = 0; k < steps[2]; ++k, ++image) {
        if (image >= made.images) return;
        const std::int32_t step[3] = {low[0] + i, low[1] + j, low[2] + k};
        use(step, image);
      }
    }
  }
}

template <class Real>
void number_bins(const Made<Real>& made, std::int64_t p) {
  const NeighborGrid<Real>& grid = made.grid;
  const std::int64_t s = grid.system[p];
  const auto bin = [&](int k, std::int32_t step) {
    const Real from = grid.inside[3 * p + k] + Real(step) - grid.low[3 * s + k];
    return within(whole(floor_of(from / grid.width[3 * s + k])), 0, grid.bins[3 * s + k] - 1);
  };
  const std::int32_t *low = made.lowest + 3 * p, *bins = grid.bins + 3 * s;
  std::int32_t column = 0;
  for_images(made, p, [&](const std::int32_t* step, std::int64_t image) {
    if (step[2] == low[2]) column = (bin(0, step[0]) * bins[1] + bin(1, step[1])) * bins[2];
    made.row[image] = grid.before[s] + column + bin(2, step[2]);
  });
}

// From the number of its bin to the row of each image, by counting.
template <class Real>
void sort_images(const Made<Real>& made) {
  const NeighborGrid<Real>& grid = made.grid;
  for (std::int64_t b = 0; b < grid.table; ++b) grid.first[b] = 0;
  for (std::int64_t i = 0; i < made.images; ++i) ++grid.first[made.row[i]];
  std::int32_t row = 1;
  for (std::int64_t b = 0; b < grid.table; ++b) {
    const std::int32_t in_bin = grid.first[b];
    grid.first[b] = made.next[b] = row;
    row += in_bin;
  }
  for (std::int64_t i = 0; i < made.images; ++i) made.row[i] = made.next[made.row[i]]++;
}

// With one bin to a system, images are in the order of systems already.
template <class Real>
void keep_order(const Made<Real>& made) {
  const NeighborGrid<Real>& grid = made.grid;
  std::int32_t row = 1;
  for (std::int64_t s = 0; s < grid.systems; ++s) {
    grid.first[s] = row;
    row += made.seen[s];
  }
  for (std::int64_t b = grid.systems; b < grid.table; ++b) grid.first[b] = row;
  for (std::int64_t i = 0; i < made.images; ++i) made.row[i] = std::int32_t(i + 1);
}

template <class Real>
void place_images(const Made<Real>& made, std::int64_t p) {
  const NeighborGrid<Real>& grid = made.grid;
  const Real* vectors = grid.vectors + 9 * std::int64_t(grid.system[p]);
  grid.home[p] = 0;
  for_images(made, p, [&](const std::int32_t* step, std::int64_t image) {
    const std::int64_t row = made.row[image];
    grid.owner[row] = std::int32_t(p);
    Real shift[3], at[3];
    for (int k = 0; k < 3; ++k) {
      const std::uint32_t away = std::uint32_t(step[k]) - std::uint32_t(grid.cells[3 * p + k]);
      grid.shift[3 * row + k] = std::int32_t(away);
      shift[k] = Real(std::int32_t(away));
    }
    for (int a = 0; a < 3; ++a) {
      const Real two = sum_of(shift[0], vectors[a], shift[1] * vectors[3 + a]);
      at[a] = grid.positions[3 * p + a] + sum_of(shift[2], vectors[6 + a], two);
    }
    grid.x[row] = at[0], grid.y[row] = at[1], grid.z[row] = at[2];
    if (step[0] == 0 && step[1] == 0 && step[2] == 0) grid.home[p] = std::int32_t(row);
  });
}

template <class Real>
void place_nobody(const NeighborGrid<Real>& grid, std::int64_t row) {
  grid.owner[row] = std::int32_t(grid.particles);
  for (int k = 0; k < 3; ++k) grid.shift[3 * row + k] = 0;
  grid.x[row] = grid.y[row] = grid.z[row] = Real(FAR);
}

// Particles in the order of space; those without an image come last.
template <class Real>
void order_particles(const Made<Real>& made) {
  const NeighborGrid<Real>& grid = made.grid;
  std::int32_t number = 0;
  for (std::int64_t row = 1; row <= made.images; ++row) {
    const std::int32_t p = grid.owner[row];
    if (grid.home[p] != row) continue;
    grid.at[number] = std::int32_t(row);
    grid.place[p] = number++;
  }
  for (std::int64_t n = number; n < grid.looking; ++n) grid.at[n] = 0;
  for (std::int64_t p = 0; p < grid.particles; ++p) {
    if (grid.home[p] == 0) grid.place[p] = number++;
  }
}

// The row of the image of a partner so many cells away; 0 for none.
template <class Real>
std::int32_t unseen_row(const Made<Real>& made, const std::int32_t* unseen) {
  const std::int64_t p = unseen[0], last = made.grid.rows - 2;
  if (p < 0 || p >= made.grid.particles || last < 0) return 0;
  std::int64_t image = 0;
  for (int k = 0; k < 3; ++k) {
    const std::int64_t at = std::int64_t(unseen[1 + k]) - made.lowest[3 * p + k];
    if (at < 0 || at >= made.steps[3 * p + k]) return 0;
    image = image * made.steps[3 * p + k] + at;
  }
  image = smaller(made.start[p] + image, last);
  return image < made.images ? made.row[image] : std::int32_t(image + 1);
}

template <class Real>
void grid_of(const NeighborGrid<Real>& grid, const Pool& pool) {
  Made<Real> made(grid);
  in_pool(pool, grid.particles, [&](std::int64_t p) { count_steps(made, p); });
  begin_images(made);
  divide_systems(made);
  if (grid.subdivision == 0) {
    keep_order(made);
  } else {
    in_pool(pool, grid.particles, [&](std::int64_t p) { number_bins(made, p); });
    sort_images(made);
  }
  in_pool(pool, grid.particles, [&](std::int64_t p) { place_images(made, p); });
  place_nobody(grid, 0);
  for (std::int64_t row = made.images + 1; row < grid.rows; ++row) place_nobody(grid, row);
  order_particles(made);
  if (grid.partners == 0) return;
  in_pool(pool, grid.particles, [&](std::int64_t p) {
    for (std::int64_t k = p * grid.partners; k < (p + 1) * grid.partners; ++k) {
      grid.left_out[k] = unseen_row(made, grid.unseen + 4 * k);
    }
  });
}

}  // namespace

namespace INSTRUCTIONS {

void make_grid(const NeighborGrid<double>& grid, const Pool& pool) { grid_of(grid, pool); }

void make_grid(const NeighborGrid<float>& grid, const Pool& pool) { grid_of(grid, pool); }

}  // namespace INSTRUCTIONS
}  // namespace instar
