import type { Router } from "../stores/router.svelte";
import type { Session } from "../stores/session.svelte";
import { ChangeFollower, type FollowedStores } from "./change_follower";
import { notify } from "./notifications";
import { registerOffline } from "./offline";

/** Start everything that happens in the background of the page. Return the function that stops this. */
export function start(ebb: FollowedStores & { router: Router; session: Session }): () => void {
  registerOffline();
  const follower = new ChangeFollower(ebb, (id) => notify(ebb, id));
  return $effect.root(() => {
    $effect(() => {
      if (ebb.session.current !== null && !ebb.session.out) return follower.start();
      return undefined;
    });
  });
}
