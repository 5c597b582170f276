import { describeError, type Problem } from "../services/api/errors";
import { sentences } from "../services/format/sentences";

/** The last action of a view, with the problem if it failed. */
export class Attempt {
  problem = $state.raw<Problem | null>(null);
  /** Whether the action is still running. */
  busy = $state(false);

  /** The problem in one line. */
  get text(): string | null {
    return this.problem && sentences(this.problem.what, this.problem.todo);
  }

  /** Run an action. A failure becomes the problem. */
  async run(act: () => Promise<void>): Promise<void> {
    this.problem = null;
    this.busy = true;
    try {
      await act();
    } catch (error) {
      this.problem = describeError(error);
    } finally {
      this.busy = false;
    }
  }
}
