// What XLA calls for particle-mesh Ewald: arguments are taken apart, checked, and handed to the
// kernels. All axes but the last ones are systems.

#include <cstdint>
#include <string>

#include "handlers.hpp"
#include "mesh_dispatch.hpp"

namespace {

namespace ffi = xla::ffi;
using instar::Charges;
using instar::Grid;
using instar::in_pool;
using instar::MeshKernels;

constexpr std::int64_t PARTICLES_OF_SHARE = 128, PLANES_OF_SHARE = 4;

ffi::Error wrong(const std::string& what) { return instar::wrong("mesh", what); }

template <class Real>
const MeshKernels<Real>& kernels() {
  static const MeshKernels<Real> found =
      instar::mesh_kernels<Real>(instar::of_this_processor());
  return found;
}

// The product of all axes but the last `own` ones; −1 if there are not as many.
template <class Buffer>
std::int64_t systems_of(const Buffer& buffer, std::size_t own) {
  const auto shape = buffer.dimensions();
  if (shape.size() < own) return -1;
  std::int64_t product = 1;
  for (std::size_t k = 0; k + own < shape.size(); ++k) product *= shape[k];
  return product;
}

template <class Buffer>
std::int64_t axis(const Buffer& buffer, std::size_t from_end) {
  const auto shape = buffer.dimensions();
  return shape[shape.size() - from_end];
}

template <ffi::DataType kind, class Real>
bool take(const ffi::Buffer<kind>& place, const ffi::Buffer<kind>& charge, Charges<Real>& charges) {
  charges.systems = systems_of(charge, 1);
  if (charges.systems < 0 || systems_of(place, 2) != charges.systems) return false;
  charges.count = axis(charge, 1);
  charges.place = place.typed_data();
  charges.charge = charge.typed_data();
  return axis(place, 1) == 3 && axis(place, 2) == charges.count;
}

template <class Buffer>
bool take(const Buffer& mesh, std::int64_t order, std::int64_t systems, Grid& grid) {
  if (systems_of(mesh, 3) != systems) return false;
  grid = {axis(mesh, 3), axis(mesh, 2), axis(mesh, 1), int(order)};
  const bool known = order == 4 || order == 6 || order == 8;
  return known && grid.x >= order && grid.y >= order && grid.z >= order;
}

template <class Buffer>
bool holds(const Buffer& buffer, std::int64_t count) {
  return std::int64_t(buffer.element_count()) == count;
}

// Whether there is room for the order of the particles of each system.
template <class Particle, class Start, class Real>
bool sorts(const Particle& particle, const Start& start, const Charges<Real>& charges,
           const Grid& grid) {
  return holds(particle, charges.systems * charges.count) &&
         holds(start, charges.systems * (grid.lines() + 2));
}

template <ffi::DataType kind>
ffi::Error sort(ffi::ThreadPool pool, ffi::Buffer<kind> place, ffi::Buffer<kind> charge,
                ffi::ResultBuffer<ffi::S32> particle, ffi::ResultBuffer<ffi::S32> start,
                std::int64_t x, std::int64_t y) {
  using Real = ffi::NativeType<kind>;
  instar::MeshSort<Real> of = {};
  if (!take<kind>(place, charge, of.charges)) return wrong("charges of another shape");
  of.grid = {x, y, 0, 0};
  if (!sorts(*particle, *start, of.charges, of.grid)) return wrong("no room to sort particles");
  of.sorted = {particle->typed_data(), start->typed_data()};
  const MeshKernels<Real>& use = kernels<Real>();
  in_pool(pool, of.charges.systems, 1, [&](std::int64_t n, std::int64_t) { use.sort(of, n); });
  return ffi::Error::Success();
}

template <ffi::DataType kind>
ffi::Error spread(ffi::ThreadPool pool, ffi::Buffer<kind> place, ffi::Buffer<kind> charge,
                  ffi::Buffer<ffi::S32> particle, ffi::Buffer<ffi::S32> start,
                  ffi::Result<ffi::Buffer<kind>> mesh, std::int64_t order) {
  using Real = ffi::NativeType<kind>;
  instar::MeshSpread<Real> to = {};
  if (!take<kind>(place, charge, to.charges)) return wrong("charges of another shape");
  const std::int64_t systems = to.charges.systems;
  if (!take(*mesh, order, systems, to.grid)) return wrong("a mesh of another shape, or order");
  if (!sorts(particle, start, to.charges, to.grid)) return wrong("particles that are not sorted");
  to.mesh = mesh->typed_data();
  to.sorted = {particle.typed_data(), start.typed_data()};
  const MeshKernels<Real>& use = kernels<Real>();
  const std::int64_t slabs = instar::slabs_of(to.grid), each = (slabs + 1) / 2;
  for (std::int64_t odd = 0; odd < (slabs > 1 ? 2 : 1); ++odd) {
    in_pool(pool, systems * each, 1, [&](std::int64_t number, std::int64_t) {
      use.spread(to, number / each, 2 * (number % each) + odd);
    });
  }
  return ffi::Error::Success();
}

template <ffi::DataType kind, ffi::DataType complex>
ffi::Error convolve(ffi::ThreadPool pool, ffi::Buffer<complex> density, ffi::Buffer<kind> along_x,
                    ffi::Buffer<kind> along_y, ffi::Buffer<kind> along_z,
                    ffi::Buffer<kind> inverse, ffi::Buffer<kind> volume, ffi::Buffer<kind> alpha,
                    ffi::Result<ffi::Buffer<complex>> answer, ffi::Result<ffi::Buffer<kind>> sums,
                    std::int64_t points) {
  using Real = ffi::NativeType<kind>;
  instar::MeshConvolve<Real> on = {};
  on.systems = systems_of(density, 3);
  if (on.systems < 0) return wrong("a density of another shape");
  on.grid = {axis(density, 3), axis(density, 2), points, 0};
  const ffi::Buffer<kind> moduli[3] = {along_x, along_y, along_z};
  for (int k = 0; k < 3; ++k) {
    if (systems_of(moduli[k], 1) != on.systems || axis(moduli[k], 1) != axis(density, 3 - k)) {
      return wrong("moduli of another length");
    }
    on.moduli[k] = moduli[k].typed_data();
  }
  const bool fit = axis(density, 1) == points / 2 + 1 && holds(inverse, 9 * on.systems) &&
                   holds(volume, on.systems) && holds(alpha, on.systems) &&
                   holds(*answer, std::int64_t(density.element_count())) &&
                   holds(*sums, on.systems * on.grid.x * instar::MESH_SUMS);
  if (!fit) return wrong("cells or results that do not fit");
  on.density = reinterpret_cast<const Real*>(density.untyped_data());
  on.answer = reinterpret_cast<Real*>(answer->untyped_data());
  on.inverse = inverse.typed_data();
  on.volume = volume.typed_data();
  on.alpha = alpha.typed_data();
  on.sums = sums->typed_data();
  const MeshKernels<Real>& use = kernels<Real>();
  in_pool(pool, on.systems * on.grid.x, PLANES_OF_SHARE,
          [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t n = begin; n < end; ++n) {
              use.convolve(on, n / on.grid.x, n % on.grid.x);
            }
          });
  return ffi::Error::Success();
}

