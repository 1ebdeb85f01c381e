// What XLA calls for the pair pass: arguments are taken apart, checked, and handed to the kernel.

#include <cstdint>
#include <string>

#include "handlers.hpp"
#include "pair_dispatch.hpp"

namespace {

namespace ffi = xla::ffi;
using instar::next;
using instar::PairPass;
using instar::Term;

constexpr std::int64_t GROUPS_OF_SHARE = 8;

ffi::Error wrong(const std::string& what) { return instar::wrong("pair pass", what); }

// One term from four numbers (formula, ending, lookup, whether there is a strength) and its arrays.
template <ffi::DataType kind, class Real>
ffi::Error read(const std::int64_t* told, std::int64_t images, const ffi::RemainingArgs& arrays,
                std::size_t& place, Term<Real>& term) {
  const bool known = told[0] >= 0 && told[0] < std::int64_t(instar::Formula::count) &&
                     told[1] >= 0 && told[1] < std::int64_t(instar::Ending::count) &&
                     told[2] >= 0 && told[2] < std::int64_t(instar::Lookup::count);
  if (!known) return wrong("a formula, ending or lookup that it does not know");
  term.formula = instar::Formula(told[0]);
  term.ending = instar::Ending(told[1]);
  term.lookup = instar::Lookup(told[2]);
  auto parameters = next<kind>(arrays, place);
  if (parameters.has_error()) return parameters.error();
  const auto shape = parameters->dimensions();
  const bool square = term.lookup == instar::Lookup::species;
  if (shape.size() != (square ? 3 : 2) || (square && shape[1] != shape[2])) {
    return wrong("parameters of another shape");
  }
  term.parameters = parameters->typed_data();
  term.species = shape[1];
  term.entries = square ? shape[1] * shape[1] : shape[1];
  if (term.lookup != instar::Lookup::one) {
    auto index = next<ffi::S32>(arrays, place);
    if (index.has_error()) return index.error();
    if (std::int64_t(index->element_count()) != images) return wrong("an index of another length");
    term.index = index->typed_data();
  }
  if (told[3] != 0) {
    auto strength = next<kind>(arrays, place);
    if (strength.has_error()) return strength.error();
    if (std::int64_t(strength->element_count()) != images) return wrong("other strengths");
    term.strength = strength->typed_data();
  }
  return ffi::Error::Success();
}

template <ffi::DataType kind>
ffi::Error pair_pass(ffi::ThreadPool pool, ffi::Buffer<kind> points, ffi::Buffer<ffi::S32> rows,
                     ffi::Buffer<ffi::S32> slots, ffi::RemainingArgs arrays,
                     ffi::Result<ffi::Buffer<kind>> sums, ffi::Span<const std::int64_t> terms,
                     std::int64_t forces, std::int64_t energy, std::int64_t virial) {
  using Real = ffi::NativeType<kind>;
  const auto at = points.dimensions(), of = slots.dimensions(), who = rows.dimensions();
  if (at.size() != 2 || at[1] != 4 || at[0] < 1) return wrong("points of another shape");
  if (of.size() != 3 || who.size() != 2 || who[0] != of[0] || who[1] != of[2]) {
    return wrong("rows and slots that do not fit together");
  }
  PairPass<Real> pass = {};
  pass.points = points.typed_data();
  pass.images = at[0];
  pass.rows = rows.typed_data();
  pass.slots = slots.typed_data();
  pass.blocks = of[0];
  pass.room = of[1];
  pass.width = of[2];
  pass.count = int(terms.size() / 4);
  if (terms.size() % 4 != 0 || pass.count > instar::MOST_TERMS) return wrong("too many terms");
  std::size_t place = 0;
  for (int t = 0; t < pass.count; ++t) {
    const ffi::Error error =
        read<kind>(terms.begin() + 4 * t, pass.images, arrays, place, pass.terms[t]);
    if (error.failure()) return error;
  }
  pass.forces = forces != 0;
  pass.energy = energy != 0;
  pass.virial = instar::Virial(virial);
  pass.sums = sums->typed_data();
  if (std::int64_t(sums->element_count()) != pass.blocks * pass.width * pass.columns()) {
    return wrong("results of another size");
  }
  static const instar::Groups<Real> groups =
      instar::pair_groups<Real>(instar::of_this_processor());
  const std::int64_t all = pass.blocks * instar::groups_of(pass.width);
  instar::in_pool(pool, all, GROUPS_OF_SHARE, [&](std::int64_t begin, std::int64_t end) {
    groups(pass, begin, end);
  });
  return ffi::Error::Success();
}

template <ffi::DataType kind>
auto binding() {
  return ffi::Ffi::Bind()
      .template Ctx<ffi::ThreadPool>()
      .template Arg<ffi::Buffer<kind>>()
      .template Arg<ffi::Buffer<ffi::S32>>()
      .template Arg<ffi::Buffer<ffi::S32>>()
      .RemainingArgs()
      .template Ret<ffi::Buffer<kind>>()
      .template Attr<ffi::Span<const std::int64_t>>("terms")
      .template Attr<std::int64_t>("forces")
      .template Attr<std::int64_t>("energy")
      .template Attr<std::int64_t>("virial");
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_pair_pass_float64, pair_pass<ffi::F64>, binding<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_pair_pass_float32, pair_pass<ffi::F32>, binding<ffi::F32>());
