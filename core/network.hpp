// The two layers stacked, one sample at a time, and the rules of start="warm" around them.
// NumPy twins: nica/equations/network.py (the paper) and nica/equations/robust.py (the rules).
#pragma once

#include "held.hpp"
#include "separation.hpp"
#include "watch.hpp"
#include "whitening.hpp"

namespace nica {
namespace NICA_VARIANT {

constexpr int revival_interval = 16;  // learned samples between two looks for lost neurons
constexpr double hopeless = 1e200;    // squared distance beyond which a sample has no weight at all
constexpr double farthest = 16;       // squared distance that a sample counts for at most, in `stray`
constexpr double stray_limit = 1.6;   // beyond it the mixture has jumped

// Counters and scalars: saved as one array of doubles, named in this order in networks/_stream.py.
template <class Scalar> struct Counters {
    Scalar t = {};          // samples learned
    Scalar seen = {};       // samples seen
    Scalar started = {};    // whether the warm-up is over
    Scalar outlying = {};   // share of recent samples far outside
    Scalar suspended = {};  // whether learning is suspended
    Scalar far = {};        // outlying samples among those held
    Scalar repeats = {};    // identical samples in a row
    Scalar held = {};       // samples held
    Scalar target = {};     // samples to hold
    Scalar all_fired = {};
    Scalar spread = Scalar{} + 1.0;  // running average of the whitened squared distance, per dimension
    Scalar outliers = {};            // samples that got less than full weight
    Scalar revived = {};             // flips by the revival rule
    Scalar basis = {};               // samples of the last start
    Scalar poison = {};              // stays zero while everything is finite
    Scalar stray = Scalar{} + 1.0;   // running average of the bounded squared distance: tells of a jump
    Scalar renewed = {};             // time from which the rates count
};
using Scalars = Counters<double>;

template <class S, class First> struct Layers {
    First one;
    Separation<S> two;
    typename S::Vector gain, last;
    Scalars now;
    Layers(const Config& c)
        : one(c), two(c), gain(typename S::Size(c.k)), last(typename S::Size(c.k)) {}
};

// A sample between its two layers.
template <class S> struct Handover {
    typename S::Vector h;
    const double* x = nullptr;  // null: no sample is waiting
    double* y = nullptr;
    double weight = 0, time = 0, age = 0;  // weight 0: settle only, learn nothing
    explicit Handover(typename S::Size L) : h(L) {}
};

template <class S> struct Temporaries {
    Activity1<S> first;
    Activity2<S> second;
    typename S::Vector z;
    Handover<S> waiting;
    explicit Temporaries(const Config& c)
        : first(typename S::Size(c.k), typename S::Size(c.l), typename S::Size(c.m)),
          second(typename S::Size(c.d)), z(typename S::Size(c.k)), waiting(typename S::Size(c.l)) {}
};

template <class S, class First> class Stacked final : public Network {
  public:
    explicit Stacked(const Config& c)
        : config(c), state(c), temporaries(c), watch(c), pivoting(c.d), held(c.k, c.hold),
          outputs(c.separate ? c.d : c.l), per_source(1.0 / c.d), revival_rate(1.0 / c.revival),
          renewal_rate(c.whiten && c.renewal > 0 ? 1 / c.renewal : 0) {
        state.now.target = c.hold;
    }

    // Whether start="warm" is known to the compiler: the loop has no branch for it.
    Outcome run(const double* X, long n, double* Y) override {
        return config.robust ? pass<true>(X, n, Y) : pass<false>(X, n, Y);
    }

    void apply(const double* X, long n, double* Y) override {
        return config.robust ? respond<true>(X, n, Y) : respond<false>(X, n, Y);
    }

    NICA_RARE int fields(Field* out) override {
        int n = 0;
        if (config.whiten) n += state.one.fields(out);
        if (config.separate) {
            n += state.two.fields(out + n);
            n += watch.fields(out + n);
        }
        out[n++] = {"gain", &state.gain[0], config.k, 1, 1, 1};
        out[n++] = {"last", &state.last[0], config.k, 1, 1, 1};
        out[n++] = {"scalars", &state.now.t, long(sizeof(Scalars) / sizeof(double)), 1, 1, 1};
        out[n++] = held.field(long(state.now.held));
        if (!config.whiten) out[n++] = {"x_bar", &state.one.x_bar[0], config.l, 1, 1, 1};
        return n;
    }

    void resize_held(long rows) override { held.make_room(rows); }

    NICA_RARE void restored(bool derived) override {
        if (config.whiten) state.one.restored(config.robust, derived);
        if (config.separate) state.two.restored(derived);
    }

    void note(const double* x, const double* y, const double* slack) override { watch.note(x, y, slack); }

    NICA_RARE double residual() override {
        const double first = config.whiten ? state.one.residual() : 0;
        const double second = config.separate ? state.two.residual() : 0;
        return first > second ? first : second;
    }

  private:
    Config config;
    Layers<S, First> state;
    Temporaries<S> temporaries;
    Watch watch;
    Pivoting pivoting;
    Held held;
    int outputs;
    const double per_source, revival_rate, renewal_rate;

    using All = Layers<S, First>;

    static NICA_INLINE bool equal(const double* x, const double* y, int n) {
        if (x[0] != y[0]) return false;
        for (int j = 1; j < n; ++j)
            if (x[j] != y[j]) return false;
        return true;
    }
    NICA_RARE void clear(double* y) const {
        for (int i = 0; i < outputs; ++i) y[i] = 0;
    }
    NICA_RARE bool hold(All& s, const double* x) {
        held.make_room(long(larger(s.now.target, s.now.held + 1)));
        held.put(long(s.now.held), x);
        s.now.held += 1;
        return s.now.held >= s.now.target;
    }

    // Layer 2 works on one sample while layer 1 works on the next: neither waits for the other, so that
    // their chains of dependent operations overlap in the processor. Each layer sees its samples in
    // order, and nothing is left waiting when the call ends: the results are those of one by one.
    template <bool robust> Outcome pass(const double* X, long n, double* Y) {
        typename S::template Local<Layers<S, First>> s = state;
        typename S::template Local<Temporaries<S>> t = temporaries;
        const Config c = config;
        Outcome outcome = {n, done};
        const double* before = &state.last[0];
        for (long row = 0;; ++row) {
            const bool more = row < outcome.rows;
            const double* x = X + row * c.k;
            double* y = Y ? Y + row * outputs : nullptr;
            Share share = {1, false};
            if (__builtin_expect(more, 1)) {
                bool same = false;
                s.now.seen += 1;
                if (robust) {
                    same = s.now.seen > 1 && equal(x, before, c.k);
                    before = x;
                    s.now.repeats = same ? s.now.repeats + 1 : 0;
                    if (__builtin_expect(s.now.started == 0, 0)) {
                        if (y) clear(y);
                        if (!same && hold(s, x)) outcome = {row + 1, held_enough};
                        continue;
                    }
                }
                settle_first<robust>(s, t, x);
                if (robust) share = judge(s, t, x, same);
            }
            second<robust>(s, t);
            if (__builtin_expect(!more, 0)) break;
            hand_over(s, t, x, y, share.weight);
            if (share.weight > 0) learn_first<robust>(s, t, share.weight);
            if (__builtin_expect(share.restart, 0)) outcome = {row + 1, held_enough};
        }
        if (outcome.rows > 0) {
            const double* x = X + (outcome.rows - 1) * c.k;
            for (int j = 0; j < c.k; ++j) s.last[j] = x[j];
        }
        s.now.poison += 0 * s.now.spread;  // what overflows stays in these running averages
        for (int i = 0; i < s.two.D.n; ++i)
            s.now.poison += 0 * s.two.positive[i] + 0 * s.two.activity[i] + 0 * t.second.beta[i];
        if (s.now.poison != 0) outcome.event = overflow;
        S::keep(state, s);
        return outcome;
    }

    template <bool robust> void respond(const double* X, long n, double* Y) {
        for (long row = 0; row < n; ++row) {
            settle_first<robust>(state, temporaries, X + row * config.k);
            if (config.separate) state.two.settle(temporaries.first.h, temporaries.second, pivoting);
            S::store(config.separate ? temporaries.second.y : temporaries.first.h, Y + row * outputs);
        }
    }

    // What a sample counts, and whether enough samples are held for a restart.
    struct Share {
        double weight;
        bool restart;
    };

    template <bool robust> NICA_INLINE void settle_first(All& s, Temporaries<S>& t, const double* x) {
        S::load(x, t.z);
        for (int q = 0; q < s.one.K.lanes; ++q) t.z.q[q] *= s.gain.q[q];
        if (!config.whiten) {
            for (int q = 0; q < s.one.L.lanes; ++q) t.first.h.q[q] = t.z.q[q];
        } else if (robust) {
            s.one.settle_exact(t.z, t.first);
        } else {
            s.one.settle(t.z, t.first);
        }
    }

    // start="warm": outlier weight, idle, restart.
    NICA_INLINE Share judge(All& s, Temporaries<S>& t, const double* x, bool same) {
        const Config& c = config;
        const double squares = distance(s, t);
        // Early on little is known, and starting again costs little: the limit grows with time.
        // Layer 2 alone gets input that somebody else has whitened: nothing is ever restarted.
        const double most = c.kappa * c.kappa;
        const double early = 1 + c.kappa_first * root(3 * s.now.t / (double(c.d) * c.hold));
        const double limit = c.whiten ? smaller(early, most) : most;
        const bool is_far = !(squares <= limit);
        double weight = 1;
        if (__builtin_expect(is_far, 0))
            weight = squares < hopeless ? (limit / squares) * (limit / squares) : 0;
        if (__builtin_expect(s.now.repeats >= c.idle, 0)) return {0, false};
        if (s.now.suspended == 0 && c.whiten) {
            s.now.outlying += (is_far - s.now.outlying) * 0.1;
            s.now.suspended = s.now.outlying > 0.5;
        }
        if (__builtin_expect(s.now.suspended != 0, 0)) {
            if (same) return {0, false};
            s.now.far += is_far;
            if (!hold(s, x)) return {0, false};
            if (s.now.far > s.now.held / 2) return {0, true};
            s.now.suspended = s.now.outlying = s.now.far = s.now.held = 0;
            s.now.target = c.hold;
            return {0, false};
        }
        s.now.outliers += weight < 1;
        s.now.spread += weight * (squares - s.now.spread) * revival_rate;
        s.now.stray += (smaller(squares, farthest) - s.now.stray) * renewal_rate;
        if (__builtin_expect(s.now.stray > stray_limit, 0)) renew(s.now, c.renewal);
        if (__builtin_expect(weight == 0, 0)) s.now.t += 1;
        return {weight, false};
    }

    // After a jump the rates start over.
    static void renew(Scalars& now, double renewal) {
        if (now.t - now.renewed <= 2 * renewal) return;
        now.renewed = now.t - renewal;
        now.stray = 1;
    }

    template <bool robust> NICA_INLINE void learn_first(All& s, Temporaries<S>& t, double weight) {
        const Config& c = config;
        const double time = s.now.t += 1;
        const double age = time - s.now.renewed;
        t.waiting.time = time;
        t.waiting.age = age;
        const double mean_rate = weight * larger(1 / age, c.rate_minimum);
        const double rate = weight * larger(1 / (c.rate_a + c.rate_b * age), c.rate_minimum);
        if (!c.whiten) {
            if (!robust) s.now.spread += (distance(s, t) - s.now.spread) * revival_rate;
            for (int q = 0; q < s.one.K.lanes; ++q)
                s.one.x_bar.q[q] += mean_rate * t.first.e.q[q];
            return;
        }
        if (robust) s.one.learn_exact(t.first, rate, mean_rate);
        else {
            s.one.learn(t.z, t.first, rate, mean_rate);
            const double squares = S::dot(s.one.L, t.first.dh, t.first.dh) * per_source;
            s.now.spread += (squares - s.now.spread) * revival_rate;
        }
        const std::ptrdiff_t count = std::ptrdiff_t(time);
        if (__builtin_expect(count % 16 == 0, 0)) {
            if (s.one.check_is_due(count, rate)) s.one.check();
            if (count % mean_interval == 0) s.one.renew_means(robust);
        }
    }

    NICA_INLINE void hand_over(const All& s, Temporaries<S>& t, const double* x, double* y,
                               double weight) const {
        if (!config.separate) {
            if (y) S::store(t.first.h, y);
            return;
        }
        for (int q = 0; q < s.one.L.lanes; ++q) t.waiting.h.q[q] = t.first.h.q[q];
        t.waiting.x = x;
        t.waiting.y = y;
        t.waiting.weight = weight;
    }

    // Layer 2, for the sample that waits.
    template <bool robust> NICA_INLINE void second(All& s, Temporaries<S>& t) {
        const Config& c = config;
        if (!t.waiting.x) return;
        s.two.settle(t.waiting.h, t.second, pivoting);
        const double w = t.waiting.weight, time = t.waiting.time;
        double* y = t.waiting.y;  // written to last: the compiler must fear that it is part of the state
        if (w > 0) {
            if (robust && __builtin_expect(s.two.too_long(t.waiting.h, t.second), 0)) {
                if (y) S::store(t.second.y, y);
                y = nullptr;
                s.two.shorten(t.waiting.h, t.second);
            }
            double forgetting = 1 - w * (1 - c.separation_b), floor = c.separation_a;
            if (c.in_time) floor = c.separation_a + c.separation_b * time;
            if (c.memory_growth > 0) {
                forgetting = 1 - w / smaller(c.memory_first + c.memory_growth * t.waiting.age, c.memory_most);
                floor = c.memory_first;
            }
            s.two.learn(t.waiting.h, t.second, w, forgetting, floor, c.in_time);
            s.two.watch(t.second, w * revival_rate);
            if (__builtin_expect(std::ptrdiff_t(time) % watch_interval == 0, 0) && w == 1)
                watch.note(t.waiting.x, t.second.y, t.second.slack);
            if (__builtin_expect(s.now.all_fired == 0, 0) && not_zero(t.waiting.x)) {
                s.now.all_fired = s.two.note_fired(t.second);
                if (c.flip) s.two.flip_silent(time);
            }
            if (robust && c.flip && std::ptrdiff_t(time) % revival_interval == 0)
                s.now.revived += s.two.revive(time, c.revival);
            if (__builtin_expect(std::ptrdiff_t(time) % check_interval == 0, 0)) s.two.check();
        }
        if (y) S::store(t.second.y, y);
        t.waiting.x = nullptr;
    }

    NICA_RARE bool not_zero(const double* x) const {
        for (int j = 0; j < config.k; ++j)
            if (x[j] != 0) return true;
        return false;
    }

    // Squared distance from the mean in standard deviations, per source.
    NICA_INLINE double distance(All& s, Temporaries<S>& t) const {
        if (config.whiten) return S::dot(s.one.L, t.first.e, t.first.e) / config.d;
        for (int q = 0; q < s.one.K.lanes; ++q) t.first.e.q[q] = t.z.q[q] - s.one.x_bar.q[q];
        return S::dot(s.one.K, t.first.e, t.first.e) / config.l;
    }
};

}  // namespace NICA_VARIANT
}  // namespace nica
