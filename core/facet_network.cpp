// One sample at a time through the network of facet_network.hpp. Compiled once for each instruction set.
#include "facet_network.hpp"

#include <cmath>

#include "create.hpp"
#include "dense.hpp"
#include "held.hpp"
#include "network.hpp"

namespace nica {
namespace NICA_VARIANT {

template <int width> class FacetNetwork final : public Network {
  public:
    NICA_RARE explicit FacetNetwork(const Config& c)
        : config(c), d(c.d), k(c.k), lanes(A::lanes(c.d)), tilts(c.k > c.d && c.whiten), gain(k), last(k),
          x_bar(k), x(k), e(k), p(k),
          push(k), F(d, k), Ft(k, d), G(k, d), S(d, d), R(d, d), K(d, d), N(d, d), Nt(d, d), polished(d, d),
          b(d), z(d), y(d), sigma(d), mu(d), floor(d), spike(d), outlier(d), bulk(d), centre(d), spread(d), m(d), kappa(d),
          scale(d), real(d), by_m(d), curve(d), n0(d), n1(d), n2(d), noise(d), arrived(d), c(d), share(d),
          Nc(d), yN(d), v(d), Sv(d), held(c.k, c.hold) {
        for (int i = 0; i < d; ++i) real[i] = 1;
        for (int q = 0; q < lanes; ++q)
            sigma.q[q] = mu.q[q] = centre.q[q] = spread.q[q] = by_m.q[q] = curve.q[q] = m.q[q] = kappa.q[q] = n0.q[q] = n1.q[q] =
                arrived.q[q] = noise.q[q] = Lane{} + 1.0;
        now.target = c.hold;
        prepare();
    }
    ~FacetNetwork() override { delete[] rows; }

    Outcome run(const double* X, long n, double* Y) override {
        const double* before = &last[0];
        Outcome outcome = {n, done};
        for (long row = 0; row < n && outcome.event == done; ++row) {
            const double* sample = X + row * k;
            double* out = Y ? Y + row * d : nullptr;
            const bool same = now.seen > 0 && equal(sample, before);
            before = sample;
            now.repeats = same ? now.repeats + 1 : 0;
            now.seen += 1;
            if (now.started == 0) {
                for (int i = 0; out && i < d; ++i) out[i] = 0;
                if (!same && hold(sample)) outcome.event = held_enough;
            } else {
                settle(sample);
                if (out) emit(out);
                if (now.repeats < config.idle && judge(sample, same)) outcome.event = held_enough;
            }
            outcome.rows = row + 1;
        }
        if (outcome.rows > 0)
            for (int j = 0; j < k; ++j) last[j] = X[(outcome.rows - 1) * k + j];
        if (now.poison != 0) outcome.event = overflow;
        return outcome;
    }

    void apply(const double* X, long n, double* Y) override {
        for (long row = 0; row < n; ++row) {
            settle(X + row * k);
            emit(Y + row * d);
        }
    }

    NICA_RARE int fields(Field* out) override {
        int n = 0;
        out[n++] = F.field("w_hx");
        out[n++] = K.field("lateral");
        out[n++] = N.field("inverse");
        out[n++] = b.field("intercept");
        out[n++] = sigma.field("sigma");
        out[n++] = mu.field("mu");
        out[n++] = spike.field("spike");
        out[n++] = outlier.field("outlier");
        out[n++] = bulk.field("bulk");
        out[n++] = centre.field("centre");
        out[n++] = spread.field("spread");
        out[n++] = floor.field("floor");
        out[n++] = n0.field("n0");
        out[n++] = n1.field("n1");
        out[n++] = n2.field("n2");
        out[n++] = noise.field("noise");
        out[n++] = arrived.field("arrived");
        out[n++] = m.field("power");
        out[n++] = kappa.field("curvature");
        out[n++] = by_m.field("presynaptic");
        out[n++] = curve.field("postsynaptic");
        out[n++] = scale.field("scale");
        if (tilts) {
            out[n++] = G.field("mixing");
            out[n++] = S.field("gram");
            out[n++] = R.field("precision");
        }
        out[n++] = {"watch", &watch.usual, 7, 1, 1, 1};
        out[n++] = x_bar.field("x_bar");
        out[n++] = gain.field("gain");
        out[n++] = last.field("last");
        out[n++] = {"scalars", &now.t, long(sizeof(Scalars) / sizeof(double)), 1, 1, 1};
        out[n++] = held.field(long(now.held));
        return n;
    }

    void resize_held(long rows) override { held.make_room(rows); }

    NICA_RARE void restored(bool derived) override {
        if (!derived) {
            const Field from = K.field("");
            invert_lateral(from);
            renew_rates();
            for (int q = 0; q < lanes; ++q) weigh(q);
        }
        Nt.transposed(N);
        if (tilts) Ft.transposed(F);
        prepare();
    }

    NICA_RARE double residual() override {
        double worst = identity_error(K.field(""), N.field(""));
        if (tilts) worst = larger(worst, identity_error(F.field(""), G.field("")));
        return worst;
    }

  private:
    using A = Aligned<width>;
    using Lane = typename A::Lane;
    using Vector = typename A::Vector;
    using Matrix = typename A::Matrix;

    Config config;
    const int d, k, lanes;
    const bool tilts;
    bool poor = false;  // whether some source hardly comes near zero, and has a bulk
    Vector gain, last, x_bar, x, e, p, push;
    Matrix F, Ft, G, S, R;          // layer 1; Ft, G, S, R only if it follows the subspace
    Matrix K, N, Nt, polished;      // layer 2: I + L, its inverse, that transposed
    Vector b, z, y;
    Vector sigma, mu, floor, spike, outlier, bulk, centre, spread, m, kappa, scale;
    Vector real;                    // 1 for each neuron, 0 in the padding
    Vector by_m, curve;             // what synapses know of their neurons
    Vector n0, n1, n2, noise, arrived;  // running averages
    Vector c, share, Nc, yN, v, Sv;
    Scalars now;
    struct Watch {
        double usual = usual_least;      // running share of outliers
        double gained = 0, lost = 0;     // by the alarm, from an outlier and from another sample
        double residue = 0;              // running mean of |e|^2
        double rate = 0, taken = 0;      // of lateral learning, of the averages
        double slow = 0;                 // of layer 1 and of the mean
    } watch;
    FacetConstants<Lane>* rows = new FacetConstants<Lane>[lanes];
    Held held;

    bool equal(const double* a, const double* other) const {
        for (int j = 0; j < k; ++j)
            if (a[j] != other[j]) return false;
        return true;
    }
    bool hold(const double* sample) {
        held.make_room(long(larger(now.target, now.held + 1)));
        held.put(long(now.held), sample);
        now.held += 1;
        return now.held >= now.target;
    }

    NICA_INLINE void settle(const double* sample) {
        for (int j = 0; j < k; ++j) x[j] = sample[j] * gain[j];
        F.times(x, z);
        for (int q = 0; q < lanes; ++q) v.q[q] = z.q[q] + b.q[q];
        N.times(v, y);
    }
    NICA_INLINE void emit(double* out) {
        for (int i = 0; i < d; ++i) out[i] = larger(y[i], 0) * scale[i];
    }

    // Who is responsible for each output: running averages, and what synapses are to learn. How much of an
    // outlier the sample is.
    template <bool with_bulk> double respond() {
        double s = config.offset;
        Lane far = {}, squares = {};
        for (int q = 0; q < lanes; ++q) {
            const Lane part = y.q[q] * by_m.q[q];
            share.q[q] = part;
            squares += y.q[q] * part;
        }
        s += sum(squares);
        const double eta = watch.rate;
        // While learning is suspended nothing below is kept but who is an outlier.
        const double kept = now.suspended != 0 ? 0 : watch.taken;
        for (int q = 0; q < lanes; ++q) {
            const Lane keep = kept * real.q[q];
            const Lane Y = y.q[q];
            const FacetConstants<Lane>& row = rows[q];
            const FacetJudgement<Lane, with_bulk> j(Y, row);
            c.q[q] = real.q[q] * eta * (row.sigma * row.sigma * j.score(Y, row)) / (curve.q[q] + eta * s);
            n0.q[q] += keep * (j.r0 - n0.q[q]);
            n1.q[q] += keep * (j.r1 - n1.q[q]);
            n2.q[q] += keep * (j.r2 - n2.q[q]);
            noise.q[q] += keep * (j.r0 * Y * Y + j.r1 * j.residue(row) - noise.q[q]);
            arrived.q[q] += keep * (j.r1 * j.source(Y, row) - arrived.q[q]);
            m.q[q] += keep * ((1.0 - j.r2) * Y * Y - m.q[q]);
            const Lane w = with_bulk ? row.sigma * row.sigma * j.curvature(row) : j.stiffness();
            kappa.q[q] += keep * (w - kappa.q[q]);
            far = larger(far, j.r2 * real.q[q]);
        }
        now.poison += 0 * s;
        double outlying = 0;
        for (int i = 0; i < width; ++i) outlying = larger(outlying, far[i]);
        return outlying;
    }

    // All that is learned from a sample. True: enough is held.
    bool judge(const double* sample, bool same) {
        double outlying = poor ? respond<true>() : respond<false>();
        const double g = watch.taken;
        const double weight = tilts ? predict(outlying) : 1;
        if (now.suspended != 0) {
            now.far += outlying > 0.5;
            if (same || !hold(sample)) return false;
            // Unless most of the alarming share is gone: a burst that has passed.
            if (now.far > (watch.usual + 0.5 * changed * (1 - watch.usual)) * now.held) return true;
            now.suspended = now.outlying = now.far = now.held = 0;
            now.target = config.hold;
            return false;
        }
        now.outliers += outlying > 0.5;
        now.outlying = larger(now.outlying + outlying * watch.gained + (1 - outlying) * watch.lost, 0);
        watch.usual += g * (outlying - watch.usual);
        if (now.outlying > alarming) {
            now.suspended = 1;
            now.far = now.held = 0;
            return false;
        }
        now.t += 1;
        const double whole = watch.slow * (1 - outlying);
        for (int q = 0; q < A::lanes(k); ++q) x_bar.q[q] += whole * (x.q[q] - x_bar.q[q]);
        learn();
        if (tilts) tilt(weight);
        if (std::ptrdiff_t(now.t) % upkeep_interval == 0) upkeep();
        return false;
    }

    // I + L += c (y / m)T; the diagonal is put back to one at the next upkeep. Sherman and Morrison keep the inverse.
    NICA_INLINE void learn() {
        N.times(c, Nc);
        Nt.times(share, yN);
        const double denominator = 1 + A::dot(share, Nc);
        if (!(denominator > 0.1)) return;
        K.add(c, share);
        for (int q = 0; q < lanes; ++q) Nc.q[q] *= -1 / denominator;
        N.add(Nc, yN);
        Nt.add(yN, Nc);
        if (config.offset)
            for (int q = 0; q < lanes; ++q) b.q[q] -= c.q[q];
    }

    // What layer 1 predicts of the sample, p = G z, and how much it may learn from what is left, e.
    double predict(double& outlying) {
        G.times(z, p);
        double squares = 0, size = 0;
        for (int j = 0; j < k; ++j) {
            e[j] = x[j] - p[j];
            squares += e[j] * e[j];
        }
        R.times(z, v);
        size = A::dot(z, v) / d;
        const double limit = far_residual * watch.residue;
        double weight = 1;
        if (squares > limit) {
            outlying = larger(outlying, squares > 1e-24 * A::dot(x, x) ? 1 : 0);
            weight = limit / squares;
        }
        if (size > far_sample) weight *= far_sample / size;
        weight *= weight;
        if (now.suspended == 0) watch.residue += watch.taken * weight * (squares - watch.residue);
        return weight;
    }

    // G += a e (R z)T; F and S follow exactly, because GT e = 0.
    void tilt(double weight) {
        const double a = weight * watch.slow;
        S.times(v, Sv);
        double squares = 0;
        for (int j = 0; j < k; ++j) squares += e[j] * e[j];
        const double grown = a * a * squares, by = 1 / (1 + grown * A::dot(v, Sv));
        Ft.times(v, p);
        for (int q = 0; q < A::lanes(k); ++q) {
            push.q[q] = by * (a * e.q[q] - grown * p.q[q]);
            e.q[q] *= a;
        }
        G.add(e, v);
        F.add(Sv, push);
        Ft.add(push, Sv);
        for (int q = 0; q < lanes; ++q) z.q[q] = -grown * by * Sv.q[q];
        S.add(z, Sv);
    }

    // Every few samples: parameters from their averages; K_ii = 1 again, and N its inverse, by a step of Newton's.
    NICA_RARE void upkeep() {
        const Lane one = Lane{} + 1.0;
        for (int q = 0; q < lanes; ++q) {
            floor.q[q] = larger(floor.q[q] * blur_kept, Lane{} + blur_least);
            const Lane near = n0.q[q] + n1.q[q];
            mu.q[q] = n1.q[q] > 1e-6 ? arrived.q[q] / n1.q[q] : mu.q[q];
            const Lane sd = root(larger(noise.q[q] / near, Lane{}));
            const Lane most = blur_most * mu.q[q];
            const Lane least = floor.q[q] * mu.q[q];
            sigma.q[q] = larger(sd < most ? sd : most, least);
            // What neither silence nor tail nor outliers account for is the bulk's, if there is one.
            const Lane known = bulk.q[q] > 0.0 ? one - n2.q[q] : near, silent = spike_most * (one - bulk.q[q]);
            spike.q[q] = larger(n0.q[q] / known, spike_least * one);
            spike.q[q] = spike.q[q] < silent ? spike.q[q] : silent;
            outlier.q[q] = larger(n2.q[q], outlier_least * one);
            outlier.q[q] = outlier.q[q] < outlier_most ? outlier.q[q] : outlier_most * one;
            weigh(q);
        }
        prepare();
        renew_rates();
        for (int i = 0; i < d; ++i) K.at(i, i) = 1;
        while (polish() > polished_enough) {}
        Nt.transposed(N);
        if (tilts && std::ptrdiff_t(now.t) % (64 * upkeep_interval) == 0 &&
            !(identity_error(F.field(""), G.field("")) < 1e-11))
            follow();
    }

    // A step of Newton's towards N = 1/K, or all of it; the largest entry of |I - K N| before a step.
    NICA_RARE double polish() {
        double worst = 0;
        for (int j = 0; j < d; ++j) {  // column j of 2 I - K N
            for (int q = 0; q < lanes; ++q) {
                Lane s = {};
                for (int i = 0; i < d; ++i) s += K.column(i)[q] * N.at(i, j);
                yN.q[q] = -s;
            }
            yN[j] += 2;
            for (int i = 0; i < d; ++i) worst = larger(worst, magnitude(yN[i] - (i == j)));
            N.times(yN, Nc);
            for (int q = 0; q < lanes; ++q) polished.column(j)[q] = Nc.q[q];
        }
        if (worst < 0.1) {
            std::memcpy(N.q, polished.q, sizeof(Lane) * lanes * d);
            return worst;
        }
        invert_lateral(K.field(""));
        return 0;
    }

    // F := the pseudoinverse of G
    NICA_RARE void follow() {
        Matrix gram(d, d);
        for (int i = 0; i < d; ++i)
            for (int j = 0; j < d; ++j) {
                double s = 0;
                for (int l = 0; l < k; ++l) s += G.at(l, i) * G.at(l, j);
                gram.at(i, j) = s;
            }
        double* work = static_cast<double*>(std::malloc(sizeof(double) * 2 * d * d));
        if (invert(gram.field(""), S.field(""), work))
            for (int i = 0; i < d; ++i)
                for (int j = 0; j < k; ++j) {
                    double s = 0;
                    for (int l = 0; l < d; ++l) s += S.at(i, l) * G.at(j, l);
                    F.at(i, j) = s;
                }
        std::free(work);
        Ft.transposed(F);
    }

    NICA_RARE void invert_lateral(const Field& from) {
        double* work = static_cast<double*>(std::malloc(sizeof(double) * 2 * d * d));
        invert(from, N.field(""), work);
        std::free(work);
    }

    NICA_RARE void renew_rates() {
        watch.taken = larger(config.share_minimum, 1 / (now.t + 10));
        watch.slow = larger(config.rate_minimum, 1 / now.t);
        watch.rate = larger(0.5 * config.share_minimum, config.separation_a / (1 + now.t / config.separation_b));
        const double usual = smaller(larger(watch.usual, usual_least), usual_most);
        const double after = usual + changed * (1 - usual);
        watch.gained = std::log(after / usual);
        watch.lost = std::log((1 - after) / (1 - usual));
    }

    // What the synapses of a neuron need to know of it; also when it has been silent for long.
    NICA_INLINE void weigh(int q) {
        by_m.q[q] = 1.0 / larger(m.q[q], power_least * mu.q[q] * mu.q[q]);
        curve.q[q] = larger(kappa.q[q], Lane{} + curvature_least);
    }

    // What judge() needs of the parameters.
    NICA_RARE void prepare() {
        for (int q = 0; q < lanes; ++q) {
            const Lane one = Lane{} + 1.0;
            rows[q] = FacetConstants<Lane>(
                {sigma.q[q], mu.q[q], spike.q[q], outlier.q[q], bulk.q[q], centre.q[q], larger(spread.q[q], 1e-300 * one)});
        }
        poor = false;
        for (int i = 0; i < d; ++i) poor |= bulk[i] > 0;
    }
};

Network* create_facets(const Config& c) {
    if (c.d <= 4) return new FacetNetwork<native_width < 4 ? native_width : 4>(c);
    return new FacetNetwork<native_width>(c);
}

}  // namespace NICA_VARIANT
}  // namespace nica
