import { call } from "../api/client";
import type { SceneRow } from "../api/types";
import { t } from "../i18n";
import { confirm } from "../state/confirm";
import { complain } from "../state/toasts";
import { Icon } from "../ui/Icon";

interface Props {
    scenes: SceneRow[];
    current: number;
    isAuthor: boolean;
    choose: (row: SceneRow) => void;
    changed: () => void;
}

async function remove(row: SceneRow, changed: () => void): Promise<void> {
    if (!(await confirm(t("story.delete_ask", { title: row.title }), t("app.delete")))) return;
    try {
        await call("delete", "/v1/scenes/{scene_id}", { path: { scene_id: row.id } });
        changed();
    } catch (error) {
        complain(error);
    }
}

export function SceneList({ scenes, current, isAuthor, choose, changed }: Props) {
    return (
        <details class="scenes">
            <summary>{t("story.scenes")}</summary>
            <ol>
                {scenes.map((row) => (
                    <li key={row.id}>
                        <button
                            type="button"
                            class="link"
                            aria-current={row.id === current ? "step" : undefined}
                            onClick={(event) => {
                                event.currentTarget.closest("details")?.removeAttribute("open");
                                choose(row);
                            }}
                        >
                            {t("story.scene", { n: row.number, title: row.title })}
                        </button>
                        <span class="hint">
                            {row.message_count === 1
                                ? t("story.message_one")
                                : t("story.messages", { n: row.message_count })}
                        </span>
                        {isAuthor ? (
                            <button
                                type="button"
                                class="quiet"
                                aria-label={t("story.delete_scene", { n: row.number })}
                                onClick={() => void remove(row, changed)}
                            >
                                <Icon name="trash" />
                            </button>
                        ) : null}
                    </li>
                ))}
            </ol>
        </details>
    );
}
