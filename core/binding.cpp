// Python sees one class, Network, whose state goes in and out as named arrays, and a choice of kernels.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "api.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace nica {

Network::~Network() = default;
void Network::note(const double*, const double*, const double*) {}

extern const Kernels kernels_baseline;
#ifdef NICA_HAVE_AVX2
extern const Kernels kernels_avx2;
#endif
#ifdef NICA_HAVE_AVX512
extern const Kernels kernels_avx512;
#endif

// The kernels that this CPU can run, best first.
static std::vector<const Kernels*> usable() {
    std::vector<const Kernels*> found;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
#ifdef NICA_HAVE_AVX512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        found.push_back(&kernels_avx512);
#endif
#ifdef NICA_HAVE_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        found.push_back(&kernels_avx2);
#endif
#endif
    found.push_back(&kernels_baseline);
    return found;
}

static const Kernels& kernels_named(const std::string& name) {
    std::string names;
    for (const Kernels* k : usable()) {
        if (name == k->name) return *k;
        names += std::string(names.empty() ? "" : ", ") + k->name;
    }
    throw nb::value_error(("no kernels '" + name + "' on this CPU: it has " + names).c_str());
}

using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Row = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutRows = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutRow = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T> static T item(const nb::dict& options, const char* name) {
    return nb::cast<T>(options[name]);
}

static Config configuration(const nb::dict& o) {
    Config c;
    c.k = item<int>(o, "k");
    c.l = item<int>(o, "l");
    c.m = item<int>(o, "m");
    c.d = item<int>(o, "d");
    c.whiten = item<bool>(o, "whiten");
    c.separate = item<bool>(o, "separate");
    c.robust = item<bool>(o, "robust");
    c.dynamics = item<int>(o, "dynamics");
    c.rule = item<int>(o, "rule");
    c.offset = item<bool>(o, "offset");
    c.share_minimum = item<double>(o, "share_minimum");
    c.alpha = item<double>(o, "alpha");
    c.rate_a = item<double>(o, "rate_a");
    c.rate_b = item<double>(o, "rate_b");
    c.rate_minimum = item<double>(o, "rate_minimum");
    c.in_time = item<bool>(o, "in_time");
    c.separation_a = item<double>(o, "separation_a");
    c.separation_b = item<double>(o, "separation_b");
    c.memory_first = item<double>(o, "memory_first");
    c.memory_growth = item<double>(o, "memory_growth");
    c.memory_most = item<double>(o, "memory_most");
    c.renewal = item<double>(o, "renewal");
    c.kappa = item<double>(o, "kappa");
    c.kappa_first = item<double>(o, "kappa_first");
    c.hold = item<int>(o, "hold");
    c.idle = item<int>(o, "idle");
    c.revival = item<int>(o, "revival");
    c.flip = item<bool>(o, "flip");
    c.max_sweeps = item<int>(o, "max_sweeps");
    c.tol = item<double>(o, "tol");
    return c;
}

class Handle {
  public:
    Handle(const nb::dict& options, const std::string& kernels)
        : kernels(kernels_named(kernels)), config(configuration(options)),
          network(this->kernels.create(config)), outputs(config.separate ? config.d : config.l) {}

    nb::tuple run(Rows X, std::optional<OutRows> Y) {
        check(X.shape(1), config.k, "channels");
        if (Y) {
            check(Y->shape(1), outputs, "outputs");
            check(Y->shape(0), X.shape(0), "rows");
        }
        Outcome o;
        {
            nb::gil_scoped_release free;
            const std::lock_guard<std::mutex> alone(busy);
            o = network->run(X.data(), long(X.shape(0)), Y ? Y->data() : nullptr);
        }
        return nb::make_tuple(o.rows, o.event);
    }

    int one(Row x, OutRow y) {
        check(x.shape(0), config.k, "channels");
        check(y.shape(0), outputs, "outputs");
        for (int j = 0; j < config.k; ++j)
            if (!(std::fabs(x.data()[j]) <= limit)) return bad_sample;
        if (!config.robust || config.rule) backup();  // the warm start of the layers cannot overflow
        const int event = network->run(x.data(), 1, y.data()).event;
        if (event == overflow) roll_back();
        return event;
    }

