export const notifications = {
    "nav.notifications": "Notifications",
} as const;
