// The factories of a variant; two of them need each other: a rival may stand on layer 1.
#pragma once

#include "api.hpp"

namespace nica {
namespace NICA_VARIANT {

Network* create(const Config&);         // layers of the paper: kernels.cpp
Network* create_rival(const Config&);   // config.rule: rivals.cpp
Network* create_facets(const Config&);  // facet_network.cpp

}  // namespace NICA_VARIANT
}  // namespace nica
