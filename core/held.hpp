// Samples that a network keeps until there are enough of them to begin with, or to begin again.
#pragma once

#include <cstdlib>
#include <cstring>

#include "api.hpp"

namespace nica {
namespace NICA_VARIANT {

class Held {
  public:
    Held(int columns, long rows) : columns(columns) { make_room(rows); }
    ~Held() { std::free(samples); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    void make_room(long rows) {
        if (rows < capacity) return;
        capacity = rows;
        samples = static_cast<double*>(
            std::realloc(samples, sizeof(double) * std::size_t(capacity + 1) * columns));
        if (!samples) std::abort();
    }
    void put(long row, const double* x) {
        std::memcpy(samples + std::size_t(row) * columns, x, sizeof(double) * columns);
    }
    Field field(long rows) const { return {"held", samples, rows, columns, columns, 1}; }

  private:
    int columns;
    double* samples = nullptr;
    long capacity = 0;
};

}  // namespace NICA_VARIANT
}  // namespace nica
