// What the binding and the kernels agree on. No code here: this header is seen by translation units
// compiled for different instruction sets, and inline code would be merged between them by the linker.
#pragma once

namespace nica {

enum Dynamics : int { exact = 0, sweeps = 1, ode = 2 };
enum Rule : int { layers = 0, nonnegative_pca = 1, fast_ica = 2, infomax = 3, linsker = 4, facets = 5 };

struct Config {
    int k, l, m, d;          // channels, principal neurons, interneurons, outputs
    int whiten, separate;    // which layers there are
    int robust;              // start="warm": exact means, outlier weight, revival, restart, idle
    int dynamics;            // Dynamics
    int rule;                // Rule: the paper's layers, a rival's rule in place of layer 2, or facets
    int offset;              // facets: whether each neuron learns an intercept
    double share_minimum;    // facets: how much of its averages a sample is, at least
    double alpha;            // appendix B; > 0 when l > d
    double rate_a, rate_b, rate_minimum;                   // layer 1: 1 / (a + b t), not below
    int in_time;                                           // layer 2: rate 1 / (a + b t) ...
    double separation_a, separation_b;                     // ... or activity (floor, forgetting)
    double memory_first, memory_growth, memory_most;       // if growth > 0: forgetting 1 - 1/memory(t)
    double kappa, kappa_first;
    double renewal;                                        // samples that count after a jump; 0: never
    int hold, idle, revival, flip;
    int max_sweeps;
    double tol;
};

// A named array of the state, as it lies in memory (strides in doubles).
struct Field {
    const char* name;
    double* data;
    long rows, columns, row_stride, column_stride;
};

enum Event : int { done = 0, held_enough = 1, overflow = 2 };

struct Outcome {
    long rows;  // consumed
    int event;
};

class Network {
  public:
    virtual ~Network();
    // Learn from n samples in order; Y (n x outputs), if given, receives what the network emitted.
    virtual Outcome run(const double* X, long n, double* Y) = 0;
    // Outputs with the weights as they stand.
    virtual void apply(const double* X, long n, double* Y) = 0;
    virtual int fields(Field* out) = 0;  // at most 40; the same names in the same order, always
    virtual void resize_held(long rows) = 0;  // room for so many held samples, at least
    // To be called after fields were written: with derived state among them, or without.
    virtual void restored(bool derived) = 0;
    // A learned sample with its outputs, of those that the health of a network is told by, if it is.
    virtual void note(const double* x, const double* y, const double* slack);
    virtual double residual() = 0;  // max(|P W_hg - I|, |N (I + W_yy) - I|)
};

// A network with samples of its own, and what became of it.
struct Replica {
    Network* network;
    const Config* config;
    const double* X;
    double* Y;  // or null
    Outcome outcome;
};

// Networks in lockstep: alike in their sizes and in what Config says by yes or no, except flip.
struct Groups {
    int (*width)(const Config&);  // how many at most; 0 for networks that cannot
    // Learn from n samples each. A network that needs its own way stops early, between two samples.
    void (*run)(Replica*, int count, long n);
};

struct Kernels {
    const char* name;
    const Groups* groups;
    int width;  // doubles in a vector register
    Network* (*create)(const Config&);
    // Nanoseconds from one multiply-add to the next that needs it: the unit of the benchmarks.
    double (*multiply_add_latency)();
    // Floating-point operations per nanosecond of independent multiply-adds on full registers, one core.
    double (*peak)();
    // First row with an entry that is not finite or larger than limit in size; -1 if there is none.
    long (*find_bad)(const double* X, long rows, long columns, double limit);
    // Rows of Y (n x d) hold C^-1 K h; they become the fixed points y of layer 2. N is the inverse of C.
    // Added to below[i] are the squares of negative entries as they were, to held[i] the squares of
    // C y - K h where an output is silent. Returns how many rows needed sweeps instead of pivoting.
    long (*rectify)(int d, const double* C, const double* N, double* Y, long n, double* below,
                    double* held);
    // y_i = exp(x_i), log(x_i) or erfcx(x_i), for which = 0, 1, 2.
    void (*special)(int which, const double* x, long n, double* y);
    // FacetNICA: one sweep over the rows of B (d x columns; one more than d: intercepts), whose outputs Y
    // (d x n) and parameters rows (d x 7) go along.
    void (*facet_sweep)(double* Y, long d, long n, double* B, long columns, double* rows, double floor,
                        double cap);
    // What a pass over all samples adds up for a step of all rows at once: for each row 9 expectations,
    // the sum of |y|, g (m) and H (m x m), m = d - 1 + ones.
    void (*facet_sums)(const double* Y, long d, long n, long ones, const double* rows, double* sums);
};

}  // namespace nica
