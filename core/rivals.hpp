// The learning rules of the algorithms that the paper compares itself with (section 4), all of the form
// W <- W + rate (...). NumPy twins: nica/equations/rivals.py. A rule knows how to answer a sample and how
// to learn from one; the network around it is in rivals.cpp.
#pragma once

#include "api.hpp"
#include "lanes.hpp"

namespace nica {
namespace NICA_VARIANT {

constexpr double kurtosis_memory = 1000;  // samples; as in equations/rivals.py

// A sample on its way through a rule: as it came, and less the mean of all samples so far.
template <class S> struct Sample {
    typename S::Vector z, dz;
    explicit Sample(typename S::Size K) : z(K), dz(K) {}
};

// Outputs that know neither their sign nor their size: u = W dz. What comes out is W z, mean kept, with the
// sign that makes its mean positive.
template <class S> struct Linear {
    using Vector = typename S::Vector;
    using Size = typename S::Size;
    static constexpr bool wants_white = false;
    Size D, K;
    typename S::TwoWay W;
    Vector z_bar, y_bar, u, f, v;

    explicit Linear(const Config& c)
        : D(c.d), K(c.l), W(D, K), z_bar(K), y_bar(D), u(D), f(D), v(K) {}

    void respond(const Vector& z, Vector& y) {
        S::multiply(W, z_bar, y_bar);
        S::multiply(W, z, y);
        for (int i = 0; i < D.n; ++i) y[i] = y_bar[i] < 0 ? -y[i] : y[i];
    }
    void cube() {
        for (int q = 0; q < D.lanes; ++q) f.q[q] = u.q[q] * u.q[q] * u.q[q];
    }
};

// y = max(W z, 0);  W <- W + rate (y zT - y yT W). (Plumbley and Oja 2004)
template <class S> struct NonnegativePCA : Linear<S> {
    using Vector = typename S::Vector;
    static constexpr bool wants_white = true;
    Vector fired, rest;
    bool flip;
    explicit NonnegativePCA(const Config& c)
        : Linear<S>(c), fired(this->D), rest(this->K), flip(c.flip) {}

    void respond(const Vector& z, Vector& y) {
        S::multiply(this->W, z, y);
        for (int q = 0; q < this->D.lanes; ++q) y.q[q] = larger(y.q[q], y.q[q] - y.q[q]);
    }
    void learn(const Sample<S>& s, double rate, double) {
        respond(s.z, this->u);
        S::multiply_transposed(this->W, this->u, this->v);
        for (int q = 0; q < this->K.lanes; ++q) rest.q[q] = s.z.q[q] - this->v.q[q];
        S::blend(this->W, 1, rate, this->u, rest);
        if (flip && S::dot(this->K, s.z, s.z) > 0) flip_silent();
    }
    void flip_silent() {
        bool all = true;
        for (int i = 0; i < this->D.n; ++i) {
            if (this->u[i] > 0) fired[i] = 1;
            all &= fired[i] != 0;
        }
        if (all) return;
        Field f = this->W.field("");
        for (int i = 0; i < this->D.n; ++i)
            for (int j = 0; fired[i] == 0 && j < this->K.n; ++j) {
                double& w = f.data[i * f.row_stride + j * f.column_stride];
                w = -w;
            }
        this->W.restored();
    }
    double residual() { return 0; }
    void restored(bool) { this->W.restored(); }
    int fields(Field* out) {
        out[0] = this->W.field("w");
        out[1] = {"fired", &fired[0], this->D.n, 1, 1, 1};
        return 2;
    }
};

// u = W dz;  W <- orthonormal(W + rate diag(sign) u^3 dzT), the sign that of the running kurtosis of u.
// (Hyvarinen and Oja 1998)
//
// The rows of W are orthonormal, so that with a = rate sign u^3 and A = W + a dzT
//   A AT = I + a uT + u aT + |dz|^2 a aT
// differs from I in the plane of u and a only: its inverse root is that of a matrix of 2 x 2.
template <class S> struct FastICA : Linear<S> {
    using Vector = typename S::Vector;
    static constexpr bool wants_white = true;
    Vector kurtosis, a, e1, e2, r1, r2, W1, W2;
    explicit FastICA(const Config& c)
        : Linear<S>(c), kurtosis(this->D), a(this->D), e1(this->D), e2(this->D), r1(this->D),
          r2(this->D), W1(this->K), W2(this->K) {}

    void learn(const Sample<S>& s, double rate, double t) {
        S::multiply(this->W, s.dz, this->u);
        this->cube();
        const double share = larger(1 / t, 1 / kurtosis_memory);
        for (int i = 0; i < this->D.n; ++i) {
            const double uu = this->u[i] * this->u[i];
            kurtosis[i] += share * (uu * uu - 3 * uu - kurtosis[i]);
            a[i] = kurtosis[i] < 0 ? -rate * this->f[i] : rate * this->f[i];
        }
        const double shrunk = turn(s.dz);
        if (shrunk < 0.4 || std::ptrdiff_t(t) % 64 == 0)
            for (int i = 0; i < 20 && straighten() > 1e-12; ++i) {}
    }

    // Returns a bound below the smallest eigenvalue of A AT: round-off grows by its inverse.
    double turn(const Vector& dz) {
        const Vector& u = this->u;
        const double uu = S::dot(this->D, u, u), zz = S::dot(this->K, dz, dz);
        if (!(uu > 0)) return 1;
        const double length = root(uu), a1 = S::dot(this->D, a, u) / length;
        for (int i = 0; i < this->D.n; ++i) {
            e1[i] = u[i] / length;
            e2[i] = a[i] - a1 * e1[i];
        }
        const double a2 = root(S::dot(this->D, e2, e2));
        for (int i = 0; i < this->D.n; ++i) e2[i] = a2 > 0 ? e2[i] / a2 : 0;
        // B = I + M in the plane, and R = B^(-1/2) - I
        const double B11 = 1 + 2 * a1 * length + zz * a1 * a1, B12 = length * a2 + zz * a1 * a2;
        const double B22 = 1 + zz * a2 * a2, along = 1 + a1 * length;
        const double beside = zz > uu ? (zz - uu) * (a1 * a1 + a2 * a2) : 0;
        const double det = root(along * along + beside), trace = root(B11 + B22 + 2 * det);
        if (!(det > 1e-8 * (B11 + B22))) return 1;  // A has lost a direction: no telling which
        const double scale = 1 / (det * trace);
        const double R11 = scale * (B22 + det) - 1, R12 = -scale * B12, R22 = scale * (B11 + det) - 1;
        // A += e1 (R11 e1 + R12 e2)T A + e2 (R12 e1 + R22 e2)T A
        S::multiply_transposed(this->W, e1, W1);
        S::multiply_transposed(this->W, e2, W2);
        for (int q = 0; q < this->K.lanes; ++q) {
            W1.q[q] += a1 * dz.q[q];
            W2.q[q] += a2 * dz.q[q];
        }
        for (int q = 0; q < this->D.lanes; ++q) {
            r1.q[q] = R11 * e1.q[q] + R12 * e2.q[q];
            r2.q[q] = R12 * e1.q[q] + R22 * e2.q[q];
        }
        S::blend(this->W, 1, 1, a, dz);
        S::blend(this->W, 1, 1, r1, W1);
        S::blend(this->W, 1, 1, r2, W2);
        return det * det / (B11 + B22);
    }

    // Round-off: one step of Newton and Schulz, W <- W - (W WT - I) W / 2. Returns how far off W was.
    double straighten() {
        Field w = this->W.field("");
        const int d = this->D.n, k = this->K.n;
        double* work = static_cast<double*>(std::malloc(sizeof(double) * d * (d + k)));
        double* old = work + d * d;
        double worst = 0;
        for (int i = 0; i < d; ++i)
            for (int j = 0; j < k; ++j) old[i * k + j] = w.data[i * w.row_stride + j * w.column_stride];
        for (int i = 0; i < d; ++i)
            for (int l = 0; l < d; ++l) {
                double s = i == l ? -1 : 0;
                for (int j = 0; j < k; ++j) s += old[i * k + j] * old[l * k + j];
                worst = larger(worst, magnitude(s));
                work[i * d + l] = s / 2;
            }
        for (int i = 0; i < d; ++i)
            for (int j = 0; j < k; ++j) {
                double s = old[i * k + j];
                for (int l = 0; l < d; ++l) s -= work[i * d + l] * old[l * k + j];
                w.data[i * w.row_stride + j * w.column_stride] = s;
            }
        std::free(work);
        this->W.restored();
        return worst;
    }
    double residual() {
        this->W.catch_up();
        double worst = 0;
        for (int i = 0; i < this->D.n; ++i)
            for (int l = 0; l < this->D.n; ++l) {
                double s = i == l ? -1 : 0;
                for (int j = 0; j < this->K.n; ++j) s += this->W(i, j) * this->W(l, j);
                worst = magnitude(s) <= worst ? worst : magnitude(s);
            }
        return worst;
    }
    void restored(bool) { this->W.restored(); }
    int fields(Field* out) {
        out[0] = this->W.field("w");
        out[1] = {"kurtosis", &kurtosis[0], this->D.n, 1, 1, 1};
        return 2;
    }
};

// u = W dz;  W <- W + rate (I - u^3 uT) W. (Bell and Sejnowski 1995; Cichocki et al. 1996)
// Outputs are scaled to unit variance by a running average of u^2, one per neuron.
template <class S> struct Infomax : Linear<S> {
    using Vector = typename S::Vector;
    Vector variance;
    explicit Infomax(const Config& c) : Linear<S>(c), variance(this->D) {}

    void respond(const Vector& z, Vector& y) {
        Linear<S>::respond(z, y);
        for (int i = 0; i < this->D.n; ++i) y[i] /= root(variance[i]);
    }
    void learn(const Sample<S>& s, double rate, double t) {
        S::multiply(this->W, s.dz, this->u);
        this->cube();
        const double share = larger(1 / (t + 1), rate);
        for (int i = 0; i < this->D.n; ++i)
            variance[i] += share * (this->u[i] * this->u[i] - variance[i]);
        S::multiply_transposed(this->W, this->u, this->v);
        S::blend(this->W, 1 + rate, -rate, this->f, this->v);
    }
    double residual() { return 0; }
    void restored(bool) { this->W.restored(); }
    int fields(Field* out) {
        out[0] = this->W.field("w");
        out[1] = {"variance", &variance[0], this->D.n, 1, 1, 1};
        return 2;
    }
};

// u = W dz;  lateral relaxation v <- v + rho (u - Q v), which rests at Q^-1 u;  W <- W + rate (v - u^3) dzT,
// Q <- the running average of u uT. (Linsker 1997, whose v is ours divided by rho)
// Outputs are scaled to unit variance by the diagonal of Q.
template <class S> struct Linsker : Linear<S> {
    using Vector = typename S::Vector;
    typename S::TwoWay Q, P;  // P = Q^-1
    Vector settled, moved;
    bool by_dynamics;
    int max_steps;
    double tol;
    explicit Linsker(const Config& c)
        : Linear<S>(c), Q(this->D, this->D), P(this->D, this->D), settled(this->D), moved(this->D),
          by_dynamics(c.dynamics != exact), max_steps(c.max_sweeps), tol(c.tol) {}

    void respond(const Vector& z, Vector& y) {
        Linear<S>::respond(z, y);
        Q.catch_up();
        for (int i = 0; i < this->D.n; ++i) y[i] /= root(Q(i, i));
    }

    void relax() {
        Q.catch_up();
        double trace = 0, largest = 0;
        for (int i = 0; i < this->D.n; ++i) {
            trace += Q(i, i);
            largest = larger(largest, magnitude(this->u[i]));
            settled[i] = 0;
        }
        const double rho = 1 / trace, limit = tol * (1 + largest);
        for (int s = 0; s < max_steps; ++s) {
            S::multiply(Q, settled, moved);
            double fastest = 0;
            for (int i = 0; i < this->D.n; ++i) {
                moved[i] = this->u[i] - moved[i];
                fastest = larger(fastest, magnitude(moved[i]));
                settled[i] += rho * moved[i];
            }
            if (fastest <= limit) break;
        }
    }

    void learn(const Sample<S>& s, double rate, double t) {
        Vector& u = this->u;
        S::multiply(this->W, s.dz, u);
        this->cube();
        const double share = larger(1 / (t + 1), rate);
        if (by_dynamics) relax();
        else S::multiply(P, u, settled);
        for (int q = 0; q < this->D.lanes; ++q) this->f.q[q] = settled.q[q] - this->f.q[q];
        S::blend(this->W, 1, rate, this->f, s.dz);
        S::blend(Q, 1 - share, share, u, u);
        if (by_dynamics) return;
        const double c = share / (1 - share);
        S::blend(P, 1 + c, -(1 + c) * c / (1 + c * S::dot(this->D, u, settled)), settled, settled);
        if (std::ptrdiff_t(t) % 1024 == 0 && !(residual() <= 1e-12)) invert_lateral();
    }
    double residual() { return by_dynamics ? 0 : identity_error<S>(P, Q); }
    void invert_lateral() { invert<S>(Q, P); }
    void restored(bool derived) {
        this->W.restored();
        Q.restored();
        if (by_dynamics) return;
        if (derived) P.restored();
        else invert_lateral();
    }
    int fields(Field* out) {
        int n = 0;
        out[n++] = this->W.field("w");
        out[n++] = Q.field("lateral");
        if (!by_dynamics) out[n++] = P.field("inverse");
        return n;
    }
};

}  // namespace NICA_VARIANT
}  // namespace nica
