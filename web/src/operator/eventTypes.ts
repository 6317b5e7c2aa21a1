/** What can happen, as the API names it. */
import type { EventRow } from "../api/types";

export type EventType = EventRow["type"];

/** Complete, or it does not compile. */
const types: Record<EventType, true> = {
    FollowCreated: true,
    FollowCanceled: true,
    InboxPurged: true,
    ProfileChanged: true,
    PostPublished: true,
    PostEdited: true,
    PostDeleted: true,
    PostRead: true,
    PostUnread: true,
    InboxRead: true,
    ReactionCreated: true,
    ReactionDeleted: true,
    CommentCreated: true,
    CommentHidden: true,
    CommentRestored: true,
    CommentDeleted: true,
    ScenePublished: true,
    SceneEdited: true,
    SceneDeleted: true,
    SubscriptionCreated: true,
    SubscriptionDeleted: true,
    PreferencesChanged: true,
};

export const eventTypes = Object.keys(types) as EventType[];
