// Layer 1: eqs. fullFirst, fullFirstbar, fullFirstW. NumPy twin: nica/equations/whitening.py.
//
// The state is P = W_hg^-1 rather than W_hg (which is kept beside it, for export and as a check). Then
//   g = P W_hx x,  h = PT g                                                (fixed point of fullFirst)
// and learning W_hg <- (1 - rate) W_hg + rate dh dgT becomes, by Sherman and Morrison,
//   P <- (P - kappa v wT) / (1 - rate),  v = P dh,  w = PT dg,
//   kappa = c / (1 + c dg.v),            c = rate / (1 - rate).
// Nothing waits for dg.v, which is w.dh; and no product is needed for w: PT dg is h less PT g_bar, and what
// PT g_bar becomes when P learns follows from Sherman and Morrison too. So does the exact g_bar of the
// warm start. Round-off in these two recursions is wiped out by a product every few samples.
#pragma once

#include "api.hpp"
#include "lanes.hpp"

namespace nica {
namespace NICA_VARIANT {

constexpr int check_interval = 1024;       // learned samples between two checks of the inverses
constexpr double inverse_tolerance = 1e-12;  // beyond this error they are computed anew
constexpr int mean_interval = 64;       // learned samples between two computations of the means' images

// What one sample leaves behind between "settle" and "learn".
template <class S> struct Activity1 {
    typename S::Vector dx, u, g, e, h, dh, dg, v, w;
    Activity1(typename S::Size K, typename S::Size L, typename S::Size M)
        : dx(K), u(L), g(M), e(L), h(L), dh(L), dg(M), v(L), w(L) {}
};

template <class S> struct Whitening {
    using Vector = typename S::Vector;
    using Size = typename S::Size;
    using Scalar = typename S::Scalar;
    Size K, L;
    typename S::Matrix W_hx, W_hg;
    typename S::TwoWay P;
    Vector x_bar, h_bar, g_bar;
    Vector u_bar;  // W_hx x_bar, for exact means
    Vector r_bar;  // PT g_bar, for averaged means

    explicit Whitening(const Config& c)
        : K(c.k), L(c.l), W_hx(L, K), W_hg(L, L), P(L, L), x_bar(K), h_bar(L), g_bar(L), u_bar(L),
          r_bar(L) {}

    // ---- the paper: means of the activities are running averages

    NICA_INLINE void settle(const Vector& x, Activity1<S>& a) {
        S::multiply(W_hx, x, a.u);
        S::there_and_back(P, a.u, a.g, a.h);
    }

    NICA_INLINE void learn(const Vector& x, Activity1<S>& a, Scalar rate, Scalar mean_rate) {
        for (int q = 0; q < K.lanes; ++q) {
            x_bar.q[q] += mean_rate * (x.q[q] - x_bar.q[q]);
            a.dx.q[q] = x.q[q] - x_bar.q[q];
        }
        for (int q = 0; q < L.lanes; ++q) {
            h_bar.q[q] += mean_rate * (a.h.q[q] - h_bar.q[q]);
            g_bar.q[q] += mean_rate * (a.g.q[q] - g_bar.q[q]);
            r_bar.q[q] += mean_rate * (a.h.q[q] - r_bar.q[q]);
            a.dh.q[q] = a.h.q[q] - h_bar.q[q];
            a.dg.q[q] = a.g.q[q] - g_bar.q[q];
            a.w.q[q] = a.h.q[q] - r_bar.q[q];
        }
        S::multiply(P, a.dh, a.v);
        const Scalar growth = 1.0 / (1.0 - rate), kappa = update(a, rate, growth, a.w);
        if (__builtin_expect(!all_above(kappa, Scalar{}), 0)) return renew_means(false);
        const Scalar along = kappa * S::dot(L, a.v, g_bar);
        for (int q = 0; q < L.lanes; ++q) r_bar.q[q] = (r_bar.q[q] - along * a.w.q[q]) * growth;
    }

    // ---- warm start: exact means, h_bar = F x_bar with the weights as they are

    NICA_INLINE void settle_exact(const Vector& x, Activity1<S>& a) {
        for (int q = 0; q < K.lanes; ++q) a.dx.q[q] = x.q[q] - x_bar.q[q];
        S::multiply(W_hx, a.dx, a.u);
        S::there_and_back(P, a.u, a.g, a.e);
        const Scalar none = {}, present = S::dot(K, x, x) > none ? none + 1.0 : none;
        for (int q = 0; q < L.lanes; ++q)  // F 0 is 0, not round-off
            a.h.q[q] = present * (a.e.q[q] + h_bar.q[q]);
    }

    // Deviations from the new mean are (1 - mean_rate) times those from the old one, in every layer,
    // because the means are exact; and PT dg = dh for the same reason.
    NICA_INLINE void learn_exact(Activity1<S>& a, Scalar rate, Scalar mean_rate) {
        const Scalar rest = 1.0 - mean_rate;
        for (int q = 0; q < K.lanes; ++q) {
            x_bar.q[q] += mean_rate * a.dx.q[q];
            a.dx.q[q] *= rest;
        }
        for (int q = 0; q < L.lanes; ++q) {
            a.dh.q[q] = rest * a.e.q[q];
            a.dg.q[q] = rest * a.g.q[q];
        }
        S::multiply(P, a.dh, a.v);
        const Scalar along = rate * S::dot(K, a.dx, x_bar), keep = 1.0 - rate, growth = 1.0 / keep;
        for (int q = 0; q < L.lanes; ++q)
            u_bar.q[q] = keep * (u_bar.q[q] + mean_rate * a.u.q[q]) + along * a.dh.q[q];
        const Scalar kappa = update(a, rate, growth, a.dh);
        if (__builtin_expect(!all_above(kappa, Scalar{}), 0)) return renew_means(true);
        const Scalar more = (along - kappa * S::dot(L, a.dh, u_bar)) * growth;
        for (int q = 0; q < L.lanes; ++q) g_bar.q[q] += mean_rate * a.g.q[q] + more * a.v.q[q];
        S::multiply_transposed(P, g_bar, h_bar);
    }

    // All three weight matrices, by the rate; growth = 1 / (1 - rate), w = PT dg. Returns kappa, or 0 if P
    // was computed anew.
    NICA_INLINE Scalar update(Activity1<S>& a, Scalar rate, Scalar growth, const Vector& w) {
        const Scalar keep = 1.0 - rate, c = rate * growth;
        const Scalar scale = 1.0 + c * S::dot(L, w, a.dh);
        S::blend(W_hx, keep, rate, a.dh, a.dx);
        S::blend(W_hg, keep, rate, a.dh, a.dg);
        if (__builtin_expect(!all_above(scale, Scalar{} + 1e-6), 0)) {
            invert_weights();
            return Scalar{};
        }
        const Scalar kappa = c / scale;
        S::blend(P, growth, -growth * kappa, a.v, w);
        return kappa;
    }

    // What the recursions for the images of the means say, by products.
    NICA_RARE void renew_means(bool exact) {
        if (!exact) return S::multiply_transposed(P, g_bar, r_bar);
        S::multiply(P, u_bar, g_bar);
        S::multiply_transposed(P, g_bar, h_bar);
    }

    // ---- derived state

    NICA_RARE double residual() { return identity_error<S>(P, W_hg); }
    void invert_weights() { invert<S>(W_hg, P); }

    // The faster P changes, the sooner it errs. A check costs about as much as L samples.
    bool check_is_due(std::ptrdiff_t time, double rate) const {
        const int often = (rate > 1e-3 ? 16 : 64) * ((L.n + 15) / 16);
        return time % (rate > 3e-5 && often < check_interval ? often : check_interval) == 0;
    }
    NICA_RARE void check() {
        if (!(residual() <= inverse_tolerance)) invert_weights();
    }

    // The weights were written from outside, and what derives from them too, or not.
    NICA_RARE void restored(bool exact, bool derived) {
        if (derived) return P.restored();
        invert_weights();
        S::multiply(W_hx, x_bar, u_bar);
        renew_means(exact);
    }

    NICA_RARE int fields(Field* out, int replica = 0) {
        int n = 0;
        out[n++] = W_hx.field("w_hx", replica);
        out[n++] = W_hg.field("w_hg", replica);
        out[n++] = P.field("inverse_hg", replica);
        out[n++] = S::field("x_bar", x_bar, replica);
        out[n++] = S::field("h_bar", h_bar, replica);
        out[n++] = S::field("g_bar", g_bar, replica);
        out[n++] = S::field("u_bar", u_bar, replica);
        out[n++] = S::field("r_bar", r_bar, replica);
        return n;
    }
};

// Any l, m and alpha, and the Euler-integrated dynamics: the inverse of alpha I + W_hg W_gh is not a
// rank-one update away from the last one, so it is factorised for every sample. Written to be read.
struct GeneralWhitening {
    using S = Dynamic;
    using Vector = S::Vector;
    S::Size K, L, M;
    double alpha, tol;
    bool by_dynamics;
    int max_steps;
    S::Matrix W_hx, W_hg;
    S::Matrix A;  // Cholesky factor of alpha I + W_hg W_gh, by rows, lower
    Vector x_bar, h_bar, g_bar, u_bar;

