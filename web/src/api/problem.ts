/** What a call failed with: the API's problem (RFC 9457), or no answer at all. */
export class Problem extends Error {
    constructor(
        readonly status: number, // 0: the server was not reached
        readonly code: string,
        readonly detail: string,
        readonly more: { field?: string; post_title?: string; notice?: string; retryAfterS?: number } = {},
    ) {
        super(`${status} ${code}: ${detail}`);
    }
}

/** The problem that an answer describes, also where something on the way answered otherwise. */
export async function problemOf(answer: Response): Promise<Problem> {
    let body: Record<string, unknown> = {};
    try {
        const read: unknown = await answer.json();
        if (typeof read === "object" && read !== null) body = read as Record<string, unknown>;
    } catch {
        // not JSON: the status must do
    }
    const text = (name: string) => (typeof body[name] === "string" ? (body[name] as string) : undefined);
    const wait = Number(answer.headers.get("Retry-After"));
    return new Problem(answer.status, text("code") ?? "unknown", text("detail") ?? answer.statusText, {
        ...pick("field", text("field")),
        ...pick("post_title", text("post_title")),
        ...pick("notice", text("notice")),
        ...(wait > 0 ? { retryAfterS: wait } : {}),
    });
}

function pick<K extends string>(name: K, value: string | undefined): Partial<Record<K, string>> {
    return value === undefined ? {} : ({ [name]: value } as Record<K, string>);
}
