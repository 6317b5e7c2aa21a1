/** Every page: the first word of the address and what it shows. A new page is a row here. */
import type { ComponentType } from "preact";
import type { Key } from "./i18n";
import { NotificationsPage } from "./notifications/NotificationsPage";
import { OperatorPage } from "./operator/OperatorPage";
import { AuthorPage } from "./reader/AuthorPage";
import { HistoryPage } from "./reader/HistoryPage";
import { HotPage } from "./reader/HotPage";
import { InboxPage } from "./reader/InboxPage";
import { PeoplePage } from "./reader/PeoplePage";
import { PostPage } from "./reader/PostPage";
import { ProfilePage } from "./reader/ProfilePage";
import { SavedPage } from "./reader/SavedPage";
import { WritePage } from "./reader/WritePage";
import { StoriesPage } from "./story/StoriesPage";
import { StoryPage } from "./story/StoryPage";

export interface PageRow {
    component: ComponentType;
    title: Key;
    /** The row of the navigation that it belongs to. */
    under: string;
}

export const pages: Record<string, PageRow> = {
    inbox: { component: InboxPage, title: "nav.inbox", under: "inbox" },
    post: { component: PostPage, title: "post.title", under: "inbox" },
    user: { component: AuthorPage, title: "author.title", under: "" },
    following: { component: PeoplePage, title: "people.following", under: "" },
    followers: { component: PeoplePage, title: "people.followers", under: "" },
    hot: { component: HotPage, title: "nav.hot", under: "hot" },
    history: { component: HistoryPage, title: "nav.history", under: "history" },
    saved: { component: SavedPage, title: "nav.saved", under: "saved" },
    write: { component: WritePage, title: "write.title", under: "write" },
    profile: { component: ProfilePage, title: "profile.title", under: "profile" },
    stories: { component: StoriesPage, title: "nav.stories", under: "stories" },
    story: { component: StoryPage, title: "nav.stories", under: "stories" },
    notifications: { component: NotificationsPage, title: "nav.notifications", under: "notifications" },
    operator: { component: OperatorPage, title: "nav.operator", under: "operator" },
};

export const FIRST = "inbox";
