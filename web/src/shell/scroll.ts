/** How far each page was scrolled, so that going back leads to where one was. */
const positions = new Map<string, number>();
const MOST = 100;

export function rememberScroll(where: string): void {
    positions.delete(where);
    positions.set(where, scrollY);
    const oldest = positions.keys().next();
    if (positions.size > MOST && !oldest.done) positions.delete(oldest.value);
}

export function restoreScroll(where: string): void {
    scrollTo(0, positions.get(where) ?? 0);
}
