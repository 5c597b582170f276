// Queue of submitted steps. A dedicated thread computes them in the order of submission.
//
// A step begins when the previous one ends, whatever the Python interpreter is doing at that moment. Sampled tokens
// pass from one step to the next without Python. Python reads them while the next step is computed.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "engine.h"
#include "turns.h"

namespace ebb {

class StepQueue {
public:
    StepQueue(const Model& model, int threads, Turns turns)
        : engine_(model, threads), turns_(turns), thread_([this, threads] { serve(threads); }) {}

    // Compute all submitted steps, then stop the thread.
    ~StepQueue() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        submitted_.notify_one();
        thread_.join();
    }

    // Append a step to the queue. `step` and all memory that it points to must stay valid until `wait` returns.
    void submit(StepInput* step) {
        {
            const std::lock_guard lock(mutex_);
            step->done = 0;
            steps_.push_back(step);
        }
        submitted_.notify_one();
    }

    // Wait until a step has ended. Steps end in the order of submission. Any number of threads may wait.
    void wait(const StepInput* step) {
        std::unique_lock lock(mutex_);
        awaited_.push_back(step);
        ended_.wait(lock, [step] { return step->done != 0; });
        awaited_.erase(std::find(awaited_.begin(), awaited_.end(), step));
    }

private:
    // Compute steps until the queue is closed. A waiting thread that wakes up takes a core from a computing thread. The
    // end of a step is therefore announced only after the next step has begun: other threads then take over the pieces
    // of the thread that loses its core. If no thread waits for the step, no thread is woken.
    void serve(int threads) {
        keep_to_core(0, threads);
        StepInput* ended = nullptr;
        while (StepInput* step = next(ended)) {
            if (!turns_.take_at_once()) {
                // Results do not wait for the step of another engine.
                end(ended);
                ended = nullptr;
                turns_.take();
            }
            engine_.step(*step, [&] { end(ended); });
            turns_.give();
            ended = step;
        }
    }

    // Return the next step, or null if the queue is closed and empty. If no step is queued yet, end the previous one
    // before waiting.
    StepInput* next(StepInput*& ended) {
        std::unique_lock lock(mutex_);
        if (steps_.empty()) {
            lock.unlock();
            end(ended);
            ended = nullptr;
            lock.lock();
        }
        submitted_.wait(lock, [this] { return closed_ || !steps_.empty(); });
        if (steps_.empty()) return nullptr;
        StepInput* step = steps_.front();
        steps_.pop_front();
        return step;
    }

    void end(StepInput* step) {
        if (step == nullptr) return;
        bool awaited;
        {
            const std::lock_guard lock(mutex_);
            step->done = 1;
            awaited = std::find(awaited_.begin(), awaited_.end(), step) != awaited_.end();
        }
        if (awaited) ended_.notify_all();
    }

    Engine engine_;
    const Turns turns_;
    std::mutex mutex_;
    std::condition_variable submitted_, ended_;
    std::deque<StepInput*> steps_;
    std::vector<const StepInput*> awaited_;  // one entry per waiting thread
    bool closed_ = false;
    std::thread thread_;  // the last member, because the thread uses the others
};

}  // namespace ebb
