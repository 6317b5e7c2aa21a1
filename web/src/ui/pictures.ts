/** An address of the web, http or https and nothing else, in its full form; null otherwise. */
export function webAddress(address: string): string | null {
    try {
        const url = new URL(address);
        return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
    } catch {
        return null;
    }
}

/** Of the demo community: the server has these itself. */
const OWN = /^\/assets\/demo-[a-z]+\.svg$/;

/** The address of a picture that may be loaded. */
export function safePicture(address: string): string | null {
    return OWN.test(address) ? address : webAddress(address);
}
