/** Server-sent events out of bytes, as they come. EventSource would do it, but cannot send a token. */
export interface SseEvent {
    name: string;
    data: string;
    id: string | null;
}

/** Events of a body, until it ends. Lines end with LF, as our server writes them, or with CR LF. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<SseEvent | "heartbeat"> {
    const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
    let rest = "";
    let lines: string[] = [];
    for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        rest += value;
        const cut = rest.split(/\r?\n/);
        rest = cut.pop() ?? "";
        for (const line of cut) {
            if (line.startsWith(":")) {
                yield "heartbeat";
            } else if (line !== "") {
                lines.push(line);
            } else if (lines.length) {
                yield eventOf(lines);
                lines = [];
            }
        }
    }
}

function eventOf(lines: string[]): SseEvent {
    const event: SseEvent = { name: "message", data: "", id: null };
    const data: string[] = [];
    for (const line of lines) {
        const colon = line.indexOf(":");
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "data") data.push(value);
        else if (field === "event") event.name = value;
        else if (field === "id") event.id = value;
    }
    return { ...event, data: data.join("\n") };
}
