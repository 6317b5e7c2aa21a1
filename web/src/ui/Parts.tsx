/** A text with its pictures, as the API cuts it. Text is text; a picture is one only from the web. */
import { useState } from "preact/hooks";
import type { Part } from "../api/types";
import { t } from "../i18n";
import { safePicture } from "./pictures";

function Picture({ address }: { address: string }) {
    const [broken, setBroken] = useState(false);
    const url = safePicture(address);
    if (!url) return <span class="picture-odd">{t("post.picture_odd", { url: address })}</span>;
    if (broken)
        return (
            <a class="picture-odd" href={url} target="_blank" rel="noopener noreferrer">
                {t("post.picture")}: {url}
            </a>
        );
    return (
        <img
            class="picture"
            src={url}
            alt={t("post.picture")}
            loading="lazy"
            referrerpolicy="no-referrer"
            onError={() => setBroken(true)}
        />
    );
}

export function Parts({ parts }: { parts: Part[] }) {
    return (
        <>
            {parts.map((part, i) =>
                part.img !== undefined ? <Picture key={i} address={part.img} /> : <span key={i}>{part.text}</span>)}
        </>
    );
}
