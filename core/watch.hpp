// What a running network remembers of its recent outputs, so that its health can be told at any moment:
// running averages over some thousand samples, and probes: samples with what the network made of them
// then. What it makes of them now tells how far its weights have turned. networks/_health.py reads it.
#pragma once

#include <cstdlib>

#include "api.hpp"

namespace nica {
namespace NICA_VARIANT {

constexpr int watch_interval = 13; // learned samples from one that counts to the next: no common period
constexpr int watch_memory = 512;  // samples that count, in an average
constexpr int probe_interval = 5;  // of those that count, each such one is kept
constexpr int probes = 64;         // that are kept; the oldest goes

struct Watch {
    int k, d;
    double counts[2] = {0, 0};  // samples that counted, and that were kept, since the last start
    double *mean, *products, *down, *kept;

    explicit Watch(const Config& c) : k(c.k), d(c.separate ? c.d : 0) {
        mean = static_cast<double*>(
            std::calloc(size_t(2 + d) * d + size_t(probes) * (k + d) + 1, sizeof(double)));
        if (!mean) std::abort();
        down = mean + d;
        products = down + d;
        kept = products + d * d;
    }
    ~Watch() { std::free(mean); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // A learned sample x, the outputs y, and by how much each silent neuron was held down.
    template <class V> NICA_APART void note(const double* x, const V& y, const V& slack) {
        counts[0] += 1;
        const double rate = 1 / (counts[0] < watch_memory ? counts[0] : watch_memory);
        for (int i = 0; i < d; ++i) {
            mean[i] += rate * (y[i] - mean[i]);
            down[i] += rate * (slack[i] * slack[i] - down[i]);
            for (int j = 0; j < d; ++j)
                products[i * d + j] += rate * (y[i] * y[j] - products[i * d + j]);
        }
        if (long(counts[0]) % probe_interval) return;
        double* row = kept + (long(counts[1]) % probes) * (k + d);
        for (int j = 0; j < k; ++j) row[j] = x[j];
        for (int i = 0; i < d; ++i) row[k + i] = y[i];
        counts[1] += 1;
    }

    NICA_RARE int fields(Field* out) {
        out[0] = {"watched", counts, 2, 1, 1, 1};
        out[1] = {"watched_mean", mean, d, 1, 1, 1};
        out[2] = {"watched_down", down, d, 1, 1, 1};
        out[3] = {"watched_products", products, d, d, d, 1};
        out[4] = {"probes", kept, probes, k + d, k + d, 1};
        return 5;
    }
};

}  // namespace NICA_VARIANT
}  // namespace nica