template <ffi::DataType kind>
ffi::Error read(ffi::ThreadPool pool, ffi::Buffer<kind> place, ffi::Buffer<kind> charge,
                ffi::Buffer<ffi::S32> particle, ffi::Buffer<ffi::S32> start,
                ffi::Buffer<kind> field, ffi::Buffer<kind> inverse,
                ffi::Result<ffi::Buffer<kind>> found, std::int64_t order) {
  using Real = ffi::NativeType<kind>;
  instar::MeshRead<Real> from = {};
  if (!take<kind>(place, charge, from.charges)) return wrong("charges of another shape");
  const std::int64_t systems = from.charges.systems, count = from.charges.count;
  if (!take(field, order, systems, from.grid)) return wrong("a mesh of another shape, or order");
  if (!sorts(particle, start, from.charges, from.grid)) return wrong("particles not sorted");
  if (!holds(inverse, 9 * systems) || !holds(*found, systems * count * 4)) {
    return wrong("cells or results that do not fit");
  }
  from.sorted = {particle.typed_data(), start.typed_data()};
  from.field = field.typed_data();
  from.inverse = inverse.typed_data();
  from.found = found->typed_data();
  const MeshKernels<Real>& use = kernels<Real>();
  const std::int64_t shares = (count + PARTICLES_OF_SHARE - 1) / PARTICLES_OF_SHARE;
  in_pool(pool, systems * shares, 1, [&](std::int64_t number, std::int64_t) {
    const std::int64_t begin = number % shares * PARTICLES_OF_SHARE;
    const std::int64_t end = begin + PARTICLES_OF_SHARE;
    use.read(from, number / shares, begin, end < count ? end : count);
  });
  return ffi::Error::Success();
}

