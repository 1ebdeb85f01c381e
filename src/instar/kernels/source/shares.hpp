// Work in shares of a fixed size, which threads of a pool that is not ours take one by one.
//
// The caller takes shares, too. So all of them are done even if no thread of the pool is free, and
// a pool whose threads all wait for each other's shares can't come to be.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace instar {

class Shares {
 public:
  explicit Shares(std::int64_t count) : count_(count) {}

  // Takes shares until there are none, and does each. Without a share `work` may be gone.
  template <class Work>
  void take(const Work* work) {
    for (std::int64_t share = next_++; share < count_; share = next_++) {
      (*work)(share);
      if (++done_ == count_) {
        std::lock_guard<std::mutex> lock(mutex_);
        finished_.notify_all();
      }
    }
  }

  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    finished_.wait(lock, [this] { return done_ == count_; });
  }

 private:
  const std::int64_t count_;
  std::atomic<std::int64_t> next_{0}, done_{0};
  std::mutex mutex_;
  std::condition_variable finished_;
};

// work(0) … work(count − 1), each once. `schedule` hands a function to one of `threads` threads.
template <class Work, class Schedule>
void in_shares(std::int64_t count, std::int64_t threads, const Work& work,
               const Schedule& schedule) {
  if (count == 0) return;
  const auto shares = std::make_shared<Shares>(count);
  const std::int64_t helpers = threads < count ? threads - 1 : count - 1;
  const Work* todo = &work;
  for (std::int64_t h = 0; h < helpers; ++h) {
    schedule([shares, todo] { shares->take(todo); });
  }
  shares->take(todo);
  shares->wait();
}

}  // namespace instar
