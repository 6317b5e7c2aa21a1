import { useEffect, useState } from "preact/hooks";
import { Problem } from "../api/problem";
import { type Key, t } from "../i18n";
import { linkProblem, signIn } from "../state/session";
import { explain } from "../state/toasts";
import { Brand } from "./Brand";
import { Preferences } from "./Preferences";

/** Why the server does not take a token, by the code of its answer. */
const reasons: Record<string, Key> = {
    token_malformed: "signin.why_malformed",
    token_signature: "signin.why_signature",
    token_claims: "signin.why_claims",
    token_expired: "signin.why_expired",
    token_not_yet: "signin.why_not_yet",
    no_cookies: "signin.why_no_cookies",
};

function Why({ problem }: { problem: unknown }) {
    const reason = problem instanceof Problem ? reasons[problem.code] : undefined;
    // Where there are several mistakes of a kind, or one that is not known here, the server's own words say which.
    const words = problem instanceof Problem && (!reason || reason === "signin.why_claims") ? problem.detail : "";
    return (
        <p class="field-error" role="alert" id="token-why">
            {reason ? t(reason) : explain(problem)} {words ? <small>{words}</small> : null}
        </p>
    );
}

export function SignIn() {
    const [token, setToken] = useState("");
    const [problem, setProblem] = useState<unknown>(linkProblem.value);
    const [busy, setBusy] = useState(false);
    const title = t("signin.title");
    useEffect(() => {
        document.title = `${title} · ${t("app.name")}`; // and no number of whoever was here
    }, [title]);
    const enter = async (event: Event) => {
        event.preventDefault();
        setBusy(true);
        try {
            await signIn(token);
        } catch (wrong) {
            setProblem(wrong);
            setBusy(false);
        }
    };
    return (
        <main class="sign-in">
            <Brand />
            <h1>{title}</h1>
            <p>{t("signin.lead")}</p>
            <form onSubmit={(event) => void enter(event)}>
                <label for="token">{t("signin.token")}</label>
                <textarea
                    id="token"
                    rows={4}
                    value={token}
                    onInput={(event) => setToken(event.currentTarget.value)}
                    autocomplete="off"
                    spellcheck={false}
                    required
                    aria-describedby={problem ? "token-why token-hint" : "token-hint"}
                    aria-invalid={!!problem}
                />
                <p id="token-hint" class="hint">
                    {t("signin.token_hint")}
                </p>
                {problem ? <Why problem={problem} /> : null}
                <button type="submit" class="primary" disabled={busy}>
                    {t("signin.go")}
                </button>
            </form>
            <p class="hint">{t("signin.try")}</p>
            <p class="hint">{t("signin.make")}</p>
            <Preferences />
        </main>
    );
}
