// Several networks learning in lockstep, one in each lane of the registers: the loop of network.hpp and
// its rules for start="warm", for all of them at once. Every network has its own samples, rates and state,
// and ends as it would have ended alone, to round-off.
//
// What hardly ever happens is not done here: before a sample with which a network would stand still or
// start again, it leaves, with its state, and the ordinary network goes on from there. Its lane, like one
// that is not needed, repeats what another one does.
#pragma once

#include "network.hpp"
#include "replicas.hpp"

namespace nica {
namespace NICA_VARIANT {

constexpr int rows_at_once = 64;  // rows that are brought into lanes together

// The numbers of Config that may differ between networks.
struct Rules {
    Wide rate_a, rate_b, rate_minimum;
    Wide floor, floor_growth;                        // of the activity
    Wide memory_first, memory_growth, memory_most;   // forgetting is 1 - 1 / memory
    Wide limit_growth, limit_most;                   // of the outlier weight
    Wide idle, per_revival, per_renewal;

    void set(int lane, const Config& c) {
        rate_a[lane] = c.rate_a;
        rate_b[lane] = c.rate_b;
        rate_minimum[lane] = c.rate_minimum;
        const bool grows = c.memory_growth > 0;
        floor[lane] = grows ? c.memory_first : c.separation_a;
        floor_growth[lane] = c.in_time ? c.separation_b : 0;
        memory_first[lane] = grows ? c.memory_first : 1 / (1 - c.separation_b);
        memory_growth[lane] = c.memory_growth;
        memory_most[lane] = grows ? c.memory_most : __builtin_inf();
        limit_growth[lane] = c.kappa_first * c.kappa_first * 3 / (double(c.d) * c.hold);
        limit_most[lane] = c.kappa * c.kappa;
        idle[lane] = c.idle;
        per_revival[lane] = 1.0 / c.revival;
        per_renewal[lane] = c.whiten && c.renewal > 0 ? 1 / c.renewal : 0;
    }
};

// Which lanes have learned a multiple of `interval` samples.
template <int interval> struct Due {
    unsigned lanes[interval] = {};
    void add(int lane, long from_now) {
        lanes[((from_now % interval) + interval) % interval] |= 1u << lane;
    }
    NICA_INLINE unsigned at(long learned) const { return lanes[(unsigned long)learned % interval]; }
};

template <int N> class Lockstep {
    using S = Replicas<N>;
    using Vector = typename S::Vector;
    static constexpr int W = S::replicas;

  public:
    NICA_RARE Lockstep(Replica* replicas, int count)
        : config(*replicas[0].config), one(config), two(config), a(S::size, S::size, S::size),
          b(S::size), pivoting(1) {
        for (int lane = 0; lane < W; ++lane) {
            Replica& r = replicas[lane < count ? lane : 0];
            member[lane] = lane < count ? &r : nullptr;
            X[lane] = r.X;
            rules.set(lane, *r.config);
            Field from[40], to[40];
            copy(from, r.network->fields(from), to, fields(to, lane));
            if (now.seen[lane] == 0) S::entry(last, 0, lane) = __builtin_nan("");
        }
        active = (1u << count) - 1;
        learned = long(now.t[0]);
        for (int lane = 0; lane < count; ++lane) {
            revival.add(lane, learned - long(now.t[lane]));
            watching.add(lane, learned - long(now.t[lane]));
        }
    }

    void run(long n) {
        for (int lane = 0; active >> lane; ++lane)
            if (active >> lane & 1 && config.robust && (now.started[lane] == 0 || now.suspended[lane] != 0))
                leave(lane, 0, 0, done);
        for (int lane = 0; lane < W; ++lane)
            if (!(active >> lane & 1)) repeat(lane, 0, 0);
        for (long first = 0; first < n && active; first += rows_at_once) {
            const int rows = int(n - first < rows_at_once ? n - first : rows_at_once);
            bring(first, rows);
            for (int r = 0; r < rows;) {
                const unsigned leaving = step(r) & active;
                if (!leaving) ++r;
                for (int lane = 0; leaving >> lane; ++lane)
                    if (leaving >> lane & 1) {
                        leave(lane, first, r, done);
                        if (!active) return;
                        repeat(lane, r, rows);
                    }
            }
            for (int lane = 0; active >> lane; ++lane)
                if (active >> lane & 1) {
                    if (now.poison[lane] != 0) {
                        leave(lane, first, rows, overflow);
                        repeat(lane, rows, rows);
                    } else {
                        deliver(lane, first, rows);
                    }
                }
        }
        for (int lane = 0; active >> lane; ++lane)
            if (active >> lane & 1) leave(lane, n, 0, done);
    }

  private:
    Config config;  // what is the same for all
    Rules rules;
    Whitening<S> one;
    Separation<S> two;
    Counters<Wide> now;
    Vector gain, last, z;
    Activity1<S> a;
    Activity2<S> b;
    Pivoting pivoting;  // of no use to this family
    Vector in[rows_at_once], out[rows_at_once];
    Replica* member[W];
    const double* X[W];
    unsigned active = 0;
    long learned = 0;  // of the first lane, when it came; which lanes are due is told from it
    Due<revival_interval> revival;
    Due<watch_interval> watching;

    // ---- one sample; which networks cannot take it here, in which case nothing has changed

    NICA_INLINE unsigned step(int r) {
        const Vector& x = in[r];
        const Wide none = {}, unit = none + 1.0;
        Wide weight = unit, repeats = none, outlying = none, squares = none, far = none;
        NICA_UNROLL for (int i = 0; i < N; ++i) z.q[i] = x.q[i] * gain.q[i];
        if (!config.whiten) a.h = z;
        else if (config.robust) one.settle_exact(z, a);
        else one.settle(z, a);
        if (config.robust || !config.whiten) squares = distance();
        if (config.robust) {
            Wide moved = none;
            NICA_UNROLL for (int i = 0; i < N; ++i) moved += magnitude(x.q[i] - last.q[i]);
            repeats = moved <= none ? now.repeats + 1.0 : none;  // NaN: no sample came before
            Wide limit = rules.limit_most;
            if (config.whiten) {
                const Wide early = unit + root(rules.limit_growth * now.t);
                limit = early < limit ? early : limit;
            }
            far = squares <= limit ? none : unit;
            outlying = now.outlying + (far - now.outlying) * 0.1;
            if (!config.whiten) outlying = now.outlying;
            unsigned leaving = bits_at_most(rules.idle, repeats) | bits_negative(none + 0.5 - outlying);
            if (__builtin_expect(bits_at_most(squares, limit) != every_lane, 0)) {
                const Wide share = limit / squares;
                weight = squares <= limit ? unit : share * share;
                leaving |= ~bits_at_most(squares, none + hopeless);
            }
            if (__builtin_expect(leaving & active, 0)) return leaving;
            now.repeats = repeats;
            now.outlying = outlying;
            now.outliers += weight < unit ? unit : none;
            now.spread += weight * (squares - now.spread) * rules.per_revival;
            const Wide bounded = squares < none + farthest ? squares : none + farthest;
            now.stray += (bounded - now.stray) * rules.per_renewal;
            if (__builtin_expect(bits_at_most(now.stray, none + stray_limit) != every_lane, 0)) renew();
            last = x;
        }
        now.seen += 1.0;
        const Wide time = now.t += 1.0;
        ++learned;
        if (config.separate) second(x, out[r], weight, time);
        else out[r] = a.h;
        first(weight, time - now.renewed, squares);
        return 0;
    }

    NICA_INLINE Wide distance() {
        if (config.whiten) return S::dot(S::size, a.e, a.e) / double(N);
        NICA_UNROLL for (int i = 0; i < N; ++i) a.e.q[i] = z.q[i] - one.x_bar.q[i];
        return S::dot(S::size, a.e, a.e) / double(N);
    }

    void renew() {
        for (int lane = 0; lane < W; ++lane)
            if (now.stray[lane] > stray_limit &&
                now.t[lane] - now.renewed[lane] > 2 / rules.per_renewal[lane]) {
                now.renewed[lane] = now.t[lane] - 1 / rules.per_renewal[lane];
                now.stray[lane] = 1;
            }
    }

    NICA_INLINE void first(Wide weight, Wide age, Wide squares) {
        const Wide mean_rate = weight * larger(1.0 / age, rules.rate_minimum);
        const Wide rate = weight * larger(1.0 / (rules.rate_a + rules.rate_b * age), rules.rate_minimum);
        if (!config.whiten) {
            if (!config.robust) now.spread += (squares - now.spread) * rules.per_revival;
            NICA_UNROLL for (int i = 0; i < N; ++i) one.x_bar.q[i] += mean_rate * a.e.q[i];
            return;
        }
        if (config.robust) one.learn_exact(a, rate, mean_rate);
        else one.learn(z, a, rate, mean_rate);
        const Wide length = S::dot(S::size, a.dh, a.dh);
        if (!config.robust) now.spread += (length / double(N) - now.spread) * rules.per_revival;
        now.poison += 0.0 * length;
        if (__builtin_expect(learned % check_interval == 0, 0)) one.check();
        if (__builtin_expect(learned % mean_interval == 0, 0)) one.renew_means(config.robust);
    }

    NICA_INLINE void second(const Vector& x, Vector& y, Wide weight, Wide time) {
        two.settle(a.h, b, pivoting);
        y = b.y;
        if (config.robust && __builtin_expect(two.too_long(a.h, b), 0)) two.shorten(a.h, b);
        const Wide memory = rules.memory_first + rules.memory_growth * (time - now.renewed);
        const Wide forgetting = 1.0 - weight / (memory < rules.memory_most ? memory : rules.memory_most);
        two.learn(a.h, b, weight, forgetting, rules.floor + rules.floor_growth * time, config.in_time);
        two.watch(b, weight * rules.per_revival);
        if (__builtin_expect(watching.at(learned) & active, 0)) note(x, weight);
        now.poison += 0.0 * S::dot(S::size, b.y, b.beta);
        if (__builtin_expect(bits_at_most(now.all_fired, Wide{}) != 0, 0)) note_fired(x, time);
        if (config.robust) {
            const unsigned lanes = revival.at(learned) & active;
            for (int lane = 0; lanes >> lane; ++lane)
                if (lanes >> lane & 1 && member[lane]->config->flip)
                    now.revived[lane] +=
                        two.revive(time[lane], member[lane]->config->revival, lane);
        }
        if (__builtin_expect(learned % check_interval == 0, 0)) two.check();
    }

    // The networks themselves watch over their health.
    NICA_RARE void note(const Vector& x, Wide weight) {
        const unsigned lanes = watching.at(learned) & active;
        for (int lane = 0; lanes >> lane; ++lane) {
            if (!(lanes >> lane & 1) || weight[lane] != 1) continue;
            double of_x[N], of_y[N], of_slack[N];
            for (int i = 0; i < N; ++i) {
                of_x[i] = x.q[i][lane];
                of_y[i] = b.y.q[i][lane];
                of_slack[i] = b.slack.q[i][lane];
            }
            member[lane]->network->note(of_x, of_y, of_slack);
        }
    }

    NICA_RARE void note_fired(const Vector& x, Wide time) {
        for (int lane = 0; active >> lane; ++lane) {
            bool any = false;
            for (int i = 0; i < N; ++i) any |= x.q[i][lane] != 0;
            if (!(active >> lane & 1) || !any || now.all_fired[lane] != 0) continue;
            now.all_fired[lane] = two.note_fired(b, lane);
            if (member[lane]->config->flip) two.flip_silent(time[lane], lane);
        }
    }

    // ---- samples into lanes, outputs out of them

    void bring(long first, int rows) {
        bool shared = true;
        for (int lane = 1; lane < W; ++lane) shared &= X[lane] == X[0];
        for (int r = 0; r < rows; ++r)
            for (int i = 0; i < N; ++i) {
                const std::ptrdiff_t at = (first + r) * N + i;
                if (shared) in[r].q[i] = Wide{} + X[0][at];
                else
                    for (int lane = 0; lane < W; ++lane) S::entry(in[r], i, lane) = X[lane][at];
            }
    }

    void deliver(int lane, long first, int rows) {
        double* Y = member[lane]->Y;
        if (!Y) return;
        for (int r = 0; r < rows; ++r)
            for (int i = 0; i < N; ++i) Y[(first + r) * N + i] = S::entry(out[r], i, lane);
    }

    // ---- networks into lanes, and out of them

    NICA_RARE int fields(Field* f, int lane) {
        int n = 0;
        if (config.whiten) n += one.fields(f, lane);
        else f[n++] = S::field("x_bar", one.x_bar, lane);
        if (config.separate) n += two.fields(f + n, lane);
        f[n++] = S::field("gain", gain, lane);
        f[n++] = S::field("last", last, lane);
        double* t = reinterpret_cast<double*>(&now.t) + lane;
        f[n++] = {"scalars", t, long(sizeof now / sizeof gain.q[0]), 1, W, 1};
        return n;
    }

    NICA_RARE static void copy(const Field* from, int n, const Field* to, int m) {
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < m; ++j) {
                const Field &f = from[i], &g = to[j];
                if (std::strcmp(f.name, g.name)) continue;
                for (long r = 0; r < g.rows; ++r)
                    for (long c = 0; c < g.columns; ++c)
                        g.data[r * g.row_stride + c * g.column_stride] =
                            f.data[r * f.row_stride + c * f.column_stride];
            }
    }

    // The network goes on alone, from row `first + rows` on.
    NICA_RARE void leave(int lane, long first, int rows, int event) {
        deliver(lane, first, rows);
        Replica& r = *member[lane];
        if (first + rows > 0)
            for (int i = 0; i < N; ++i) S::entry(last, i, lane) = r.X[(first + rows - 1) * N + i];
        Field from[40], to[40];
        const int n = fields(from, lane);
        copy(from, n, to, r.network->fields(to));
        r.network->restored(true);
        r.outcome = {first + rows, event};
        active &= ~(1u << lane);
    }

    // An empty lane does what another one does.
    NICA_RARE void repeat(int lane, int r, int rows) {
        if (!active) return;
        const int other = __builtin_ctz(active);
        Field from[40], to[40];
        copy(from, fields(from, other), to, fields(to, lane));
        rules.set(lane, *member[other]->config);
        X[lane] = X[other];
        for (; r < rows; ++r)
            for (int i = 0; i < N; ++i) S::entry(in[r], i, lane) = S::entry(in[r], i, other);
    }
};

}  // namespace NICA_VARIANT
}  // namespace nica
