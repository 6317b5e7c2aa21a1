/** Whether the name, or a word of it, begins with what was typed. Case and accents do not matter. */
export function hasPrefix(name: string, typed: string): boolean {
    const wanted = plain(typed.trim());
    const all = plain(name);
    return all.startsWith(wanted) || all.split(/\s+/).some((word) => word.startsWith(wanted));
}

function plain(text: string): string {
    return text.normalize("NFD").replace(/\p{M}/gu, "").toLocaleLowerCase();
}
