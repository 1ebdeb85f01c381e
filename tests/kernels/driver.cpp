// Kernels on their edge cases, outside of Python, under the sanitizers: see test_sanitized.py.
//
// Buffers are as long as they are said to be, so that the sanitizer sees what is read beyond them.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "image_points_dispatch.hpp"
#include "mesh_cases.hpp"
#include "neighbor_dispatch.hpp"
#include "pair_dispatch.hpp"
#include "shares.hpp"

namespace {

using namespace instar;

int failures = 0;

void expect(bool held, const char* what) {
  if (!held) {
    std::printf("failed: %s\n", what);
    ++failures;
  }
}

template <class Real>
struct Case {
  std::vector<Real> points{Real(1e9), Real(1e9), Real(1e9), 0};
  std::vector<std::int32_t> rows, slots, index;
  std::vector<Real> parameters, strength, sums;
  std::int64_t blocks = 1, room = 1, width = 1;
  Instructions instructions = Instructions::baseline;

  std::int32_t add(double x, double y, double z) {
    points.insert(points.end(), {Real(x), Real(y), Real(z), 0});
    return std::int32_t(points.size() / 4 - 1);
  }

  void shape(std::int64_t b, std::int64_t k, std::int64_t w) {
    blocks = b, room = k, width = w;
    rows.assign(b * w, 0);
    slots.assign(b * k * w, 0);
  }

