import { useState } from "preact/hooks";
import { call } from "../api/client";
import type { Profile } from "../api/types";
import { t } from "../i18n";
import { keepProfile } from "../state/people";
import { me } from "../state/session";
import { complain, explain, say } from "../state/toasts";
import { Avatar, Failed, Loading } from "../ui/bits";
import { useCall } from "../ui/useCall";

function Edit({ profile }: { profile: Profile }) {
    const [name, setName] = useState(profile.name);
    const [avatar, setAvatar] = useState(profile.avatar);

    const save = async () => {
        try {
            keepProfile(await call("put", "/v1/users/me", { body: { name, avatar } }));
            say(t("profile.saved"));
        } catch (problem) {
            complain(problem);
        }
    };

    return (
        <form
            class="form"
            onSubmit={(event) => {
                event.preventDefault();
                void save();
            }}
        >
            <Avatar id={profile.user_id} name={name} url={avatar} large />
            <label for="profile-name">{t("profile.name")}</label>
            <input
                id="profile-name"
                maxLength={64}
                value={name}
                autocomplete="off"
                onInput={(event) => setName(event.currentTarget.value)}
            />
            <label for="profile-avatar">{t("profile.avatar")}</label>
            <input
                id="profile-avatar"
                type="url"
                maxLength={512}
                value={avatar}
                autocomplete="off"
                aria-describedby="profile-hint"
                onInput={(event) => setAvatar(event.currentTarget.value)}
            />
            <p id="profile-hint" class="hint">
                {t("profile.avatar_hint")}
            </p>
            <button type="submit" class="primary">
                {t("app.save")}
            </button>
        </form>
    );
}

export function ProfilePage() {
    const id = me.value;
    const profile = useCall(String(id), () => call("get", "/v1/users/{user_id}", { path: { user_id: id } }));
    return (
        <>
            <header class="page-head">
                <h1>{t("profile.title")}</h1>
            </header>
            {profile.error.value ? (
                <Failed text={explain(profile.error.value)} retry={profile.again} />
            ) : profile.value.value ? (
                <Edit profile={profile.value.value} />
            ) : (
                <Loading />
            )}
        </>
    );
}
