/** Names of users, asked for once and kept: lists give them for most, but not for all. */
import { signal } from "@preact/signals";
import { call } from "../api/client";
import type { Profile } from "../api/types";

export const profiles = signal<ReadonlyMap<number, Profile>>(new Map());
const asked = new Set<number>();

export function keepProfile(profile: Profile): void {
    profiles.value = new Map(profiles.value).set(profile.user_id, profile);
}

/** The profile if it is known; if not, it is asked for, and the reader of the signal sees it come. */
export function profileOf(id: number): Profile | undefined {
    if (id && !asked.has(id)) {
        asked.add(id);
        call("get", "/v1/users/{user_id}", { path: { user_id: id } }).then(keepProfile, () => asked.delete(id));
    }
    return profiles.value.get(id);
}
