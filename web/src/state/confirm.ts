/** Asks before what cannot be undone. */
import { signal } from "@preact/signals";

export interface Question {
    text: string;
    yes: string;
    answer: (yes: boolean) => void;
}

export const question = signal<Question | null>(null);

export function confirm(text: string, yes: string): Promise<boolean> {
    return new Promise((done) => {
        question.value = {
            text,
            yes,
            answer: (given) => {
                question.value = null;
                done(given);
            },
        };
    });
}
