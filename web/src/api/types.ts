/** Short names for what the API answers, out of the types that are generated from its document. */
import type { components } from "../generated/openapi";

type Schemas = components["schemas"];

export type Kind = Schemas["Kind"];
export type Part = Schemas["Part"];
export type Post = Schemas["Post"];
export type Item = Schemas["Item"];
export type Unread = Schemas["Unread"];
export type UnreadRow = Schemas["UnreadRow"];
export type HistoryRow = Schemas["HistoryRow"];
export type HotRow = Schemas["HotRow"];
export type Comment = Schemas["Comment"];
export type CommentStats = Schemas["CommentStats"];
export type PostStats = Schemas["PostStats"];
export type Profile = Schemas["Profile"];
export type ProfileRow = Schemas["ProfileRow"];
export type Counters = Schemas["Counters"];
export type RelationStatus = Schemas["RelationStatus"];
export type UserRow = Schemas["UserRow"];
export type PostEvent = Schemas["PostEvent"];
export type BadgeEvent = Schemas["BadgeEvent"];
export type NotificationEvent = Schemas["NotificationEvent"];
export type UnreadEvent = Schemas["UnreadEvent"];
export type ChangedEvent = Schemas["ChangedEvent"];
export type ActivityEvent = Schemas["ActivityEvent"];

/** A page of a list. */
export interface Page<T> {
    items: T[];
    next_cursor: string | null;
}

export type SceneRow = Schemas["SceneRow"];
export type Scene = Schemas["Scene"];
export type Reading = Schemas["Reading"];
export type Subscription = Schemas["SubscriptionRow"];
export type Notification = Schemas["Notification"];
export type EventRow = Schemas["Event"];
export type Webhook = Schemas["Webhook"];
export type Target = Schemas["Target"];
export type Status = Schemas["Status"];
export type Replica = Schemas["ReplicaStatus"];
export type Samples = Schemas["Samples"];
export type Job = Schemas["Job"];
export type VerifyAnswer = Schemas["VerifyAnswer"];
export type BackupAnswer = Schemas["BackupAnswer"];
