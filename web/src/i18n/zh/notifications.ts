import type { notifications as en } from "../en/notifications";

export const notifications: Record<keyof typeof en, string> = {
    "nav.notifications": "通知",
};
