export const stories = {
    "nav.stories": "Stories",
} as const;
