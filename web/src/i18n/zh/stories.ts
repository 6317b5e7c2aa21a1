import type { stories as en } from "../en/stories";

export const stories: Record<keyof typeof en, string> = {
    "nav.stories": "故事",
};
