// What the functions that XLA calls have in common.

#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "shares.hpp"
#include "xla/ffi/api/ffi.h"

namespace instar {

namespace ffi = xla::ffi;

inline ffi::Error wrong(const std::string& kernel, const std::string& what) {
  return ffi::Error::InvalidArgument("instar's " + kernel + ": " + what);
}

// The next of arrays whose number is not fixed.
template <ffi::DataType kind>
ffi::ErrorOr<ffi::Buffer<kind>> next(const ffi::RemainingArgs& arrays, std::size_t& place) {
  return arrays.get<ffi::Buffer<kind>>(place++);
}

// work(begin, end) for all of [0, count) in shares of `each`, by the threads of XLA's pool. The
// shares are the same whoever works on them.
template <class Work>
void in_pool(ffi::ThreadPool& pool, std::int64_t count, std::int64_t each, const Work& work) {
  const auto share = [&](std::int64_t number) {
    const std::int64_t begin = number * each, end = begin + each;
    work(begin, end < count ? end : count);
  };
  in_shares((count + each - 1) / each, pool.num_threads(), share,
            [&pool](auto task) { pool.Schedule(std::move(task)); });
}

}  // namespace instar
