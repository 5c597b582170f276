// Measures the limits of the machine, for bench/machine_limits.py. Prints one line per measurement.
#include "machine_limits.h"

#include <cstdlib>

int main(int, char** arguments) {
    ebb::permit_tiles();
    const int threads = std::atoi(arguments[1]), rounds = std::atoi(arguments[2]);
    for (int round = 0; round < rounds; ++round) ebb::measure_limits(threads);
}
