// The kernels of particle-mesh Ewald on their edge cases; see driver.cpp.

#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "mesh_dispatch.hpp"
#include "shares.hpp"

namespace instar {

// Charges in a cubic cell of one or more systems, spread and read back without transforms.
template <class Real>
struct MeshCase {
  Grid grid;
  std::int64_t systems, count;
  std::vector<Real> place, charge, inverse, mesh, found;
  std::vector<std::int32_t> particle, start;

  MeshCase(Grid of, std::int64_t batch, std::int64_t particles)
      : grid(of), systems(batch), count(particles), place(3 * batch * particles),
        charge(batch * particles, Real(1)), inverse(9 * batch, Real(0.1)),
        mesh(batch * of.points(), Real(-1)), found(4 * batch * particles, Real(-1)),
        particle(batch * particles), start(batch * (of.lines() + 2)) {
    std::uint32_t state = 1;
    for (Real& x : place) {
      state = state * 1664525u + 1013904223u;
      x = Real(3.0 * (state >> 8) / (1 << 24) - 1);
    }
  }

  void run(Instructions instructions, std::int64_t threads) {
    const MeshKernels<Real> use = mesh_kernels<Real>(instructions);
    const Charges<Real> all = {place.data(), charge.data(), systems, count};
    const MeshSort<Real> sort = {grid, all, {particle.data(), start.data()}};
    const MeshSpread<Real> spread = {grid, all, {particle.data(), start.data()}, mesh.data()};
    const MeshRead<Real> read = {grid,        all,            {particle.data(), start.data()},
                                 mesh.data(), inverse.data(), found.data()};
    by(threads, systems, [&](std::int64_t n) { use.sort(sort, n); });
    const std::int64_t slabs = slabs_of(grid), each = (slabs + 1) / 2;
    for (std::int64_t odd = 0; odd < (slabs > 1 ? 2 : 1); ++odd) {
      by(threads, systems * each,
         [&](std::int64_t n) { use.spread(spread, n / each, 2 * (n % each) + odd); });
    }
    by(threads, systems, [&](std::int64_t n) { use.read(read, n, 0, count); });
  }

  template <class Work>
  static void by(std::int64_t number, std::int64_t shares, const Work& work) {
    std::vector<std::thread> threads;
    in_shares(shares, number, work, [&](auto task) { threads.emplace_back(std::move(task)); });
    for (std::thread& thread : threads) thread.join();
  }

  double total() const {
    double sum = 0;
    for (Real value : mesh) sum += value;
    return sum;
  }
};

template <class Real>
void waves_of(Grid grid, Instructions instructions, void (*expect)(bool, const char*)) {
  const std::int64_t half = grid.z / 2 + 1, waves = 2 * grid.x * grid.y * half;
  std::vector<Real> density(waves, Real(1)), sums(grid.x * MESH_SUMS, Real(-1));
  const std::vector<Real> x(grid.x, Real(1)), y(grid.y, Real(1)), z(half, Real(1));
  const std::vector<Real> inverse = {Real(0.1), 0, 0, 0, Real(0.1), 0, 0, 0, Real(0.1)};
  const Real volume = 1000, alpha = 2;
  const MeshConvolve<Real> on = {grid,           1,       density.data(), {x.data(), y.data(), z.data()},
                                 inverse.data(), &volume, &alpha,         density.data(),
                                 sums.data()};
  for (std::int64_t plane = 0; plane < grid.x; ++plane) {
    mesh_kernels<Real>(instructions).convolve(on, 0, plane);
  }
  expect(density[0] == 0 && density[1] == 0, "the first wave has no energy");
  bool above = true;
  for (std::int64_t k = 2; k < waves; ++k) above = above && density[k] > 0;
  expect(above, "all other waves are weighed");
}

template <class Real>
void mesh_cases(Instructions instructions, void (*expect)(bool, const char*)) {
  const double precise = sizeof(Real) == 8 ? 1e-12 : 1e-4;
  for (int order : {4, 6, 8}) {
    for (Grid grid : {Grid{order, order, order, order}, Grid{4 * order, 9, 17, order},
                      Grid{31, 8, 33, order}}) {
      for (std::int64_t count : {0, 1, 15, 16, 17, 200}) {
        MeshCase<Real> one(grid, 2, count);
        one.run(instructions, 1);
        expect(std::abs(one.total() - 2.0 * count) <= precise * (1 + count), "charge is kept");
        MeshCase<Real> many(grid, 2, count);
        many.run(instructions, 4);
        expect(one.mesh == many.mesh && one.found == many.found, "threads change nothing");
      }

      MeshCase<Real> nobody(grid, 1, 20);
      nobody.charge.assign(20, 0);
      nobody.run(instructions, 2);
      bool zero = nobody.total() == 0;
      for (Real value : nobody.found) zero = zero && value == 0;
      expect(zero, "who has no charge leaves none");

      const double nan = std::numeric_limits<double>::quiet_NaN();
      const double infinite = std::numeric_limits<double>::infinity();
      for (double bad : {nan, infinite, -infinite, 1e300, -1e300, -1e-300}) {
        MeshCase<Real> wrong(grid, 1, 5);
        for (int k = 0; k < 9; ++k) wrong.place[k] = Real(bad);
        wrong.run(instructions, 2);
        const bool finite = std::isfinite(Real(bad));
        expect(finite == std::isfinite(wrong.total()), "a place that is not a number is kept");
      }
      waves_of<Real>(grid, instructions, expect);
    }
  }
}

}  // namespace instar