    explicit GeneralWhitening(const Config& c)
        : K(c.k), L(c.l), M(c.m), alpha(c.alpha), tol(c.tol), by_dynamics(c.dynamics == ode),
          max_steps(c.max_sweeps), W_hx(L, K), W_hg(L, M), A(L, L), x_bar(K), h_bar(L), g_bar(M),
          u_bar(L) {}

    void factorise() {
        for (int i = 0; i < L.n; ++i)
            for (int j = 0; j <= i; ++j) {
                double s = (i == j ? alpha : 0) + S::dot(M, W_hg.row(i), W_hg.row(j));
                for (int c = 0; c < j; ++c) s -= A(i, c) * A(j, c);
                // a direction that the network has lost altogether stays finite
                entry(i, j) = i == j ? root(larger(s, 1e-300)) : s / A(j, j);
            }
    }
    double& entry(int i, int j) { return reinterpret_cast<aliasing_double*>(A.row(i))[j]; }

    void solve(const Vector& u, Vector& h) const {
        for (int i = 0; i < L.n; ++i) {
            double s = u[i];
            for (int c = 0; c < i; ++c) s -= A(i, c) * h[c];
            h[i] = s / A(i, i);
        }
        for (int i = L.n - 1; i >= 0; --i) {
            double s = h[i];
            for (int c = i + 1; c < L.n; ++c) s -= A(c, i) * h[c];
            h[i] = s / A(i, i);
        }
    }

