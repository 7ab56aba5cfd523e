// Layer 2: eqs. NSMdynamics, fullNSMW, activitydep, timedep. NumPy twin: nica/equations/nsm.py.
//
// The fixed point y = max(c - W_yy y, 0), c = W_yh h, is a linear complementarity problem in
// B = I + W_yy. The state keeps N = B^-1 beside B: most outputs are right in y = N c already, and the
// few that come out negative (the set Z) are put to zero by solving the small system N_ZZ s = -y_Z.
// Learning, B <- diag(1 - e) B + b yT with b = y/D, e = y b, changes N by a column scaling and rank one.
// With three outputs all eight active sets are tried at once, in lanes, from B alone.
#pragma once

#include "api.hpp"
#include "lanes.hpp"

namespace nica {
namespace NICA_VARIANT {

template <class S> struct Activity2 {
    typename S::Vector c, y, slack;  // drive; outputs; by how much a silent neuron is held down
    typename S::Vector keep, beta, stretch, a, b, scaled;
    explicit Activity2(typename S::Size D)
        : c(D), y(D), slack(D), keep(D), beta(D), stretch(D), a(D), b(D), scaled(D) {}
};

// Workspace of the block pivoting, for n outputs.
struct Pivoting {
    double *A, *s;
    int *set, *member;
    explicit Pivoting(int n)
        : A(static_cast<double*>(std::malloc(sizeof(double) * (std::size_t(n) * n + n + 8)))),
          s(A + std::size_t(n) * n), set(static_cast<int*>(std::malloc(sizeof(int) * 2 * (n + 1)))),
          member(set + n) {}
    ~Pivoting() {
        std::free(A);
        std::free(set);
    }
    Pivoting(const Pivoting&) = delete;
    Pivoting& operator=(const Pivoting&) = delete;
};

template <class S> struct Separation {
    using Vector = typename S::Vector;
    using Size = typename S::Size;
    using Lane = typename S::Lane;
    Size L, D;
    typename S::Matrix W_yh, B;
    typename S::TwoWay N;
    Vector activity, positive, negative, flipped, fired;
    int dynamics, max_sweeps;
    double tol;
    static constexpr bool enumerated = false;

    explicit Separation(const Config& c)
        : L(c.l), D(c.d), W_yh(D, L), B(D, D), N(D, D), activity(D), positive(D), negative(D),
          flipped(D), fired(D), dynamics(c.dynamics), max_sweeps(c.max_sweeps), tol(c.tol) {}

    bool keeps_inverse() const { return dynamics == exact; }

    // ---- settle

    NICA_INLINE void settle(const Vector& h, Activity2<S>& t, Pivoting& p) const {
        S::multiply(W_yh, h, t.c);
        fixed_point(t, p);
    }

    NICA_INLINE void fixed_point(Activity2<S>& t, Pivoting& p) const {
        if (dynamics != exact) return sweep(t, tol, max_sweeps);
        S::multiply(N, t.c, t.y);
        bool feasible = true;
        for (int i = 0; i < D.n; ++i) feasible &= t.y[i] >= 0;
        for (int q = 0; q < D.lanes; ++q) t.slack.q[q] = Lane{};
        if (!feasible) pivot(t, p);
    }

    // Coordinate descent, to the letter: neurons one by one, each with the newest activities.
    void sweep(Activity2<S>& t, double tolerance, int sweeps_at_most) const {
        double largest = 0;
        for (int i = 0; i < D.n; ++i) {
            t.y[i] = 0;
            largest = larger(largest, magnitude(t.c[i]));
        }
        const double limit = tolerance * (1 + largest);
        for (int s = 0; s < sweeps_at_most; ++s) {
            double moved = 0;
            for (int i = 0; i < D.n; ++i) {
                double net = t.c[i] + t.y[i];
                for (int j = 0; j < D.n; ++j) net -= B(i, j) * t.y[j];
                t.slack[i] = net < 0 ? -net : 0;
                const double y = net > 0 ? net : 0;
                moved = larger(moved, magnitude(y - t.y[i]));
                t.y[i] = y;
            }
            if (moved <= limit) break;
        }
    }

    // Block principal pivoting on the set Z of silent neurons. Guards: as long as the number of wrong
    // signs falls, whole blocks change; after three rounds without progress single (Bland) pivots;
    // if those do not end either, coordinate sweeps.
    __attribute__((noinline)) void pivot(Activity2<S>& t, Pivoting& p) const {
        const int n = D.n;
        double scale = 0;
        for (int i = 0; i < n; ++i) {
            p.s[i] = t.y[i];  // the solution with nobody silent
            p.member[i] = t.y[i] < 0;
            scale = larger(scale, magnitude(t.y[i]));
        }
        const double tiny = 1e-14 * scale;
        int best = n + 1, patience = 3;
        for (int round = 0; round < 20 + 2 * n; ++round) {
            int z = 0;
            for (int i = 0; i < n; ++i)
                if (p.member[i]) p.set[z++] = i;
            for (int a = 0; a < z; ++a) {
                const int i = p.set[a];
                for (int b = 0; b < z; ++b) p.A[a * n + b] = N(i, p.set[b]);
                t.scaled[a] = -p.s[i];
            }
            if (!solve_in_place(p.A, n, &t.scaled[0], z)) break;
            for (int i = 0; i < n; ++i) {
                t.slack[i] = 0;
                t.a[i] = 0;
            }
            for (int a = 0; a < z; ++a) t.slack[p.set[a]] = t.scaled[a];
            S::multiply(N, t.slack, t.y);
            int wrong = 0, last = -1;
            for (int i = 0; i < n; ++i) {
                t.y[i] += p.s[i];
                const bool bad = p.member[i] ? t.slack[i] < 0 : t.y[i] < -tiny;
                if (bad) {
                    ++wrong;
                    last = i;
                }
                t.a[i] = bad;
            }
            if (!wrong) {
                for (int i = 0; i < n; ++i)
                    if (p.member[i] || t.y[i] < 0) t.y[i] = 0;
                return;
            }
            if (wrong < best) {
                best = wrong;
                patience = 3;
            } else {
                --patience;
            }
            if (patience >= 0) {
                for (int i = 0; i < n; ++i) p.member[i] ^= t.a[i] != 0;
            } else {
                p.member[last] ^= 1;
            }
        }
        sweep(t, 1e-15, 10000);
    }

    // ---- learn: a sample of weight w, with forgetting and floor, or with a given D in time

    NICA_INLINE void learn(const Vector& h, Activity2<S>& t, double w, double forgetting,
                           double floor, bool in_time) {
        for (int q = 0; q < D.lanes; ++q) {
            const Lane y = t.y.q[q], one = y - y + 1.0;
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
        S::multiply(N, t.scaled, t.a);
        S::multiply_transposed(N, t.y, t.b);
        const double along = 1 + S::dot(D, t.y, t.a);
        if (__builtin_expect(!(along > 1e-6 && along < 1e6), 0)) return invert_lateral();
        const double inverse = 1 / along;
        for (int q = 0; q < D.lanes; ++q) t.b.q[q] *= t.stretch.q[q] * inverse;
        S::scale_columns(N, t.stretch, t.a, t.b);
    }

    // Running averages of what a neuron emits and of what holds it below zero.
    NICA_INLINE void watch(const Activity2<S>& t, double rate) {
        for (int q = 0; q < D.lanes; ++q) {
            positive.q[q] += rate * (t.y.q[q] * t.y.q[q] - positive.q[q]);
            negative.q[q] += rate * (t.slack.q[q] * t.slack.q[q] - negative.q[q]);
        }
    }

    void flip(int i) {
        Field f = W_yh.field("");
        for (int j = 0; j < L.n; ++j) {
            double& w = f.data[i * f.row_stride + j * f.column_stride];
            w = -w;
        }
    }

    bool note_fired(const Activity2<S>& t) {
        bool all = true;
        for (int i = 0; i < D.n; ++i) {
            if (t.y[i] > 0) fired[i] = 1;
            all &= fired[i] != 0;
        }
        return all;
    }

    void flip_silent() {
        for (int i = 0; i < D.n; ++i)
            if (fired[i] == 0) flip(i);
    }

    int revive(double t, double interval, bool x_not_zero) {
        int count = 0;
        for (int i = 0; i < D.n; ++i) {
            const bool lost = negative[i] > 4 * positive[i] && negative[i] > 0.1 &&
                              t - flipped[i] >= interval;
            if (lost || (fired[i] == 0 && x_not_zero)) {
                flip(i);
                positive[i] = negative[i] = 0;
                flipped[i] = t;
                ++count;
            }
        }
        return count;
    }

    // ---- derived state

    double residual() const { return keeps_inverse() ? identity_error(N, B, D.n) : 0; }

    void invert_lateral() {
        double* work = static_cast<double*>(std::malloc(sizeof(double) * 2 * D.n * D.n));
        if (invert(B.field(""), N.field(""), work)) N.restored();
        std::free(work);
    }

    void check() {
        if (!(residual() <= 1e-12)) invert_lateral();
    }

    void restored(bool derived) {
        for (int q = 0; q < D.lanes; ++q) {  // padding must not divide zero by zero
            const Lane zero = activity.q[q] - activity.q[q];
            activity.q[q] = activity.q[q] > zero ? activity.q[q] : zero + 1.0;
        }
        if (derived) N.restored();
        else if (keeps_inverse()) invert_lateral();
    }

    int fields(Field* out) {
        int n = 0;
        out[n++] = W_yh.field("w_yh");
        out[n++] = B.field("lateral");
        if (keeps_inverse()) out[n++] = N.field("inverse_yy");
        out[n++] = {"activity", &activity[0], D.n, 1, 1, 1};
        out[n++] = {"positive", &positive[0], D.n, 1, 1, 1};
        out[n++] = {"negative", &negative[0], D.n, 1, 1, 1};
        out[n++] = {"flipped", &flipped[0], D.n, 1, 1, 1};
        out[n++] = {"fired", &fired[0], D.n, 1, 1, 1};
        return n;
    }
};

// All eight active sets of three neurons at once: lane s lets neuron i fire when bit i of s is set.
// Cramer's rule in each lane; the set whose outputs are positive and whose silent neurons are held
// down is the answer. Returns false when round-off hides every feasible set.
struct Enumeration {
    using Lane8 = LaneOf<8>::type;

    static NICA_INLINE bool solve(const Fixed<3>::Matrix& B, const Fixed<3>::Vector& c,
                                  Fixed<3>::Vector& y, Fixed<3>::Vector& slack) {
        const Lane8 on0 = {0, 1, 0, 1, 0, 1, 0, 1}, on1 = {0, 0, 1, 1, 0, 0, 1, 1},
                    on2 = {0, 0, 0, 0, 1, 1, 1, 1};
        const Lane8 b01 = on0 * on1 * B(0, 1), b02 = on0 * on2 * B(0, 2);
        const Lane8 b10 = on0 * on1 * B(1, 0), b12 = on1 * on2 * B(1, 2);
        const Lane8 b20 = on0 * on2 * B(2, 0), b21 = on1 * on2 * B(2, 1);
        // Cofactors of the masked matrix, whose diagonal is one.
        const Lane8 C00 = 1 - b12 * b21, C01 = b12 * b20 - b10, C02 = b10 * b21 - b20;
        const Lane8 C10 = b02 * b21 - b01, C11 = 1 - b02 * b20, C12 = b01 * b20 - b21;
        const Lane8 C20 = b01 * b12 - b02, C21 = b02 * b10 - b12, C22 = 1 - b01 * b10;
        const Lane8 det = C00 + b01 * C01 + b02 * C02;
        const Lane8 c0 = on0 * c[0], c1 = on1 * c[1], c2 = on2 * c[2];
        const Lane8 y0 = C00 * c0 + C10 * c1 + C20 * c2;  // times det
        const Lane8 y1 = C01 * c0 + C11 * c1 + C21 * c2;
        const Lane8 y2 = C02 * c0 + C12 * c1 + C22 * c2;
        // Held down by B y - c, times det.
        const Lane8 s0 = B(0, 1) * y1 + B(0, 2) * y2 + y0 - c[0] * det;
        const Lane8 s1 = B(1, 0) * y0 + B(1, 2) * y2 + y1 - c[1] * det;
        const Lane8 s2 = B(2, 0) * y0 + B(2, 1) * y1 + y2 - c[2] * det;
        const Lane8 q0 = on0 > 0.5 ? y0 : s0, q1 = on1 > 0.5 ? y1 : s1, q2 = on2 > 0.5 ? y2 : s2;
        Lane8 worst = q0 < q1 ? q0 : q1;
        worst = worst < q2 ? worst : q2;
        const Lane8 inverse = 1.0 / det;
        const int lane = first_feasible(worst, det);
        if (lane < 0) return false;
        const Lane8 r0 = q0 * inverse, r1 = q1 * inverse, r2 = q2 * inverse;
        const Fixed<3>::Vector zero;
        y = slack = zero;
        const double v0 = r0[lane], v1 = r1[lane], v2 = r2[lane];
        y[0] = on0[lane] > 0.5 ? v0 : 0;
        y[1] = on1[lane] > 0.5 ? v1 : 0;
        y[2] = on2[lane] > 0.5 ? v2 : 0;
        slack[0] = v0 - y[0];
        slack[1] = v1 - y[1];
        slack[2] = v2 - y[2];
        return true;
    }

    static NICA_INLINE int first_feasible(Lane8 worst, Lane8 det) {
        for (int s = 0; s < 8; ++s)
            if (worst[s] >= 0 && det[s] > 0) return s;
        return -1;
    }
};

template <> inline bool Separation<Fixed<3>>::keeps_inverse() const { return false; }

template <>
NICA_INLINE void Separation<Fixed<3>>::fixed_point(Activity2<Fixed<3>>& t, Pivoting&) const {
    if (dynamics != exact) return sweep(t, tol, max_sweeps);
    if (!Enumeration::solve(B, t.c, t.y, t.slack)) sweep(t, 1e-15, 10000);
}

}  // namespace NICA_VARIANT
}  // namespace nica