    void apply(Rows X, OutRows Y) {
        check(X.shape(1), config.k, "channels");
        check(Y.shape(1), outputs, "outputs");
        check(Y.shape(0), X.shape(0), "rows");
        nb::gil_scoped_release free;
        const std::lock_guard<std::mutex> alone(busy);
        network->apply(X.data(), long(X.shape(0)), Y.data());
    }

    // Copies of all fields, or of the one that is named.
    nb::dict get_state(const std::string& only) {
        Field f[40];
        const int n = network->fields(f);
        nb::dict state;
        for (int i = 0; i < n; ++i) {
            if (!only.empty() && only != f[i].name) continue;
            double* data = new double[f[i].rows * f[i].columns + 1];
            for (long r = 0; r < f[i].rows; ++r)
                for (long c = 0; c < f[i].columns; ++c)
                    data[r * f[i].columns + c] = f[i].data[r * f[i].row_stride + c * f[i].column_stride];
            nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
            const size_t shape[2] = {size_t(f[i].rows), size_t(f[i].columns)};
            state[f[i].name] = nb::ndarray<nb::numpy, double>(data, 2, shape, owner);
        }
        return state;
    }

    // Write the named fields; the rest stays. "held" may have any number of rows.
    void set_state(const nb::dict& state, bool derived) {
        Field f[40];
        if (state.contains("held")) {
            const Rows held = nb::cast<Rows>(state["held"]);
            network->resize_held(long(held.shape(0)));
        }
        const int n = network->fields(f);
        for (int i = 0; i < n; ++i) {
            if (!state.contains(f[i].name)) continue;
            const Rows a = nb::cast<Rows>(state[f[i].name]);
            if (!std::strcmp(f[i].name, "held")) f[i].rows = long(a.shape(0));
            if (long(a.shape(0)) != f[i].rows || long(a.shape(1)) != f[i].columns)
                throw nb::value_error(
                    (std::string("array '") + f[i].name + "' of the state has shape (" +
                     std::to_string(a.shape(0)) + ", " + std::to_string(a.shape(1)) + "), not (" +
                     std::to_string(f[i].rows) + ", " + std::to_string(f[i].columns) + ")").c_str());
            for (long r = 0; r < f[i].rows; ++r)
                for (long c = 0; c < f[i].columns; ++c)
                    f[i].data[r * f[i].row_stride + c * f[i].column_stride] =
                        a.data()[r * f[i].columns + c];
        }
        network->restored(derived);
    }

    // Remember the state, or return to it: far cheaper than a trip through Python.
    void backup() {
        Field f[40];
        const int n = network->fields(f);
        remembered.clear();
        for (int i = 0; i < n; ++i)
            for (long r = 0; r < f[i].rows; ++r)
                for (long c = 0; c < f[i].columns; ++c)
                    remembered.push_back(f[i].data[r * f[i].row_stride + c * f[i].column_stride]);
        remembered_held = f[held_at(f, n)].rows;
    }
    void roll_back() {
        Field f[40];
        network->resize_held(remembered_held);
        const int n = network->fields(f);
        f[held_at(f, n)].rows = remembered_held;
        const double* from = remembered.data();
        for (int i = 0; i < n; ++i)
            for (long r = 0; r < f[i].rows; ++r)
                for (long c = 0; c < f[i].columns; ++c)
                    f[i].data[r * f[i].row_stride + c * f[i].column_stride] = *from++;
        network->restored(true);
    }
    double residual() { return network->residual(); }

    // How many networks like this one learn in lockstep; 0 if it is not of that kind.
    int lanes() const { return kernels.groups->width(config); }
    static nb::list run_together(std::vector<Handle*> networks, const std::vector<Rows>& X,
                                 const std::vector<std::optional<OutRows>>& Y);

