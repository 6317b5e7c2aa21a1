/** An address of the web, http or https and nothing else, in its full form; null otherwise. */
export function webAddress(address: string): string | null {
    try {
        const url = new URL(address);
        return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
    } catch {
        return null;
    }
}

/** The address of a picture that may be loaded. */
export const safePicture = webAddress;
