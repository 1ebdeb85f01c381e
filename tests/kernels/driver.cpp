// Kernels on their edge cases, outside of Python, under the sanitizers: see test_sanitized.py.
//
// Buffers are as long as they are said to be, so that the sanitizer sees what is read beyond them.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "image_points_dispatch.hpp"
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

}  // namespace

int main() {
  const Instructions most = of_this_processor();
  for (int i = 0; i <= int(most); ++i) {
    of_precision<double>(Instructions(i));
    of_precision<float>(Instructions(i));
  }
  std::printf("%d failures, up to %s\n", failures, name_of(most));
  return failures != 0;
}
