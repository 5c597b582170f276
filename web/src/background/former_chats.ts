import { accountTexts } from "../i18n/account";
import { t } from "../i18n/language.svelte";
import type { ApiClient } from "../services/api/client";
import { tabStorage } from "../services/browser_storage";
import type { Conversations } from "../stores/conversations.svelte";
import type { Notices } from "../stores/notices.svelte";

/** Mark of the browser's session that the offer was made in it. */
const OFFERED = "ebb-former-chats-offered";

/** The stores that an offer needs. */
export interface Offering {
  api: Pick<ApiClient, "formerChats" | "takeFormerChats" | "refuseFormerChats">;
  conversations: Pick<Conversations, "load">;
  notices: Pick<Notices, "show" | "failed">;
}

/**
 * Offer chats from before the first key to the person with the first key, once in each session of the browser until the
 * person accepts or refuses. A notice that is closed is no refusal, but it should not return with every reload.
 */
export async function offerFormerChats({ api, conversations, notices }: Offering): Promise<void> {
  if (tabStorage.get(OFFERED) !== null) return;
  const chats = await api.formerChats().catch(() => 0);
  if (chats === 0) return;
  tabStorage.put(OFFERED, "");
  const { offer, take, refuse, taken, notTaken, notRefused } = accountTexts().former;
  const act = () =>
    void api.takeFormerChats().then(
      (count) => {
        notices.show(taken(count));
        return conversations.load();
      },
      (error: unknown) => notices.failed(notTaken, error),
    ).catch(() => notices.show(t().errors.page));
  notices.show(offer(chats), { label: take, act, refusal: { label: refuse, act: () => void api.refuseFormerChats().catch((error: unknown) => notices.failed(notRefused, error)) } });
}
