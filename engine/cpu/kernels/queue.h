// Steps in the order in which they were submitted, computed on a thread that knows nothing but them.
//
// The next step begins when the one before ends, whatever the interpreter does meanwhile: its tokens go from one step to
// the next in here, and who submitted it learns of them beside its computation.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "engine.h"

namespace ebb {

class StepQueue {
public:
    StepQueue(const Model& model, int threads) : engine_(model, threads), thread_([this] { serve(); }) {}

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

    void wait(const StepInput* step) {
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [step] { return step->done != 0; });
    }

private:
    void serve() {
        std::unique_lock lock(mutex_);
        while (true) {
            submitted_.wait(lock, [this] { return closed_ || !steps_.empty(); });
            if (steps_.empty()) return;
            StepInput* step = steps_.front();
            steps_.pop_front();
            lock.unlock();
            engine_.step(*step);
            lock.lock();
            step->done = 1;
            ended_.notify_all();
        }
    }

    Engine engine_;
    std::mutex mutex_;
    std::condition_variable submitted_, ended_;
    std::deque<StepInput*> steps_;
    bool closed_ = false;
    std::thread thread_;  // the last member: it uses the others
};

}  // namespace ebb
