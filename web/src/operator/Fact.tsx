/** A number with its name, for a list of them. */
import { type Key, t } from "../i18n";

export function Fact({ name, value, bad = false }: { name: Key; value: string; bad?: boolean }) {
    return (
        <div class={bad ? "fact bad" : "fact"}>
            <dt>{t(name)}</dt>
            <dd>{value}</dd>
        </div>
    );
}
