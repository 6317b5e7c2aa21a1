import { type Language, language, setLanguage, t } from "../i18n";
import { type Theme, theme } from "../state/theme";
import { Choices } from "../ui/bits";

export function Preferences() {
    return (
        <div class="preferences">
            <Choices<Language>
                legend={t("language.name")}
                name="language"
                choices={[
                    { value: "zh-CN", label: "中文" },
                    { value: "en", label: "English" },
                ]}
                value={language.value}
                change={setLanguage}
            />
            <Choices<Theme>
                legend={t("theme.name")}
                name="theme"
                choices={(["auto", "light", "dark"] as const).map((value) => ({ value, label: t(`theme.${value}`) }))}
                value={theme.value}
                change={(value) => {
                    theme.value = value;
                }}
            />
        </div>
    );
}
