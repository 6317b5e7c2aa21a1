/** Who is signed in; for a service's token, whom it acts for, and how to change that. */
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/client";
import type { UserRow } from "../api/types";
import { t } from "../i18n";
import { profileOf } from "../state/people";
import { actFor, claims, isDev, maySwitch, me, signOut } from "../state/session";
import { Avatar } from "../ui/bits";
import { nameOf, shortTime } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Power } from "../ui/Power";

/** The demo community is whom its first user follows. */
function useDemoPeople(): { user_id: number; name: string }[] {
    const [people, setPeople] = useState<UserRow[]>([]);
    const first = claims.value?.userId ?? 0;
    useEffect(() => {
        if (!isDev.value) return;
        call("get", "/v1/relation/following", { query: { user_id: first, limit: 20 } }).then(
            (page) => setPeople(page.items),
            () => setPeople([]),
        );
    }, [first]);
    if (!isDev.value) return [];
    const self = { user_id: first, name: profileOf(first)?.name ?? "" };
    return [self, ...people].sort((a, b) => a.user_id - b.user_id);
}

function Switch() {
    const people = useDemoPeople();
    const [other, setOther] = useState("");
    const known = people.some((one) => one.user_id === me.value);
    const name = nameOf(profileOf(me.value)?.name ?? "", me.value);
    return (
        <div class="switch">
            {people.length ? (
                <>
                    <label for="act-as">
                        {t("session.switch")} <Power of="service" />
                    </label>
                    <select
                        id="act-as"
                        value={String(me.value)}
                        onChange={(event) => actFor(Number(event.currentTarget.value))}
                    >
                        {people.map((one) => (
                            <option key={one.user_id} value={String(one.user_id)}>
                                {nameOf(one.name, one.user_id)}
                            </option>
                        ))}
                        {known ? null : <option value={String(me.value)}>{name}</option>}
                    </select>
                </>
            ) : null}
            <details>
                <summary>
                    {t("session.other")} {people.length ? null : <Power of="service" />}
                </summary>
                <form
                    onSubmit={(event) => {
                        event.preventDefault();
                        const id = Number(other);
                        if (Number.isSafeInteger(id) && id > 0) actFor(id);
                        setOther("");
                    }}
                >
                    <label class="unseen" for="act-as-id">
                        {t("session.other")}
                    </label>
                    <input
                        id="act-as-id"
                        inputMode="numeric"
                        pattern="[1-9][0-9]{0,15}"
                        placeholder={t("session.other")}
                        value={other}
                        onInput={(event) => setOther(event.currentTarget.value)}
                    />
                    <button type="submit">{t("session.other_go")}</button>
                </form>
            </details>
            <a class="new-window" href="#/" target="_blank" rel="noopener">
                <Icon name="window" /> {t("session.window", { name })}
            </a>
        </div>
    );
}

export function Who() {
    const profile = profileOf(me.value);
    const name = nameOf(profile?.name ?? "", me.value);
    const token = claims.value;
    return (
        <section class="who" aria-label={t("session.as")}>
            <a class="who-name" href="#/profile">
                <Avatar id={me.value} name={name} url={profile?.avatar ?? ""} />
                <span>
                    <strong>{name}</strong>
                    <small>
                        #{me.value} · {t(`session.role.${token?.role ?? "user"}`)}
                    </small>
                </span>
            </a>
            {maySwitch.value ? <Switch /> : null}
            <p class="who-foot">
                {token ? <small>{t("session.until", { time: shortTime(token.expiresAtMs) })}</small> : null}
                <button type="button" class="quiet small" onClick={signOut}>
                    <Icon name="exit" /> {t("session.out")}
                </button>
            </p>
        </section>
    );
}