    // Both populations move at once, by half the largest stable step.
    void integrate(const Vector& u, Vector& h, Vector& g, Vector& dh, Vector& dg) {
        double squares = 0, largest = 0;
        for (int i = 0; i < L.n; ++i) {
            squares += S::dot(M, W_hg.row(i), W_hg.row(i));
            largest = larger(largest, magnitude(u[i]));
            h[i] = 0;
        }
        for (int j = 0; j < M.n; ++j) g[j] = 0;
        const double step = 0.5 * (1 + alpha) / (alpha + squares), limit = tol * (1 + largest);
        for (int s = 0; s < max_steps; ++s) {
            S::multiply(W_hg, g, dh);
            S::multiply_transposed(W_hg, h, dg);
            double fastest = 0;
            for (int i = 0; i < L.n; ++i) {
                dh[i] = u[i] - dh[i] - alpha * h[i];
                fastest = larger(fastest, magnitude(dh[i]));
                h[i] += step * dh[i];
            }
            for (int j = 0; j < M.n; ++j) {
                dg[j] -= g[j];
                fastest = larger(fastest, magnitude(dg[j]));
                g[j] += step * dg[j];
            }
            if (fastest <= limit) break;
        }
    }

    void respond(Activity1<S>& a, Vector& h) {
        if (by_dynamics) return integrate(a.u, h, a.g, a.dh, a.dg);
        solve(a.u, h);
        S::multiply_transposed(W_hg, h, a.g);
    }

    void settle(const Vector& x, Activity1<S>& a) {
        if (!by_dynamics) factorise();
        S::multiply(W_hx, x, a.u);
        respond(a, a.h);
    }

    void learn(const Vector& x, Activity1<S>& a, double rate, double mean_rate) {
        for (int j = 0; j < K.n; ++j) {
            x_bar[j] += mean_rate * (x[j] - x_bar[j]);
            a.dx[j] = x[j] - x_bar[j];
        }
        for (int i = 0; i < L.n; ++i) {
            h_bar[i] += mean_rate * (a.h[i] - h_bar[i]);
            a.dh[i] = a.h[i] - h_bar[i];
        }
        for (int j = 0; j < M.n; ++j) {
            g_bar[j] += mean_rate * (a.g[j] - g_bar[j]);
            a.dg[j] = a.g[j] - g_bar[j];
        }
        update(a, rate);
    }

    void settle_exact(const Vector& x, Activity1<S>& a) {
        factorise();
        S::multiply(W_hx, x_bar, u_bar);
        solve(u_bar, h_bar);
        for (int j = 0; j < K.n; ++j) a.dx[j] = x[j] - x_bar[j];
        S::multiply(W_hx, a.dx, a.u);
        respond(a, a.e);
        const double present = S::dot(K, x, x) > 0;
        for (int i = 0; i < L.n; ++i) a.h[i] = present * (a.e[i] + h_bar[i]);
    }

    void learn_exact(Activity1<S>& a, double rate, double mean_rate) {
        const double rest = 1 - mean_rate;
        for (int j = 0; j < K.n; ++j) {
            x_bar[j] += mean_rate * a.dx[j];
            a.dx[j] *= rest;
        }
        for (int i = 0; i < L.n; ++i) a.dh[i] = rest * a.e[i];
        for (int j = 0; j < M.n; ++j) a.dg[j] = rest * a.g[j];
        update(a, rate);
    }

    void update(Activity1<S>& a, double rate) {
        S::blend(W_hx, 1 - rate, rate, a.dh, a.dx);
        S::blend(W_hg, 1 - rate, rate, a.dh, a.dg);
        W_hg.catch_up();
    }

    // Nothing derived is kept.
    double residual() const { return 0; }
    bool check_is_due(std::ptrdiff_t, double) const { return false; }
    void check() {}
    void renew_means(bool) {}
    void restored(bool, bool) {}

    NICA_RARE int fields(Field* out) {
        int n = 0;
        out[n++] = W_hx.field("w_hx");
        out[n++] = W_hg.field("w_hg");
        out[n++] = {"x_bar", &x_bar[0], K.n, 1, 1, 1};
        out[n++] = {"h_bar", &h_bar[0], L.n, 1, 1, 1};
        out[n++] = {"g_bar", &g_bar[0], M.n, 1, 1, 1};
        return n;
    }
};

}  // namespace NICA_VARIANT
}  // namespace nica
