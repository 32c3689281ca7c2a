/* SPDX-License-Identifier: BSD-3-Clause */
// A program to save: streams, exceptions at any time, containers, memory of the thread.
#include <cstdint>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

static thread_local uint64_t state = 88172645463325252u;

static uint64_t next()
{
    state ^= state << 13, state ^= state >> 7;
    return state ^= state << 17;
}

struct refused : std::runtime_error {
    uint64_t number;
    explicit refused(uint64_t n) : std::runtime_error("refused " + std::to_string(n % 1000)), number(n)
    {
    }
};

static uint64_t descend(int n)
{
    std::string guard(n % 40, 'x');
    if (n == 0) {
        throw refused(next());
    }
    try {
        return descend(n - 1) + guard.size();
    } catch (const std::out_of_range &) {
        return 0;
    }
}

static uint64_t step(std::map<std::string, std::vector<uint64_t>> &all, int round, uint64_t sum)
{
    for (int i = 0; i < 40; i++) {
        std::ostringstream key;
        key << std::hex << next() % 3000;
        auto &numbers = all[key.str()];
        numbers.push_back(next());
        if (numbers.size() > 8) {
            all.erase(key.str());
        }
    }
    try {
        descend(round % 60);
    } catch (const refused &r) {
        sum = sum * 31 + r.number + std::string(r.what()).size();
    }
    return sum;
}

int main()
{
    std::map<std::string, std::vector<uint64_t>> all;
    std::ofstream file("objects.txt");
    uint64_t sum = 0;
    for (int round = 0; round < 3000; round++) {
        sum = step(all, round, sum);
        file << "round " << std::setw(6) << round << ' ' << std::fixed << std::setprecision(9) << double(sum % 1000003) / 7 << '\n';
        if (round % 500 == 0) {
            std::cout << round << " " << sum << std::endl;
        }
    }
    file.close();
    std::ifstream back("objects.txt");
    for (std::string line; std::getline(back, line);) {
        for (char c : line) {
            sum = sum * 31 + static_cast<unsigned char>(c);
        }
    }
    for (const auto &entry : all) {
        sum = sum * 31 + entry.second.size() + entry.first.size();
    }
    std::cout << "end " << sum << std::endl;
}
