// Layer 2: eqs. NSMdynamics, fullNSMW, activitydep, timedep. NumPy twin: nica/equations/nsm.py.
//
// The fixed point y = max(c - W_yy y, 0), c = W_yh h, is a linear complementarity problem in
// B = I + W_yy. The state keeps N = B^-1 beside B: most outputs are right in y = N c already, and the
// few that come out negative are put right by principal pivoting (pivoting.hpp).
// Learning, B <- diag(1 - e) B + b yT with b = y/D, e = y b, changes N by a column scaling and rank one.
// With three outputs all eight active sets are tried at once, in lanes, from B alone.
#pragma once

#include "api.hpp"
#include "lanes.hpp"
#include "pivoting.hpp"

namespace nica {
namespace NICA_VARIANT {

template <class S> struct Activity2 {
    typename S::Vector c, y, slack;  // drive; outputs; by how much a silent neuron is held down
    typename S::Vector keep, beta, stretch, a, b, scaled;
    explicit Activity2(typename S::Size D)
        : c(D), y(D), slack(D), keep(D), beta(D), stretch(D), a(D), b(D), scaled(D) {}
};

template <class S> struct Separation {
    using Vector = typename S::Vector;
    using Size = typename S::Size;
    using Lane = typename S::Lane;
    using Scalar = typename S::Scalar;
    Size L, D;
    typename S::Matrix W_yh, B;
    typename S::ByColumns N;
    Vector activity, positive, negative, flipped, fired;
    int dynamics, max_sweeps;
    double tol;

    explicit Separation(const Config& c)
        : L(c.l), D(c.d), W_yh(D, L), B(D, D), N(D, D), activity(D), positive(D), negative(D),
          flipped(D), fired(D), dynamics(c.dynamics), max_sweeps(c.max_sweeps), tol(c.tol) {}

    bool keeps_inverse() const { return dynamics == exact; }

    // ---- settle

    NICA_INLINE void settle(const Vector& h, Activity2<S>& t, Pivoting& p) {
        S::multiply(W_yh, h, t.c);
        fixed_point(t, p);
    }

    NICA_INLINE void fixed_point(Activity2<S>& t, Pivoting& p) {
        if (dynamics != exact) return sweep(t, tol, max_sweeps);
        S::multiply(N, t.c, t.y);
        for (int q = 0; q < D.lanes; ++q) t.slack.q[q] = Lane{};
        if (!S::any_negative(t.y)) return;
        if (!S::solve_complementarity(N, t.y, t.slack, p)) sweep(t, 1e-15, 10000);
    }

    // Coordinate descent, to the letter: neurons one by one, each with the newest activities.
    NICA_APART void sweep(Activity2<S>& t, double tolerance, int sweeps_at_most) {
        B.catch_up();
        const Scalar none = {};
        Scalar largest = none;
        for (int i = 0; i < D.n; ++i) {
            t.y[i] = none;
            largest = larger(largest, magnitude(t.c[i]));
        }
        const Scalar limit = tolerance * (1.0 + largest);
        for (int s = 0; s < sweeps_at_most; ++s) {
            Scalar moved = none;
            for (int i = 0; i < D.n; ++i) {
                Scalar net = t.c[i] + t.y[i];
                for (int j = 0; j < D.n; ++j) net -= B(i, j) * t.y[j];
                t.slack[i] = larger(-net, none);
                const Scalar y = larger(net, none);
                moved = larger(moved, magnitude(y - t.y[i]));
                t.y[i] = y;
            }
            if (all_at_most(moved, limit)) break;
        }
    }

    // At the solution y is h rotated, and as long. What is far longer comes from weights that are nearly
    // singular; nothing that long is learned.
    NICA_INLINE bool too_long(const Vector& h, const Activity2<S>& t) const {
        return !all_at_most(S::dot(D, t.y, t.y), 4.0 * S::dot(L, h, h));
    }
    NICA_RARE void shorten(const Vector& h, Activity2<S>& t) const {
        const Scalar hh = 4.0 * S::dot(L, h, h), yy = S::dot(D, t.y, t.y);
        const Scalar none = {}, one = none + 1.0;
        const Scalar shrink = yy <= hh ? one : (yy < none + 1e300 ? root(hh / yy) : none);
        for (int q = 0; q < D.lanes; ++q) t.y.q[q] *= shrink;
    }

    // ---- learn: a sample of weight w, with forgetting and floor, or with a given D in time

    NICA_INLINE void learn(const Vector& h, Activity2<S>& t, Scalar w, Scalar forgetting,
                           Scalar floor, bool in_time) {
        for (int q = 0; q < D.lanes; ++q) {
            const Lane y = t.y.q[q], one = Lane{} + 1.0;
            const Lane most = one * floor;
            activity.q[q] = in_time ? most : larger(most, forgetting * activity.q[q] + w * (y * y));
            t.beta.q[q] = w * y / activity.q[q];
            t.keep.q[q] = one - y * t.beta.q[q];
        }
        S::scale_rows(W_yh, t.keep, t.beta, h);
        S::scale_rows(B, t.keep, t.beta, t.y);
        if (keeps_inverse()) learn_inverse(t);
    }

    NICA_INLINE void learn_inverse(Activity2<S>& t) {
        for (int q = 0; q < D.lanes; ++q) {
            t.stretch.q[q] = 1.0 / t.keep.q[q];
            t.scaled.q[q] = t.beta.q[q] * t.stretch.q[q];
        }
        S::both_ways(N, t.scaled, t.y, t.a, t.b);
        const Scalar one = Scalar{} + 1.0, along = one + S::dot(D, t.y, t.a);
        if (__builtin_expect(!(all_above(along, 1e-6 * one) && all_above(1e6 * one, along)), 0))
            return invert_lateral();
        const Scalar inverse = one / along;
        for (int q = 0; q < D.lanes; ++q) t.b.q[q] *= t.stretch.q[q] * inverse;
        S::scale_columns(N, t.stretch, t.a, t.b);
    }

    // Running averages of what a neuron emits and of what holds it below zero.
    NICA_INLINE void watch(const Activity2<S>& t, Scalar rate) {
        for (int q = 0; q < D.lanes; ++q) {
            positive.q[q] += rate * (t.y.q[q] * t.y.q[q] - positive.q[q]);
            negative.q[q] += rate * (t.slack.q[q] * t.slack.q[q] - negative.q[q]);
        }
    }

    NICA_RARE void flip(int i, int replica) {
        Field f = W_yh.field("", replica);
        for (int j = 0; j < L.n; ++j) {
            double& w = f.data[i * f.row_stride + j * f.column_stride];
            w = -w;
        }
    }

    NICA_RARE bool note_fired(Activity2<S>& t, int replica = 0) {
        bool all = true;
        for (int i = 0; i < D.n; ++i) {
            double& f = S::entry(fired, i, replica);
            if (S::entry(t.y, i, replica) > 0) f = 1;
            all &= f != 0;
        }
        return all;
    }

    NICA_RARE void flip_silent(double t, int replica = 0) {
        for (int i = 0; i < D.n; ++i)
            if (S::entry(fired, i, replica) == 0) turn(i, t, replica);
    }

    // A neuron that is held down far more than it fires sits on the negative of a source.
    NICA_RARE int revive(double t, double interval, int replica = 0) {
        int count = 0;
        for (int i = 0; i < D.n; ++i) {
            const double n = S::entry(negative, i, replica), p = S::entry(positive, i, replica);
            if (n > 4 * p && n > 0.1 && t - S::entry(flipped, i, replica) >= interval) {
                turn(i, t, replica);
                ++count;
            }
        }
        return count;
    }

    NICA_RARE void turn(int i, double t, int replica) {
        flip(i, replica);
        S::entry(positive, i, replica) = S::entry(negative, i, replica) = 0;
        S::entry(flipped, i, replica) = t;
    }

    // ---- derived state

    double residual() { return keeps_inverse() ? identity_error<S>(N, B) : 0; }
    void invert_lateral() { invert<S>(B, N); }

    NICA_RARE void check() {
        if (!(residual() <= 1e-12)) invert_lateral();
    }

    NICA_RARE void restored(bool derived) {
        for (int i = D.n; i < D.lanes * S::width; ++i) activity[i] = 1;  // padding: no 0 / 0
        if (derived) N.restored();
        else if (keeps_inverse()) invert_lateral();
    }

    NICA_RARE int fields(Field* out, int replica = 0) {
        int n = 0;
        out[n++] = W_yh.field("w_yh", replica);
        out[n++] = B.field("lateral", replica);
        if (keeps_inverse()) out[n++] = N.field("inverse_yy", replica);
        out[n++] = S::field("activity", activity, replica);
        out[n++] = S::field("positive", positive, replica);
        out[n++] = S::field("negative", negative, replica);
        out[n++] = S::field("flipped", flipped, replica);
        out[n++] = S::field("fired", fired, replica);
        return n;
    }
};

// All eight active sets of three neurons at once: lane s lets neuron i fire when bit i of s is set.
// Cramer's rule in each lane; the set whose outputs are positive and whose silent neurons are held
// down is the answer. Returns false when round-off hides every feasible set.
class Enumeration {
  public:
    static constexpr int width = native_width, blocks = 8 / width;
    using Lane = LaneOf<width>::type;
    using Vector = Fixed<3>::Vector;
    using Row = LaneOf<4>::type;

