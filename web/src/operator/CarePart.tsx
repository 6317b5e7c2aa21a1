/** Verify and backup: one at a time on the server, whoever began it; this page shows how far it is. */
import { useState } from "preact/hooks";
import { call } from "../api/client";
import { Problem } from "../api/problem";
import type { BackupAnswer, Job, VerifyAnswer } from "../api/types";
import { t } from "../i18n";
import { confirm } from "../state/confirm";
import { explain } from "../state/toasts";
import { number } from "../ui/format";
import { bytes, duration } from "./units";
import { usePoll } from "./usePoll";

const IDLE_MS = 3000;
const BUSY_MS = 400;

function Progress({ job }: { job: Job }) {
    const show = job.kind === "verify" ? number : bytes;
    const text =
        job.total === 0
            ? t("care.starting")
            : t(job.kind === "verify" ? "care.rows" : "care.bytes", { done: show(job.done), total: show(job.total) });
    return (
        <div class="job card">
            <p id="job-name">
                <strong>{t(`care.job.${job.kind}`)}</strong> {job.part} · {duration(Math.max(0, Date.now() - job.started_at))}
            </p>
            <progress
                aria-labelledby="job-name"
                {...(job.total ? { max: job.total, value: job.done } : {})}
            />
            <p class="hint">{text}</p>
        </div>
    );
}

function problemText(error: unknown): string {
    if (error instanceof Problem && error.code === "no_backup_dir") return t("care.no_dir");
    if (error instanceof Problem && error.code === "exists") return t("care.exists");
    if (error instanceof Problem && error.code === "busy") return t("care.busy");
    return explain(error);
}

function Outcome({ text, bad }: { text: string; bad: boolean }) {
    return (
        <p class={bad ? "outcome bad" : "outcome"} role="status">
            {text}
        </p>
    );
}

interface PartProps {
    busy: boolean;
    /** Runs it, and shows how far it is meanwhile. */
    during: <T>(run: () => Promise<T>) => Promise<T>;
}

function Verify({ busy, during }: PartProps) {
    const [repair, setRepair] = useState(false);
    const [found, setFound] = useState<(VerifyAnswer & { ms: number }) | null>(null);
    const [error, setError] = useState("");
    const verify = async () => {
        if (repair && !(await confirm(t("care.repair_ask"), t("care.verify_go")))) return;
        setFound(null);
        setError("");
        const begun = performance.now();
        try {
            const answer = await during(() => call("post", "/v1/admin/verify", { body: { repair }, admin: true }));
            setFound({ ...answer, ms: performance.now() - begun });
        } catch (problem) {
            setError(problemText(problem));
        }
    };
    const summary =
        found &&
        (found.differences
            ? t("care.verify_found", {
                  d: number(found.differences),
                  n: number(found.checked),
                  r: number(found.repaired),
              })
            : t("care.verify_fine", { n: number(found.checked), s: duration(Math.max(1000, found.ms)) }));
    return (
        <section class="card" aria-labelledby="verify">
            <h3 id="verify">{t("care.verify")}</h3>
            <p>{t("care.verify_lead")}</p>
            <label class="toggle">
                <input type="checkbox" checked={repair} onChange={(event) => setRepair(event.currentTarget.checked)} />
                <span>{t("care.repair")}</span>
            </label>
            <div class="buttons">
                <button type="button" class="primary" disabled={busy} onClick={() => void verify()}>
                    {t("care.verify_go")}
                </button>
            </div>
            {summary ? <Outcome text={summary} bad={!!found?.differences} /> : null}
            {error ? <Outcome text={error} bad /> : null}
            {found?.report ? (
                <details open>
                    <summary>{t("care.report")}</summary>
                    <pre tabIndex={0}>{found.report}</pre>
                </details>
            ) : null}
        </section>
    );
}

/** 2026-11-15-143000: sorts by time, and is a name that the server takes. */
function newName(): string {
    const now = new Date(Date.now() - new Date().getTimezoneOffset() * 60_000).toISOString();
    return `${now.slice(0, 10)}-${now.slice(11, 19).replaceAll(":", "")}`;
}

function Backup({ busy, during }: PartProps) {
    const [name, setName] = useState(newName);
    const [made, setMade] = useState<BackupAnswer | null>(null);
    const [error, setError] = useState("");
    const backup = async (event: Event) => {
        event.preventDefault();
        setMade(null);
        setError("");
        try {
            setMade(await during(() => call("post", "/v1/admin/backup", { body: { name: name.trim() }, admin: true })));
            setName(newName());
        } catch (problem) {
            setError(problemText(problem));
        }
    };
    return (
        <section class="card" aria-labelledby="backup">
            <h3 id="backup">{t("care.backup")}</h3>
            <p>{t("care.backup_lead")}</p>
            <form class="form" onSubmit={(event) => void backup(event)}>
                <label for="backup-name">{t("care.backup_name")}</label>
                <input
                    id="backup-name"
                    required
                    maxLength={64}
                    value={name}
                    onInput={(event) => setName(event.currentTarget.value)}
                    aria-describedby="backup-hint"
                />
                <p class="hint" id="backup-hint">
                    {t("care.backup_name_hint")}
                </p>
                <div class="buttons">
                    <button type="submit" class="primary" disabled={busy}>
                        {t("care.backup_go")}
                    </button>
                </div>
            </form>
            {made ? (
                <Outcome
                    text={t("care.backup_done", { name: made.name, size: bytes(made.bytes), batch: number(made.batch) })}
                    bad={false}
                />
            ) : null}
            {error ? <Outcome text={error} bad /> : null}
        </section>
    );
}

export function CarePart() {
    const [job, setJob] = useState<Job | null>(null);
    const [asking, setAsking] = useState(false);
    const busy = asking || job !== null;
    usePoll(
        async (signal) => {
            const status = await call("get", "/v1/admin/status", { admin: true, signal }).catch(() => null);
            if (!signal.aborted) setJob(status?.job ?? null);
        },
        busy ? BUSY_MS : IDLE_MS,
    );
    const during = async <T,>(run: () => Promise<T>): Promise<T> => {
        setAsking(true);
        try {
            return await run();
        } finally {
            setAsking(false);
            setJob(null);
        }
    };
    return (
        <>
            {job ? <Progress job={job} /> : null}
            <div class="cards">
                <Verify busy={busy} during={during} />
                <Backup busy={busy} during={during} />
            </div>
        </>
    );
}
