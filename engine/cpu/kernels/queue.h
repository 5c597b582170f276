// Steps in the order in which they were submitted, computed on a thread that knows nothing but them.
//
// The next step begins when the one before ends, whatever the interpreter does meanwhile: its tokens go from one step to
// the next in here, and who submitted it learns of them beside its computation.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "engine.h"

namespace ebb {

class StepQueue {
public:
    StepQueue(const Model& model, int threads) : engine_(model, threads), thread_([this, threads] { serve(threads); }) {}

    // What was submitted is computed first.
    ~StepQueue() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        submitted_.notify_one();
        thread_.join();
    }

    // `step`, and all that it points to, stays where it is until `wait` returns.
    void submit(StepInput* step) {
        {
            const std::lock_guard lock(mutex_);
            step->done = 0;
            steps_.push_back(step);
        }
        submitted_.notify_one();
    }

    // Steps end in the order in which they were submitted. Any number of threads may wait.
    void wait(const StepInput* step) {
        std::unique_lock lock(mutex_);
        awaited_.push_back(step);
        ended_.wait(lock, [step] { return step->done != 0; });
        awaited_.erase(std::find(awaited_.begin(), awaited_.end(), step));
    }

private:
    // A thread that wakes up takes the core of one that computes. So whoever waits for a step is woken when the next one
    // has begun, where other threads take over what lies about, and only for the step that it waits for.
    void serve(int threads) {
        keep_to_core(0, threads);
        StepInput* ended = nullptr;
        while (StepInput* step = next(ended)) {
            engine_.step(*step, [&] { end(ended); });
            ended = step;
        }
    }

    // The next step, or null when there will be none. If it is not there yet, the one before ends here.
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
    std::mutex mutex_;
    std::condition_variable submitted_, ended_;
    std::deque<StepInput*> steps_;
    std::vector<const StepInput*> awaited_;  // once for each thread that waits
    bool closed_ = false;
    std::thread thread_;  // the last member: it uses the others
};

}  // namespace ebb
