import { useEffect } from "preact/hooks";
import type { Subscription } from "../api/types";
import { t } from "../i18n";
import { Icon } from "../ui/Icon";
import { isSubscribed, loadSubscriptions, setSubscribed, subscriptions } from "./subscriptions";

export function SubscribeButton({ story }: { story: Omit<Subscription, "since" | "is_deleted"> }) {
    useEffect(() => {
        if (!subscriptions.value) void loadSubscriptions();
    }, []);
    const on = isSubscribed(story.story_id);
    return (
        <button
            type="button"
            class="subscribe"
            aria-pressed={on}
            disabled={!subscriptions.value}
            title={on ? t("story.unsubscribe_hint") : ""}
            onClick={() => void setSubscribed(story, !on)}
        >
            <Icon name={on ? "check" : "bell"} /> {on ? t("story.unsubscribe") : t("story.subscribe")}
        </button>
    );
}