  private:
    bool is_like(const Handle& other) const {
        const Config &a = config, &b = other.config;
        return &kernels == &other.kernels && a.k == b.k && a.l == b.l && a.m == b.m && a.d == b.d &&
               a.whiten == b.whiten && a.separate == b.separate && a.robust == b.robust &&
               a.in_time == b.in_time && a.dynamics == b.dynamics && a.rule == b.rule;
    }
    static constexpr double limit = 1e100;  // as in networks/_samples.py
    static constexpr int bad_sample = 3;    // one more Event
    static int held_at(const Field* f, int n) {
        int i = 0;
        while (i < n - 1 && std::strcmp(f[i].name, "held")) ++i;
        return i;
    }
    static void check(size_t got, int wanted, const char* what) { check(got, size_t(wanted), what); }
    static void check(size_t got, size_t wanted, const char* what) {
        if (got != wanted)
            throw nb::value_error((std::to_string(got) + " " + what + ", not " +
                                   std::to_string(wanted)).c_str());
    }
    const Kernels& kernels;
    Config config;
    std::unique_ptr<Network> network;
    std::mutex busy;  // its temporaries serve one thread at a time
    int outputs;
    std::vector<double> remembered;
    long remembered_held = 0;
};

nb::list Handle::run_together(std::vector<Handle*> networks, const std::vector<Rows>& X,
                              const std::vector<std::optional<OutRows>>& Y) {
    const size_t n = networks.size();
    check(X.size(), n, "arrays of samples");
    check(Y.size(), n, "arrays of outputs");
    const size_t most = n ? size_t(networks[0]->lanes()) : 0;
    if (n < 1 || n > most)
        throw nb::value_error((std::to_string(n) + " networks, of a kind of which " +
                               std::to_string(most) + " can run together").c_str());
    std::vector<Replica> replicas;
    for (size_t i = 0; i < n; ++i) {
        Handle& h = *networks[i];
        for (size_t j = 0; j < i; ++j)
            if (&h == networks[j]) throw nb::value_error("a network twice");
        if (!h.is_like(*networks[0])) throw nb::value_error("networks of different kinds");
        check(X[i].shape(0), X[0].shape(0), "rows");
        check(X[i].shape(1), h.config.k, "channels");
        if (Y[i]) {
            check(Y[i]->shape(0), X[0].shape(0), "rows");
            check(Y[i]->shape(1), h.outputs, "outputs");
        }
        replicas.push_back({h.network.get(), &h.config, X[i].data(), Y[i] ? Y[i]->data() : nullptr,
                            {0, done}});
    }
    {
        nb::gil_scoped_release free;
        networks[0]->kernels.groups->run(replicas.data(), int(n), long(X[0].shape(0)));
    }
    nb::list outcomes;
    for (const Replica& r : replicas)
        outcomes.append(nb::make_tuple(r.outcome.rows, r.outcome.event));
    return outcomes;
}

}  // namespace nica

