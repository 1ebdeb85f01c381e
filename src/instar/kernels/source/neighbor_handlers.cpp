// What XLA calls for neighbors: arguments are taken apart, checked, and handed to the kernels.

#include <cstdint>
#include <string>

#include "handlers.hpp"
#include "neighbor_dispatch.hpp"

namespace {

namespace ffi = xla::ffi;

constexpr std::int64_t GROUPS_OF_SHARE = 4;

template <class Buffer>
bool is(const Buffer& buffer, std::int64_t elements) {
  return std::int64_t(buffer.element_count()) == elements;
}

instar::Pool pool_of(ffi::ThreadPool& pool) {
  return {&pool, [](void* context, std::int64_t count, std::int64_t each,
                    void (*work)(const void*, std::int64_t, std::int64_t), const void* of) {
            auto& threads = *static_cast<ffi::ThreadPool*>(context);
            instar::in_pool(threads, count, each, [&](std::int64_t begin, std::int64_t end) {
              work(of, begin, end);
            });
          }};
}

using Whole = ffi::Buffer<ffi::S32>;
using Wholes = ffi::Result<Whole>;
template <ffi::DataType kind>
using Reals = ffi::Result<ffi::Buffer<kind>>;

template <ffi::DataType kind>
ffi::Error neighbor_grid(ffi::ThreadPool pool, ffi::Buffer<kind> inside, Whole cells, Whole system,
                         ffi::Buffer<ffi::PRED> there, ffi::Buffer<kind> positions,
                         ffi::Buffer<kind> vectors, ffi::Buffer<ffi::PRED> periodic,
                         ffi::Buffer<kind> reach, Whole unseen, Wholes owner, Wholes shift,
                         Reals<kind> x, Reals<kind> y, Reals<kind> z, Wholes first, Wholes bins,
                         Wholes before, Reals<kind> low, Reals<kind> width, Reals<kind> span,
                         Reals<kind> fuzz, Wholes home, Wholes needed, Wholes at, Wholes place,
                         Wholes left_out, Wholes scratch, std::int64_t subdivision) {
  using Real = ffi::NativeType<kind>;
  const std::int64_t particles = system.element_count(), systems = before->element_count();
  const std::int64_t rows = owner->element_count(), table = first->element_count();
  const std::int64_t pairs = left_out->element_count();
  const bool fits =
      rows >= 1 && is(inside, 3 * particles) && is(cells, 3 * particles) && is(there, particles) &&
      is(positions, 3 * particles) && is(vectors, 9 * systems) && is(periodic, 3 * systems) &&
      is(reach, 3 * systems) && is(unseen, 4 * pairs) && is(*shift, 3 * rows) && is(*x, rows) &&
      is(*y, rows) && is(*z, rows) && is(*bins, 3 * systems) && is(*low, 3 * systems) &&
      is(*width, 3 * systems) && is(*span, 3 * systems) && is(*fuzz, 3 * systems) &&
      is(*home, particles) && is(*needed, 1) && is(*place, particles) &&
      std::int64_t(at->element_count()) >= particles && subdivision >= 0 &&
      table >= instar::table_of(rows, systems, subdivision) &&
      is(*scratch, instar::scratch_of(particles, rows, systems, table)) &&
      (particles == 0 ? pairs == 0 : pairs % particles == 0);
  if (!fits) return instar::wrong("grid of images", "arrays that do not fit together");
  instar::NeighborGrid<Real> grid = {};
  grid.particles = particles, grid.systems = systems, grid.rows = rows, grid.table = table;
  grid.looking = at->element_count();
  grid.partners = particles == 0 ? 0 : pairs / particles;
  grid.subdivision = subdivision;
  grid.inside = inside.typed_data(), grid.cells = cells.typed_data();
  grid.system = system.typed_data(), grid.there = there.typed_data();
  grid.positions = positions.typed_data(), grid.vectors = vectors.typed_data();
  grid.periodic = periodic.typed_data(), grid.reach = reach.typed_data();
  grid.unseen = unseen.typed_data();
  grid.owner = owner->typed_data(), grid.shift = shift->typed_data();
  grid.x = x->typed_data(), grid.y = y->typed_data(), grid.z = z->typed_data();
  grid.first = first->typed_data(), grid.bins = bins->typed_data();
  grid.before = before->typed_data(), grid.low = low->typed_data();
  grid.width = width->typed_data(), grid.span = span->typed_data();
  grid.fuzz = fuzz->typed_data(), grid.home = home->typed_data();
  grid.needed = needed->typed_data(), grid.at = at->typed_data();
  grid.place = place->typed_data(), grid.left_out = left_out->typed_data();
  grid.scratch = scratch->typed_data();
  static const instar::MakeGrid<Real> make = instar::make_grid<Real>(instar::of_this_processor());
  make(grid, pool_of(pool));
  return ffi::Error::Success();
}

template <ffi::DataType kind>
ffi::Error neighbor_search(ffi::ThreadPool pool, ffi::Buffer<kind> x, ffi::Buffer<kind> y,
                           ffi::Buffer<kind> z, Whole owner, Whole first, Whole bins, Whole before,
                           ffi::Buffer<kind> low, ffi::Buffer<kind> size, ffi::Buffer<kind> span,
                           ffi::Buffer<kind> fuzz, ffi::Buffer<kind> heights,
                           ffi::Buffer<kind> reach, ffi::Buffer<kind> inside, Whole system,
                           Whole rows, Whole left_out, Wholes slots, Wholes count,
                           Wholes candidates, std::int64_t words, std::int64_t subdivision,
                           std::int64_t orthorhombic) {
  using Real = ffi::NativeType<kind>;
  const std::int64_t particles = system.element_count(), systems = before.element_count();
  const std::int64_t images = owner.element_count(), pairs = left_out.element_count();
  const auto who = rows.dimensions(), of = slots->dimensions();
  const bool shaped = who.size() == 2 && of.size() == 3 && who[0] == of[0] && who[1] == of[2];
  const bool fits =
      shaped && images >= 1 && is(x, images) && is(y, images) && is(z, images) &&
      is(bins, 3 * systems) && is(low, 3 * systems) && is(size, 3 * systems) &&
      is(span, 3 * systems) && is(fuzz, 3 * systems) && is(heights, 3 * systems) &&
      is(reach, systems) && is(inside, 3 * particles) && is(*count, who[0] * who[1]) &&
      is(*candidates, who[0] * who[1]) && subdivision >= 0 &&
      subdivision <= instar::MOST_SUBDIVISION &&
      (particles == 0 ? pairs == 0 : pairs % particles == 0);
  if (!fits) return instar::wrong("neighbor search", "arrays that do not fit together");
  instar::NeighborSearch<Real> search = {};
  search.particles = particles, search.systems = systems, search.images = images;
  search.table = first.element_count();
  search.blocks = of[0], search.room = of[1], search.width = of[2];
  search.words = words, search.subdivision = subdivision;
  search.partners = particles == 0 ? 0 : pairs / particles;
  search.orthorhombic = orthorhombic != 0;
  search.x = x.typed_data(), search.y = y.typed_data(), search.z = z.typed_data();
  search.owner = owner.typed_data(), search.first = first.typed_data();
  search.bins = bins.typed_data(), search.before = before.typed_data();
  search.low = low.typed_data(), search.size = size.typed_data();
  search.span = span.typed_data(), search.fuzz = fuzz.typed_data();
  search.heights = heights.typed_data(), search.reach = reach.typed_data();
  search.inside = inside.typed_data(), search.system = system.typed_data();
  search.rows = rows.typed_data(), search.left_out = left_out.typed_data();
  search.slots = slots->typed_data(), search.count = count->typed_data();
  search.candidates = candidates->typed_data();
  static const instar::SearchGroups<Real> groups =
      instar::search_groups<Real>(instar::of_this_processor());
  const std::int64_t all = search.blocks * instar::searches_of(search.width);
  instar::in_pool(pool, all, GROUPS_OF_SHARE, [&](std::int64_t begin, std::int64_t end) {
    groups(search, begin, end);
  });
  return ffi::Error::Success();
}

template <ffi::DataType kind>
auto grid_binding() {
  using Real = ffi::Buffer<kind>;
  return ffi::Ffi::Bind()
      .template Ctx<ffi::ThreadPool>()
      .template Arg<Real>().template Arg<Whole>().template Arg<Whole>()  // inside, cells, system
      .template Arg<ffi::Buffer<ffi::PRED>>().template Arg<Real>()       // there, positions
      .template Arg<Real>().template Arg<ffi::Buffer<ffi::PRED>>()       // vectors, periodic
      .template Arg<Real>().template Arg<Whole>()                        // reach, unseen
      .template Ret<Whole>().template Ret<Whole>()                       // owner, shift
      .template Ret<Real>().template Ret<Real>().template Ret<Real>()    // x, y, z
      .template Ret<Whole>().template Ret<Whole>().template Ret<Whole>()  // first, bins, before
      .template Ret<Real>().template Ret<Real>().template Ret<Real>()    // low, width, span
      .template Ret<Real>()                                              // fuzz
      .template Ret<Whole>().template Ret<Whole>()                       // home, needed
      .template Ret<Whole>().template Ret<Whole>()                       // at, place
      .template Ret<Whole>().template Ret<Whole>()                       // left_out, scratch
      .template Attr<std::int64_t>("subdivision");
}

template <ffi::DataType kind>
auto search_binding() {
  using Real = ffi::Buffer<kind>;
  return ffi::Ffi::Bind()
      .template Ctx<ffi::ThreadPool>()
      .template Arg<Real>().template Arg<Real>().template Arg<Real>()     // x, y, z
      .template Arg<Whole>().template Arg<Whole>()                        // owner, first
      .template Arg<Whole>().template Arg<Whole>()                        // bins, before
      .template Arg<Real>().template Arg<Real>().template Arg<Real>()     // low, size, span
      .template Arg<Real>().template Arg<Real>().template Arg<Real>()     // fuzz, heights, reach
      .template Arg<Real>().template Arg<Whole>()                         // inside, system
      .template Arg<Whole>().template Arg<Whole>()                        // rows, left_out
      .template Ret<Whole>().template Ret<Whole>().template Ret<Whole>()  // slots, count, candidates
      .template Attr<std::int64_t>("words")
      .template Attr<std::int64_t>("subdivision")
      .template Attr<std::int64_t>("orthorhombic");
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_neighbor_grid_float64, neighbor_grid<ffi::F64>,
                              grid_binding<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_neighbor_grid_float32, neighbor_grid<ffi::F32>,
                              grid_binding<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_neighbor_search_float64, neighbor_search<ffi::F64>,
                              search_binding<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_neighbor_search_float32, neighbor_search<ffi::F32>,
                              search_binding<ffi::F32>());
