export const operator = {
    "nav.operator": "Operation",
} as const;
