/** The address of a picture that may be loaded: of the web, nothing else. Null otherwise. */
export function safePicture(address: string): string | null {
    try {
        const url = new URL(address);
        return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
    } catch {
        return null;
    }
}
