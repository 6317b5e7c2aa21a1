import { call } from "../api/client";
import type { SceneRow } from "../api/types";
import { t } from "../i18n";
import { confirm } from "../state/confirm";
import { complain } from "../state/toasts";
import { counted } from "../ui/format";
import { Icon } from "../ui/Icon";

interface Props {
    scenes: SceneRow[];
    current: number;
    isAuthor: boolean;
    choose: (row: SceneRow) => void;
    edit: (row: SceneRow) => void;
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

function close(event: { currentTarget: Element }): void {
    event.currentTarget.closest("details")?.removeAttribute("open");
}

export function SceneList({ scenes, current, isAuthor, choose, edit, changed }: Props) {
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
                                close(event);
                                choose(row);
                            }}
                        >
                            {t("story.scene", { n: row.number, title: row.title })}
                        </button>
                        <span class="hint">
                            {counted("story.messages", row.message_count)}
                        </span>
                        {isAuthor ? (
                            <>
                                <button
                                    type="button"
                                    class="quiet"
                                    aria-label={t("story.edit_scene", { n: row.number })}
                                    onClick={(event) => {
                                        close(event);
                                        edit(row);
                                    }}
                                >
                                    <Icon name="pen" />
                                </button>
                                <button
                                    type="button"
                                    class="quiet"
                                    aria-label={t("story.delete_scene", { n: row.number })}
                                    onClick={() => void remove(row, changed)}
                                >
                                    <Icon name="trash" />
                                </button>
                            </>
                        ) : null}
                    </li>
                ))}
            </ol>
        </details>
    );
}
