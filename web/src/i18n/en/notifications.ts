export const notifications = {
    "nav.notifications": "Notifications",
    "bell.unread": "{n} unread notifications",
    "bell.mark_all": "Mark all as read",
    "bell.mark": "Mark as read",
    "bell.marked": "{n} marked as read",
    "bell.scene": "A new scene: {title}",
    "bell.none": "Nothing yet. Subscribe to a story and be told here when it goes on.",
    "bell.to_stories": "To the stories",
    "bell.settings": "Settings",
    "bell.story_updates": "Tell me of new scenes of stories that I subscribe to",
    "bell.story_updates_hint": "While this is off nothing is kept for later either.",
} as const;
