import { accountTexts } from "../i18n/account";
import { t } from "../i18n/language.svelte";
import type { ApiClient } from "../services/api/client";
import type { Conversations } from "../stores/conversations.svelte";
import type { Notices } from "../stores/notices.svelte";

/** The stores that an offer needs. */
export interface Offering {
  api: Pick<ApiClient, "formerChats" | "takeFormerChats" | "refuseFormerChats">;
  conversations: Pick<Conversations, "load">;
  notices: Pick<Notices, "show" | "failed">;
}

/** Offer chats from before the first key to the person with the first key, until the person accepts or refuses. */
export async function offerFormerChats({ api, conversations, notices }: Offering): Promise<void> {
  const chats = await api.formerChats().catch(() => 0);
  if (chats === 0) return;
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
