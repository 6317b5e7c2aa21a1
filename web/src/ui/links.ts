/** Addresses in texts. */
import { webAddress } from "./pictures";

export type Piece = { text: string; url?: string };

/** From http(s):// to a space, a quote or a mark that ends sentences in Chinese; other marks at the end are the sentence's. */
const ADDRESS = /https?:\/\/[^\s<>"'“”‘’「」『』《》（）【】，。、；：！？]+/gi;
const SENTENCE = /[.,;:!?\]}*_~]+$/;

/** "(see https://a.example/b)": a bracket that was not opened in the address is not the address's. */
function trimmed(found: string): string {
    let text = found.replace(SENTENCE, "");
    while (text.endsWith(")") && text.split("(").length < text.split(")").length)
        text = text.slice(0, -1).replace(SENTENCE, "");
    return text;
}

/** The text cut at its addresses; together the pieces are the text. */
export function cutAtLinks(text: string): Piece[] {
    const pieces: Piece[] = [];
    let done = 0;
    for (const match of text.matchAll(ADDRESS)) {
        const shown = trimmed(match[0]);
        const url = webAddress(shown);
        if (!url) continue;
        if (match.index > done) pieces.push({ text: text.slice(done, match.index) });
        pieces.push({ text: shown, url });
        done = match.index + shown.length;
    }
    if (done < text.length) pieces.push({ text: text.slice(done) });
    return pieces;
}
