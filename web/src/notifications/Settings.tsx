import { useEffect, useState } from "preact/hooks";
import { call } from "../api/client";
import { t } from "../i18n";
import { complain } from "../state/toasts";

export function Settings() {
    const [on, setOn] = useState<boolean | null>(null);
    useEffect(() => {
        call("get", "/v1/settings").then((settings) => setOn(settings.story_updates), complain);
    }, []);
    const change = async (to: boolean) => {
        setOn(to);
        try {
            await call("put", "/v1/settings", { body: { story_updates: to } });
        } catch (error) {
            setOn(!to);
            complain(error);
        }
    };
    return (
        <section class="settings" aria-labelledby="settings">
            <h2 id="settings">{t("bell.settings")}</h2>
            <label class="toggle">
                <input
                    type="checkbox"
                    role="switch"
                    checked={on ?? false}
                    disabled={on === null}
                    aria-describedby="story-updates-hint"
                    onChange={(event) => void change(event.currentTarget.checked)}
                />
                <span>{t("bell.story_updates")}</span>
            </label>
            <p class="hint" id="story-updates-hint">
                {t("bell.story_updates_hint")}
            </p>
        </section>
    );
}
