/** A text with its pictures, as the API cuts it. Text is text; a picture or a link is one only of the web. */
import { useState } from "preact/hooks";
import type { Part } from "../api/types";
import { t } from "../i18n";
import { cutAtLinks } from "./links";
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

function Text({ text }: { text: string }) {
    return (
        <span>
            {cutAtLinks(text).map((piece, i) =>
                piece.url === undefined ? (
                    piece.text
                ) : (
                    <a key={i} href={piece.url} target="_blank" rel="noopener noreferrer">
                        {piece.text}
                    </a>
                ))}
        </span>
    );
}

export function Parts({ parts }: { parts: Part[] }) {
    return (
        <>
            {parts.map((part, i) =>
                part.img !== undefined ? <Picture key={i} address={part.img} /> : <Text key={i} text={part.text ?? ""} />)}
        </>
    );
}
