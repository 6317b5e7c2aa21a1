/**
 * How far each page was scrolled, so that going back leads to where one was. Noted while scrolling:
 * when a page has been exchanged for another, it is too late to ask.
 */
const positions = new Map<string, number>();
const MOST = 100;
let current = "";

history.scrollRestoration = "manual";

addEventListener(
    "scroll",
    () => {
        positions.delete(current);
        positions.set(current, scrollY);
        const oldest = positions.keys().next();
        if (positions.size > MOST && !oldest.done) positions.delete(oldest.value);
    },
    { passive: true },
);

/** The page is shown: to where it was left. */
export function restoreScroll(where: string): void {
    current = where;
    scrollTo(0, positions.get(where) ?? 0);
}
