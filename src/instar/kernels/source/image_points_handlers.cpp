// What XLA calls for the points of images: arguments are taken apart, checked, and handed on.

#include <cstdint>
#include <string>

#include "handlers.hpp"
#include "image_points_dispatch.hpp"

namespace {

namespace ffi = xla::ffi;

constexpr std::int64_t IMAGES_OF_SHARE = 8192;

ffi::Error wrong(const std::string& what) { return instar::wrong("image points", what); }

template <ffi::DataType kind>
ffi::Error image_points(ffi::ThreadPool pool, ffi::Buffer<kind> positions,
                        ffi::Buffer<ffi::S32> system, ffi::Buffer<kind> vectors,
                        ffi::Buffer<ffi::S32> owner, ffi::Buffer<ffi::S32> shift,
                        ffi::Result<ffi::Buffer<kind>> points) {
  using Real = ffi::NativeType<kind>;
  const std::int64_t particles = system.element_count(), images = owner.element_count();
  const std::int64_t systems = vectors.element_count() / 9;
  if (std::int64_t(positions.element_count()) != 3 * particles) return wrong("other positions");
  if (std::int64_t(vectors.element_count()) != 9 * systems || systems < 1) {
    return wrong("cells of another shape");
  }
  if (std::int64_t(shift.element_count()) != 3 * images ||
      std::int64_t(points->element_count()) != 4 * images) {
    return wrong("images of another shape");
  }
  const instar::ImagePoints<Real> all = {positions.typed_data(), particles, system.typed_data(),
                                         vectors.typed_data(),   systems,   owner.typed_data(),
                                         shift.typed_data(),     points->typed_data()};
  static const instar::Located<Real> located =
      instar::image_points<Real>(instar::of_this_processor());
  instar::in_pool(pool, images, IMAGES_OF_SHARE, [&](std::int64_t begin, std::int64_t end) {
    located(all, begin, end);
  });
  return ffi::Error::Success();
}

template <ffi::DataType kind>
auto binding() {
  return ffi::Ffi::Bind()
      .template Ctx<ffi::ThreadPool>()
      .template Arg<ffi::Buffer<kind>>()
      .template Arg<ffi::Buffer<ffi::S32>>()
      .template Arg<ffi::Buffer<kind>>()
      .template Arg<ffi::Buffer<ffi::S32>>()
      .template Arg<ffi::Buffer<ffi::S32>>()
      .template Ret<ffi::Buffer<kind>>();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_image_points_float64, image_points<ffi::F64>,
                              binding<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(instar_image_points_float32, image_points<ffi::F32>,
                              binding<ffi::F32>());