    struct Sets {
        double on[3][8];                   // by neuron and set
        double fires[8][4], silent[8][4];  // by set and neuron
        constexpr Sets() : on(), fires(), silent() {
            for (int i = 0; i < 3; ++i)
                for (int s = 0; s < 8; ++s) {
                    on[i][s] = fires[s][i] = (s >> i) & 1;
                    silent[s][i] = 1 - on[i][s];
                }
        }
    };

    static NICA_INLINE bool solve(const Fixed<3>::Matrix& B, const Vector& c, Vector& y,
                                  Vector& slack) {
        alignas(64) static constexpr Sets sets;
        Lane r0[blocks], r1[blocks], r2[blocks];
        unsigned infeasible = 0;
        NICA_UNROLL for (int b = 0; b < blocks; ++b) {
            const Lane on0 = *reinterpret_cast<const Lane*>(&sets.on[0][b * width]);
            const Lane on1 = *reinterpret_cast<const Lane*>(&sets.on[1][b * width]);
            const Lane on2 = *reinterpret_cast<const Lane*>(&sets.on[2][b * width]);
            const Lane on01 = on0 * on1, on02 = on0 * on2, on12 = on1 * on2;
            const Lane b01 = on01 * B(0, 1), b02 = on02 * B(0, 2), b10 = on01 * B(1, 0);
            const Lane b12 = on12 * B(1, 2), b20 = on02 * B(2, 0), b21 = on12 * B(2, 1);
            // Cofactors of the masked matrix, whose diagonal is one.
            const Lane C00 = 1.0 - b12 * b21, C01 = b12 * b20 - b10, C02 = b10 * b21 - b20;
            const Lane C10 = b02 * b21 - b01, C11 = 1.0 - b02 * b20, C12 = b01 * b20 - b21;
            const Lane C20 = b01 * b12 - b02, C21 = b02 * b10 - b12, C22 = 1.0 - b01 * b10;
            const Lane det = C00 + b01 * C01 + b02 * C02;
            const Lane inverse = 1.0 / det;
            const Lane c0 = on0 * c[0], c1 = on1 * c[1], c2 = on2 * c[2];
            const Lane y0 = C00 * c0 + C10 * c1 + C20 * c2;  // times det
            const Lane y1 = C01 * c0 + C11 * c1 + C21 * c2;
            const Lane y2 = C02 * c0 + C12 * c1 + C22 * c2;
            // By how much a silent neuron is held down: B y - c, times det.
            const Lane s0 = B(0, 1) * y1 + B(0, 2) * y2 - c[0] * det;
            const Lane s1 = B(1, 0) * y0 + B(1, 2) * y2 - c[1] * det;
            const Lane s2 = B(2, 0) * y0 + B(2, 1) * y1 - c[2] * det;
            // What is positive in the solution: the output of a neuron that fires, the slack of another.
            r0[b] = y0 + (1.0 - on0) * s0;
            r1[b] = y1 + (1.0 - on1) * s1;
            r2[b] = y2 + (1.0 - on2) * s2;
            const Lane few = r0[b] < r1[b] ? r0[b] : r1[b], least = few < r2[b] ? few : r2[b];
            infeasible |= bits_negative(least) << (b * width);
            r0[b] *= inverse;
            r1[b] *= inverse;
            r2[b] *= inverse;
        }
        const unsigned feasible = ~infeasible & 255u;
        if (__builtin_expect(feasible == 0, 0)) return false;
        const int set = __builtin_ctz(feasible);
        const Row v = across(r0, r1, r2, set);
        put(v * *reinterpret_cast<const Row*>(sets.fires[set]), y);
        put(v * *reinterpret_cast<const Row*>(sets.silent[set]), slack);
        return true;
    }

  private:
    static NICA_INLINE void put(Row v, Vector& to) {
        static_assert(sizeof v == sizeof to.q, "three numbers are padded to four");
        std::memcpy(to.q, &v, sizeof v);
    }
};

template <> inline bool Separation<Fixed<3>>::keeps_inverse() const { return false; }

template <>
NICA_INLINE void Separation<Fixed<3>>::fixed_point(Activity2<Fixed<3>>& t, Pivoting&) {
    if (dynamics != exact) return sweep(t, tol, max_sweeps);
    if (!Enumeration::solve(B, t.c, t.y, t.slack)) sweep(t, 1e-15, 10000);
}

}  // namespace NICA_VARIANT
}  // namespace nica
