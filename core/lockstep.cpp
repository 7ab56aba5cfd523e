// This file too is compiled once for each instruction set; see CMakeLists.txt.
#pragma GCC diagnostic ignored "-Wignored-attributes"  // of registers as template arguments: not lost
#include "lockstep.hpp"

#include <new>

#define NICA_PASTE_(a, b) a##b
#define NICA_PASTE(a, b) NICA_PASTE_(a, b)

namespace nica {
namespace NICA_VARIANT {

template <int N> static void together(Replica* replicas, int count, long n) {
    void* memory = Dynamic::allocate(sizeof(Lockstep<N>) / sizeof(double) + 8);
    Lockstep<N>* group = new (memory) Lockstep<N>(replicas, count);
    group->run(n);
    group->~Lockstep<N>();
    std::free(memory);
}

typedef void (*Together)(Replica*, int, long);

static Together of_size(int d) {
    switch (d) {
        case 3: return together<3>;
        case 5: return together<5>;
#ifndef NICA_FEW_SIZES
        case 2: return together<2>;
        case 4: return together<4>;
        case 6: return together<6>;
        case 7: return together<7>;
        case 8: return together<8>;
        case 9: return together<9>;
        case 10: return together<10>;
#endif
    }
    return nullptr;
}

static int width(const Config& c) {
    const bool square = c.k == c.d && c.l == c.d && c.m == c.d && c.alpha == 0;
    return square && c.dynamics == exact && c.rule == layers && of_size(c.d) ? native_width : 0;
}

static void run(Replica* replicas, int count, long n) {
    of_size(replicas[0].config->d)(replicas, count, n);
}

}  // namespace NICA_VARIANT

#define NICA_GROUPS NICA_PASTE(groups_, NICA_VARIANT)
extern const Groups NICA_GROUPS;
const Groups NICA_GROUPS = {NICA_VARIANT::width, NICA_VARIANT::run};

}  // namespace nica