  // A pass with these formulas and all sums, by two threads.
  const std::vector<Real>& run(std::vector<Formula> formulas, Ending ending, Lookup lookup) {
    PairPass<Real> pass = {};
    pass.points = points.data(), pass.images = std::int64_t(points.size() / 4);
    pass.rows = rows.data(), pass.slots = slots.data();
    pass.blocks = blocks, pass.room = room, pass.width = width;
    const std::int64_t kinds = lookup == Lookup::one ? 1 : 2;
    const std::int64_t entries = lookup == Lookup::species ? kinds * kinds : kinds;
    parameters.assign(6 * entries, Real(2.5));
    index.assign(pass.images, 1);
    index.back() = 77;  // out of bounds
    strength.assign(pass.images, Real(0.5));
    for (Formula formula : formulas) {
      const bool charged = formula == Formula::screened_coulomb;
      pass.terms[pass.count++] = {formula,         ending, lookup,
                                  parameters.data(), entries, kinds,
                                  lookup == Lookup::one ? nullptr : index.data(),
                                  charged ? strength.data() : nullptr};
    }
    pass.forces = pass.energy = true;
    pass.virial = Virial::tensor;
    sums.assign(blocks * width * pass.columns(), Real(-1));
    pass.sums = sums.data();
    const auto groups = pair_groups<Real>(instructions);
    const std::int64_t all = blocks * groups_of(width);
    std::vector<std::thread> threads;
    in_shares(all, 2, [&](std::int64_t share) { groups(pass, share, share + 1); },
              [&](auto task) { threads.emplace_back(std::move(task)); });
    for (std::thread& thread : threads) thread.join();
    std::vector<Real> at_once(sums.size(), Real(-1));
    pass.sums = at_once.data();
    groups(pass, 0, all);
    const std::size_t bytes = sums.size() * sizeof(Real);
    expect(bytes == 0 || std::memcmp(sums.data(), at_once.data(), bytes) == 0,
           "the same bits, whoever takes which share");
    return sums;
  }
};

template <class Real>
bool all_zero(const std::vector<Real>& values) {
  for (Real value : values) {
    if (value != 0) return false;
  }
  return true;
}

template <class Real>
void of_precision(Instructions instructions) {
  constexpr Formula lj = Formula::lennard_jones;
  const auto begun = [&] {
    Case<Real> one;
    one.instructions = instructions;
    return one;
  };

  Case<Real> nothing = begun();
  nothing.shape(0, 0, 0);
  expect(nothing.run({lj}, Ending::plain, Lookup::one).empty(), "no rows");

  Case<Real> empty = begun();
  empty.shape(2, 0, 3);
  expect(all_zero(empty.run({lj}, Ending::shift, Lookup::one)), "rows without room");

  Case<Real> alone = begun();
  alone.shape(1, 3, 1);
  alone.rows[0] = alone.add(1, 2, 3);
  expect(all_zero(alone.run({lj}, Ending::switched, Lookup::one)), "one atom");

  Case<Real> wrong = begun();
  wrong.shape(1, 2, 5);
  wrong.rows = {1, 99, -1, 2147483647, 0};
  for (std::int32_t& slot : wrong.slots) slot = -2147483647;
  wrong.add(0, 0, 0);
  expect(all_zero(wrong.run({lj}, Ending::plain, Lookup::species)), "images out of bounds");
  expect(all_zero(wrong.run({lj}, Ending::plain, Lookup::one)), "the same, a formula alone");

  for (const std::int64_t width : {1, 4, 15, 16, 37}) {  // whole vectors of rows, and parts
    Case<Real> seen = begun();
    seen.shape(1, 11, width);
    for (int i = 0; i < 80; ++i) seen.add(i % 5, i / 5 % 5, 0.5 * (i / 25));
    for (std::int64_t i = 0; i < width; ++i) seen.rows[i] = std::int32_t(1 + i);
    for (std::size_t i = 0; i < seen.slots.size(); ++i) seen.slots[i] = int(41 + 7 * i % 40);
    const std::vector<Real> within = seen.run({lj}, Ending::shift, Lookup::one);
    for (std::size_t i = 0; i < seen.slots.size(); i += 3) seen.slots[i] = 0;
    const std::vector<Real> fewer = seen.run({lj}, Ending::shift, Lookup::one);
    for (std::size_t i = 0; i < seen.slots.size(); i += 3) seen.slots[i] = i % 2 ? -5 : 81;
    expect(seen.run({lj}, Ending::shift, Lookup::one) == fewer, "out of bounds is none");
    expect(within != fewer, "neighbors count");
  }

  const std::vector<Real> positions = {1, 2, 3, 4, 5, 6}, vectors(18, Real(0.5));
  const std::vector<std::int32_t> system = {-3, 7}, owner = {0, 1, 2, -1, 2147483647};
  const std::vector<std::int32_t> shift = {2, 2, 2, 0, -2, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  std::vector<Real> points(20, Real(-1));
  const ImagePoints<Real> all = {positions.data(), 2,           system.data(), vectors.data(), 2,
                                 owner.data(),     shift.data(), points.data()};
  image_points<Real>(instructions)(all, 0, 3);
  image_points<Real>(instructions)(all, 3, 5);
  const Real far = Real(1e9);
  expect(points == std::vector<Real>({4, 5, 6, 0, 3, 4, 5, 0, far, far, far, 0, far, far, far, 0,
                                      far, far, far, 0}),
         "points of images, some of them nowhere");

  for (int f = 0; f < int(Formula::count); ++f) {
    for (int e = 0; e < int(Ending::count); ++e) {
      for (int l = 0; l < int(Lookup::count); ++l) {
        Case<Real> full = begun();  // 37 rows: two groups and a part of one; every slot taken
        full.shape(2, 11, 37);
        for (int i = 0; i < 90; ++i) full.add(i % 5, i / 5 % 5, 0.5 * (i / 25));
        for (std::size_t i = 0; i < full.rows.size(); ++i) full.rows[i] = std::int32_t(1 + i);
        for (std::size_t i = 0; i < full.slots.size(); ++i) full.slots[i] = int(1 + 7 * i % 90);
        const std::vector<Formula> formulas = {Formula(f), lj, Formula::screened_coulomb};
        full.run(formulas, Ending(e), Lookup(l));
        bool written = true;
        for (Real value : full.sums) written = written && value != Real(-1);
        expect(written, "a full buffer");

        Case<Real> bad = begun();
        bad.shape(1, 1, 2);
        const double nan = std::numeric_limits<double>::quiet_NaN();
        bad.rows = {bad.add(0, 0, 0), bad.add(nan, 0, 0)};
        bad.slots = {2, 1};
        bad.add(0, 0, 0);
        for (Real value : bad.run({Formula(f)}, Ending(e), Lookup(l))) {
          expect(std::isnan(value), "a position that is not a number must not vanish");
        }
      }
    }
  }
}

// Shares by two threads, as XLA's pool works on them.
void by_two(void*, std::int64_t count, std::int64_t each,
            void (*work)(const void*, std::int64_t, std::int64_t), const void* of) {
  std::vector<std::thread> threads;
  const auto share = [&](std::int64_t number) {
    const std::int64_t begin = number * each, end = begin + each;
    work(of, begin, end < count ? end : count);
  };
  in_shares((count + each - 1) / each, 2, share,
            [&](auto task) { threads.emplace_back(std::move(task)); });
  for (std::thread& thread : threads) thread.join();
}

// Particles in cubes of four Å, and a list of their neighbors.
template <class Real>
struct Listed {
  std::int64_t systems = 1, rows = 4000, room = 90, width = 20, words = 9, subdivision = 2;
  Real reach = Real(2.5);
  bool repeats = true;
  std::vector<Real> places;           // fractional
  std::vector<std::int32_t> system;   // out of bounds for nobody
  std::vector<std::int32_t> partner;  // one that each particle does not see
  Instructions instructions = Instructions::baseline;
  std::vector<std::int32_t> at, place, slots, count, candidates;
  std::int32_t needed = -1;

  void add(double x, double y, double z, std::int32_t of = 0, std::int32_t unseen = -1) {
    places.insert(places.end(), {Real(x), Real(y), Real(z)});
    system.push_back(of);
    partner.push_back(unseen);
  }

  void crowd(int number) {
    for (int i = 0; i < number; ++i) {
      add(i * 0.618 - int(i * 0.618), i * 0.414 - int(i * 0.414), i * 0.732 - int(i * 0.732),
          std::int32_t(i % systems), (i + 1) % number);
    }
  }

  void run() {
    const std::int64_t particles = std::int64_t(system.size()), blocks = particles / width + 1;
    std::vector<Real> positions, vectors(9 * systems, 0);
    std::vector<std::int32_t> cells(3 * particles, -3), own, unseen;
    // Not std::vector<bool>, which has no array of them.
    const std::unique_ptr<bool[]> there(new bool[particles]), periodic(new bool[3 * systems]);
    for (std::int64_t p = 0; p < particles; ++p) {
      for (int k = 0; k < 3; ++k) {
        positions.push_back(4 * (places[3 * p + k] - 3));
        if (!std::isfinite(places[3 * p + k])) places[3 * p + k] = 0;
      }
      there[p] = system[p] >= 0 && system[p] < systems;
      own.push_back(there[p] ? system[p] : 0);
      unseen.insert(unseen.end(), {partner[p], 0, 0, -1});
    }
    for (std::int64_t k = 0; k < 3 * systems; ++k) {
      vectors[9 * (k / 3) + 4 * (k % 3)] = 4;
      periodic[k] = repeats;
    }
    const std::vector<Real> heights(3 * systems, 4), reaches(systems, reach),
        spans(3 * systems, reach / 4);
    const std::int64_t table = table_of(rows, systems, subdivision);
    std::vector<std::int32_t> owner(rows, -1), shift(3 * rows, -1), first(table), bins(3 * systems),
        before(systems), home(particles), left_out(particles),
        scratch(scratch_of(particles, rows, systems, table));
    std::vector<Real> x(rows), y(rows), z(rows), low(3 * systems), size(3 * systems),
        span(3 * systems), fuzz(3 * systems);
    at.assign(blocks * width, -1), place.assign(particles, -1);
    NeighborGrid<Real> grid = {};
    grid.particles = particles, grid.systems = systems, grid.rows = rows, grid.table = table;
    grid.looking = blocks * width, grid.partners = 1, grid.subdivision = subdivision;
    grid.inside = places.data(), grid.cells = cells.data(), grid.system = own.data();
    grid.there = there.get(), grid.positions = positions.data(), grid.vectors = vectors.data();
    grid.periodic = periodic.get(), grid.reach = spans.data(), grid.unseen = unseen.data();
    grid.owner = owner.data(), grid.shift = shift.data();
    grid.x = x.data(), grid.y = y.data(), grid.z = z.data();
    grid.first = first.data(), grid.bins = bins.data(), grid.before = before.data();
    grid.low = low.data(), grid.width = size.data(), grid.span = span.data();
    grid.fuzz = fuzz.data(), grid.home = home.data(), grid.needed = &needed;
    grid.at = at.data(), grid.place = place.data(), grid.left_out = left_out.data();
    grid.scratch = scratch.data();
    make_grid<Real>(instructions)(grid, {nullptr, by_two});

    slots.assign(blocks * room * width, -1);
    count.assign(blocks * width, -1), candidates.assign(blocks * width, -1);
    NeighborSearch<Real> search = {};
    search.particles = particles, search.systems = systems, search.images = rows;
    search.table = table, search.blocks = blocks, search.room = room, search.width = width;
    search.words = words, search.subdivision = subdivision, search.partners = 1;
    search.orthorhombic = true;
    search.x = x.data(), search.y = y.data(), search.z = z.data();
    search.owner = owner.data(), search.first = first.data(), search.bins = bins.data();
    search.before = before.data(), search.low = low.data(), search.size = size.data();
    search.span = span.data(), search.fuzz = fuzz.data(), search.heights = heights.data();
    search.reach = reaches.data(), search.inside = places.data(), search.system = own.data();
    search.rows = at.data(), search.left_out = left_out.data();
    search.slots = slots.data(), search.count = count.data();
    search.candidates = candidates.data();
    const auto groups = search_groups<Real>(instructions);
    for (std::int64_t g = 0; g < blocks * searches_of(width); ++g) groups(search, g, g + 1);
  }

  std::int64_t pairs() const {
    std::int64_t all = 0;
    for (std::int32_t one : count) all += one;
    return all;
  }

  bool written() const {
    for (const auto* array : {&at, &place, &slots, &count, &candidates}) {
      for (std::int32_t value : *array) {
        if (value < 0) return false;
      }
    }
    return true;
  }
};

template <class Real>
void neighbors_of_precision(Instructions instructions) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t subdivision : {0, 1, 2, 3, MOST_SUBDIVISION}) {
    const auto begun = [&] {
      Listed<Real> one;
      one.instructions = instructions, one.subdivision = subdivision;
      return one;
    };

    Listed<Real> nobody = begun();
    nobody.run();
    expect(nobody.written() && nobody.needed == 0 && nobody.pairs() == 0, "no particles");

    Listed<Real> empty = begun();
    empty.systems = 0;
    empty.add(0, 0, 0, 7);
    empty.run();
    expect(empty.written() && empty.needed == 0 && empty.pairs() == 0, "no systems");

    Listed<Real> alone = begun();
    alone.reach = Real(4.5);
    alone.add(0.1, 0.2, 0.3);
    alone.run();
    expect(alone.written() && alone.pairs() == 6, "one atom and its images");

    Listed<Real> absent = begun();
    absent.add(0.1, 0.2, 0.3), absent.add(0.1, 0.2, 0.4, 1), absent.add(0.1, 0.2, 0.4, -1);
    absent.run();
    expect(absent.written() && absent.pairs() == 0, "rows that are not particles");

    Listed<Real> open = begun();
    open.repeats = false;
    open.crowd(40);
    open.run();
    expect(open.written() && open.needed == 40, "an open system");

    Listed<Real> many = begun();
    many.systems = 20;
    many.crowd(50);
    many.run();
    expect(many.written() && many.pairs() > 0, "many systems");

    Listed<Real> bad = begun();
    bad.crowd(5);
    bad.add(nan, 0, 0);
    bad.run();
    expect(bad.written(), "a position that is not a number");

    Listed<Real> endless = begun();
    endless.reach = Real(1e30);
    endless.crowd(3);
    endless.run();
    expect(endless.written() && endless.needed == 2147483646, "more images than can be counted");

    Listed<Real> whole = begun();
    whole.crowd(60);
    whole.room = 300;
    whole.run();
    expect(whole.written(), "room for all");
    for (std::int64_t rows : {1, 2, 60, 61, 200}) {
      for (std::int64_t room : {0, 1, 7}) {
        Listed<Real> full = begun();
        full.crowd(60);
        full.rows = rows, full.room = room, full.words = room;
        full.run();
        expect(full.written() && full.needed == whole.needed, "full buffers");
      }
    }
  }
}

}  // namespace

int main() {
  const Instructions most = of_this_processor();
  for (int i = 0; i <= int(most); ++i) {
    of_precision<double>(Instructions(i));
    of_precision<float>(Instructions(i));
    neighbors_of_precision<double>(Instructions(i));
    neighbors_of_precision<float>(Instructions(i));
    mesh_cases<double>(Instructions(i), expect);
    mesh_cases<float>(Instructions(i), expect);
  }
  std::printf("%d failures, up to %s\n", failures, name_of(most));
  return failures != 0;
}
