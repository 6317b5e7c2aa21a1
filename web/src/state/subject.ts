/** What the page is about, for the window's title: a post's title, once it is known. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Null: the page's own name will do. */
export const subject = signal<string | null>(null);

export function useSubject(text: string | null | undefined): void {
    useEffect(() => {
        subject.value = text || null;
        return () => {
            subject.value = null;
        };
    }, [text]);
}