NB_MODULE(_core, m) {
    using namespace nica;
    nb::set_leak_warnings(false);  // what tests and notebooks still hold at exit is no leak of ours
    nb::class_<Handle>(m, "Network")
        .def(nb::init<const nb::dict&, const std::string&>(), nb::arg("options"), nb::arg("kernels"))
        .def("run", &Handle::run, nb::arg("X").noconvert(), nb::arg("Y").noconvert().none())
        .def("one", &Handle::one, nb::arg("x").noconvert(), nb::arg("y").noconvert())
        .def("apply", &Handle::apply, nb::arg("X").noconvert(), nb::arg("Y").noconvert())
        .def("get_state", &Handle::get_state, nb::arg("only") = "")
        .def("set_state", &Handle::set_state, nb::arg("state"), nb::arg("derived"))
        .def("backup", &Handle::backup)
        .def("roll_back", &Handle::roll_back)
        .def("residual", &Handle::residual)
        .def_prop_ro("lanes", &Handle::lanes);
    m.def("run_together", &Handle::run_together, nb::arg("networks"), nb::arg("X"), nb::arg("Y"));
    m.def("kernels", [] {
        std::vector<std::string> names;
        for (const Kernels* k : usable()) names.push_back(k->name);
        return names;
    });
    m.def("multiply_add_latency",
          [](const std::string& name) { return kernels_named(name).multiply_add_latency(); });
    m.def("peak", [](const std::string& name) { return kernels_named(name).peak(); });
    m.def("width", [](const std::string& name) { return kernels_named(name).width; });
    m.def("rectify", [](Rows C, Rows N, OutRows Y, OutRow below, OutRow held, const std::string& name) {
        const size_t d = Y.shape(1);
        if (C.shape(0) != d || C.shape(1) != d || N.shape(0) != d || N.shape(1) != d ||
            below.shape(0) != d || held.shape(0) != d)
            throw nb::value_error("C, N, below and held must be of the size of a row of Y");
        nb::gil_scoped_release free;
        return kernels_named(name).rectify(int(d), C.data(), N.data(), Y.data(), long(Y.shape(0)),
                                           below.data(), held.data());
    }, nb::arg("C").noconvert(), nb::arg("N").noconvert(), nb::arg("Y").noconvert(),
       nb::arg("below").noconvert(), nb::arg("held").noconvert(), nb::arg("kernels"));
    m.def("special", [](int which, Row x, OutRow y, const std::string& name) {
        if (x.shape(0) != y.shape(0)) throw nb::value_error("x and y must have the same length");
        kernels_named(name).special(which, x.data(), long(x.shape(0)), y.data());
    }, nb::arg("which"), nb::arg("x").noconvert(), nb::arg("y").noconvert(), nb::arg("kernels"));
    m.def("facet_sweep", [](OutRows Y, OutRows B, OutRows rows, double floor, double cap,
                            const std::string& name) {
        const size_t d = Y.shape(0);
        if (B.shape(0) != d || B.shape(1) < d || B.shape(1) > d + 1 || rows.shape(0) != d || rows.shape(1) != 7)
            throw nb::value_error("B and rows must be of the size of a column of Y");
        nb::gil_scoped_release free;
        kernels_named(name).facet_sweep(Y.data(), long(d), long(Y.shape(1)), B.data(), long(B.shape(1)),
                                        rows.data(), floor, cap);
    }, nb::arg("Y").noconvert(), nb::arg("B").noconvert(), nb::arg("rows").noconvert(), nb::arg("floor"),
       nb::arg("cap"), nb::arg("kernels"));
    m.def("facet_sums", [](Rows Y, bool ones, Rows rows, OutRows sums, const std::string& name) {
        const size_t d = Y.shape(0), m = d - 1 + ones;
        if (rows.shape(0) != d || rows.shape(1) != 7 || sums.shape(0) != d || sums.shape(1) != 10 + m + m * m)
            throw nb::value_error("rows and sums must be of the size of a column of Y");
        nb::gil_scoped_release free;
        kernels_named(name).facet_sums(Y.data(), long(d), long(Y.shape(1)), ones, rows.data(), sums.data());
    }, nb::arg("Y").noconvert(), nb::arg("ones"), nb::arg("rows").noconvert(), nb::arg("sums").noconvert(),
       nb::arg("kernels"));
    m.def("find_bad", [](Rows X, double limit) {
        nb::gil_scoped_release free;
        static const Kernels& best = *usable().front();  // they all say the same
        return best.find_bad(X.data(), long(X.shape(0)), long(X.shape(1)), limit);
    }, nb::arg("X").noconvert(), nb::arg("limit"));
    m.def("lines", [](Rows X, std::vector<std::string> before, std::string after, std::string missing) {
        const Marks marks{std::move(before), std::move(after), std::move(missing)};
        if (marks.before.size() != X.shape(1)) throw nb::value_error("a mark for each column");
        PyObject* text = PyBytes_FromStringAndSize(nullptr, Py_ssize_t(marks.most(X.shape(0))));
        if (!text) throw nb::python_error();
        char *const begin = PyBytes_AS_STRING(text), *end;
        {
            nb::gil_scoped_release free;
            end = write_lines(X.data(), X.shape(0), marks, begin);
        }
        if (_PyBytes_Resize(&text, end - begin)) throw nb::python_error();
        return nb::steal<nb::bytes>(text);
    }, nb::arg("X").noconvert(), nb::arg("before"), nb::arg("after"), nb::arg("missing"));
}
