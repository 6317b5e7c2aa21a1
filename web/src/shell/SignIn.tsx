import { useEffect, useState } from "preact/hooks";
import { t } from "../i18n";
import { signIn } from "../state/session";
import { Brand } from "./Brand";
import { Preferences } from "./Preferences";

export function SignIn() {
    const [token, setToken] = useState("");
    const [bad, setBad] = useState(false);
    const title = t("signin.title");
    useEffect(() => {
        document.title = `${title} · ${t("app.name")}`; // and no number of whoever was here
    }, [title]);
    return (
        <main class="sign-in">
            <Brand />
            <h1>{title}</h1>
            <p>{t("signin.lead")}</p>
            <form
                onSubmit={(event) => {
                    event.preventDefault();
                    setBad(!signIn(token));
                }}
            >
                <label for="token">{t("signin.token")}</label>
                <textarea
                    id="token"
                    rows={4}
                    value={token}
                    onInput={(event) => setToken(event.currentTarget.value)}
                    autocomplete="off"
                    spellcheck={false}
                    required
                    aria-describedby="token-hint"
                    aria-invalid={bad}
                />
                <p id="token-hint" class="hint">
                    {t("signin.token_hint")}
                </p>
                {bad ? (
                    <p class="field-error" role="alert">
                        {t("signin.bad")}
                    </p>
                ) : null}
                <button type="submit" class="primary">
                    {t("signin.go")}
                </button>
            </form>
            <p class="hint">{t("signin.try")}</p>
            <p class="hint">{t("signin.make")}</p>
            <Preferences />
        </main>
    );
}
