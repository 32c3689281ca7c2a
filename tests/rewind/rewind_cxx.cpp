/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program in C++ that knows nothing of failures: containers, strings, iostream, exceptions,
 * thread_local, a thread of its own.
 *
 *   rewind_cxx STEPS
 */
#include <mpi.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

thread_local std::uint64_t calls;

struct Node {
    std::string text;
    std::vector<double> numbers;
};

/* Adds what it is given, in a thread of its own. */
class Worker
{
  public:
    Worker() : thread([this] { run(); })
    {
    }
    ~Worker()
    {
        ask(-1);
        thread.join();
    }
    Worker(const Worker &) = delete;
    Worker &operator=(const Worker &) = delete;

    std::uint64_t work(int number)
    {
        ask(number);
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [this] { return !asked; });
        return sum;
    }

  private:
    void ask(int number)
    {
        std::lock_guard<std::mutex> lock(mutex);
        wanted = number;
        asked = true;
        changed.notify_all();
    }

    void run()
    {
        for (;;) {
            std::unique_lock<std::mutex> lock(mutex);
            changed.wait(lock, [this] { return asked; });
            asked = false;
            if (wanted < 0) {
                return;
            }
            calls++;
            sum += static_cast<std::uint64_t>(wanted) * calls;
            changed.notify_all();
        }
    }

    std::mutex mutex;
    std::condition_variable changed;
    bool asked = false;
    int wanted = 0;
    std::uint64_t sum = 0;
    std::thread thread;
};

std::size_t step_once(std::map<int, std::unique_ptr<Node>> &nodes, int step, int rank)
{
    std::ostringstream text;
    text << "rank " << rank << " step " << std::setw(6) << step;
    auto node = std::make_unique<Node>();
    node->text = text.str();
    node->numbers.assign(static_cast<std::size_t>(step % 50 + 1), 1.0 / (step + 1));
    nodes[step * 7 % 101] = std::move(node);
    calls++;
    if (step % 5 == 0) {
        throw std::runtime_error(text.str());
    }
    return nodes.size();
}

} // namespace

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int steps = argc > 1 ? std::atoi(argv[1]) : 200;
    std::map<int, std::unique_ptr<Node>> nodes;
    double total = 0;
    std::uint64_t caught = 0;
    {
        Worker worker;
        for (int step = 0; step < steps; step++) {
            double mine = 0, sum = 0;
            try {
                mine += static_cast<double>(step_once(nodes, step, rank));
            } catch (const std::runtime_error &error) {
                caught += std::string(error.what()).size();
            }
            mine += static_cast<double>(worker.work(step % 10));
            for (const auto &[key, node] : nodes) {
                mine += node->numbers.front() * key + static_cast<double>(node->text.size());
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            total += sum;
            if (rank == 0 && step % 20 == 0) {
                std::cout << "step " << step << ": " << std::setprecision(17) << total << '\n';
            }
        }
    }
    if (rank == 0) {
        std::cout << steps << " steps of " << size << " ranks: " << total << ", " << caught << ", "
                  << calls << std::endl;
    }
    MPI_Finalize();
    return 0;
}
