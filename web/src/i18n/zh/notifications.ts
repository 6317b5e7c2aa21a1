import type { notifications as en } from "../en/notifications";

export const notifications: Record<keyof typeof en, string> = {
    "nav.notifications": "通知",
    "bell.unread": "{n} 条未读通知",
    "bell.mark_all": "全部标为已读",
    "bell.mark": "标为已读",
    "bell.marked": "已将 {n} 条标为已读",
    "bell.scene": "新场景：{title}",
    "bell.none": "还没有通知。订阅故事，更新时会在这里告诉你。",
    "bell.to_stories": "去看故事",
    "bell.settings": "设置",
    "bell.story_updates": "订阅的故事有新场景时通知我",
    "bell.story_updates_hint": "关闭期间的更新之后也不会补发。",
};