template <ffi::DataType kind>
auto of_sort() {
  return ffi::Ffi::Bind()
      .template Ctx<ffi::ThreadPool>()
      .template Arg<ffi::Buffer<kind>>()
      .template Arg<ffi::Buffer<kind>>()
      .template Ret<ffi::Buffer<ffi::S32>>()
      .template Ret<ffi::Buffer<ffi::S32>>()
      .template Attr<std::int64_t>("x")
      .template Attr<std::int64_t>("y");
}

template <ffi::DataType kind>
auto of_spread() {
  return ffi::Ffi::Bind()
      .template Ctx<ffi::ThreadPool>()
      .template Arg<ffi::Buffer<kind>>()
      .template Arg<ffi::Buffer<kind>>()
      .template Arg<ffi::Buffer<ffi::S32>>()
      .template Arg<ffi::Buffer<ffi::S32>>()
      .template Ret<ffi::Buffer<kind>>()
      .template Attr<std::int64_t>("order");
}

template <ffi::DataType kind, ffi::DataType complex>
auto of_convolve() {
  return ffi::Ffi::Bind()
      .template Ctx<ffi::ThreadPool>()
      .template Arg<ffi::Buffer<complex>>()
      .template Arg<ffi::Buffer<kind>>()
      .template Arg<ffi::Buffer<kind>>()
      .template Arg<ffi::Buffer<kind>>()
      .template Arg<ffi::Buffer<kind>>()
      .template Arg<ffi::Buffer<kind>>()
      .template Arg<ffi::Buffer<kind>>()
      .template Ret<ffi::Buffer<complex>>()
      .template Ret<ffi::Buffer<kind>>()
      .template Attr<std::int64_t>("points");
}

template <ffi::DataType kind>
auto of_read() {
  return ffi::Ffi::Bind()
      .template Ctx<ffi::ThreadPool>()
      .template Arg<ffi::Buffer<kind>>()
      .template Arg<ffi::Buffer<kind>>()
      .template Arg<ffi::Buffer<ffi::S32>>()
      .template Arg<ffi::Buffer<ffi::S32>>()
      .template Arg<ffi::Buffer<kind>>()
      .template Arg<ffi::Buffer<kind>>()
      .template Ret<ffi::Buffer<kind>>()
      .template Attr<std::int64_t>("order");
}

constexpr auto convolve_float64 = convolve<ffi::F64, ffi::C128>;
constexpr auto convolve_float32 = convolve<ffi::F32, ffi::C64>;

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_mesh_sort_float64, sort<ffi::F64>, of_sort<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_mesh_sort_float32, sort<ffi::F32>, of_sort<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_mesh_spread_float64, spread<ffi::F64>, of_spread<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_mesh_spread_float32, spread<ffi::F32>, of_spread<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_mesh_convolve_float64, convolve_float64,
                              (of_convolve<ffi::F64, ffi::C128>()));
XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_mesh_convolve_float32, convolve_float32,
                              (of_convolve<ffi::F32, ffi::C64>()));
XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_mesh_read_float64, read<ffi::F64>, of_read<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_mesh_read_float32, read<ffi::F32>, of_read<ffi::F32>());
