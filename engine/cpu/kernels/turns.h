// Turns of the engines of several processes that compute on the same cores: one step at a time.
//
// Threads of two engines on one core displace each other, and all threads of a step wait for the displaced one at each
// barrier. Two steps side by side therefore take longer than one after the other.
#pragma once

#include <sys/file.h>

#include <cerrno>

namespace ebb {

// Locks on two files that all engines open. The system releases the locks of a process that dies.
//
// The holder of `turn` computes. The holder of `place` is next: an engine that gives its turn up and wants another one
// queues behind it.
struct Turns {
    int turn = -1, place = -1;  // descriptors; -1 if no other engine uses the cores

    // Take the turn if no other engine has it or waits for it. Return whether it was taken.
    bool take_at_once() const {
        if (turn < 0) return true;
        if (!lock(place, LOCK_EX | LOCK_NB)) return false;
        const bool taken = lock(turn, LOCK_EX | LOCK_NB);
        lock(place, LOCK_UN);
        return taken;
    }

    // Wait for the turn.
    void take() const {
        lock(place, LOCK_EX);
        lock(turn, LOCK_EX);
        lock(place, LOCK_UN);
    }

    void give() const {
        if (turn >= 0) lock(turn, LOCK_UN);
    }

private:
    // Return false only if another engine has the lock. A file system without locks delays no step.
    static bool lock(int file, int operation) {
        int result;
        do {
            result = flock(file, operation);
        } while (result != 0 && errno == EINTR);
        return result == 0 || errno != EWOULDBLOCK;
    }
};

}  // namespace ebb
