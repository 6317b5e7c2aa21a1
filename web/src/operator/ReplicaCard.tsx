/** What a server is among those that share its data, and how far it and the others are. A lone server has none. */
import type { Replica } from "../api/types";
import { t } from "../i18n";
import { number } from "../ui/format";
import { Fact } from "./Fact";
import { duration } from "./units";

function FollowingFacts({ following }: { following: NonNullable<Replica["following"]> }) {
    return (
        <>
            <Fact
                name="replica.following"
                value={following.connected ? following.address : t("replica.not_connected", { address: following.address })}
                bad={!following.connected}
            />
            <Fact name="replica.behind" value={number(following.behind)} bad={following.broken} />
            <Fact
                name="replica.age"
                value={following.age_ms === null ? t("replica.never") : duration(following.age_ms)}
                bad={following.age_ms === null}
            />
        </>
    );
}

/** Why it does not get on, or what MySQL lacks; empty: nothing. */
function troubleOf(replica: Replica): string {
    if (replica.following?.trouble) return replica.following.trouble;
    if (replica.following?.rejoin) return t("replica.rejoins");
    return replica.log?.warning ?? "";
}

export function ReplicaCard({ replica }: { replica: Replica }) {
    const trouble = troubleOf(replica);
    return (
        <section class="card shared" data-replica={replica.role}>
            <h3>{t("replica.title")}</h3>
            <dl class="facts small">
                <Fact name="replica.role" value={t(`replica.role.${replica.role}`)} bad={replica.role === "replaced"} />
                <Fact name="replica.position" value={number(replica.position)} />
                <Fact name="replica.era" value={number(replica.era)} />
                {replica.following ? <FollowingFacts following={replica.following} /> : null}
                {replica.log ? <Fact name="replica.records" value={number(replica.log.records)} /> : null}
            </dl>
            {replica.followers.length ? (
                <>
                    <h4>{t("replica.followers")}</h4>
                    <ul class="followers">
                        {replica.followers.map((one, i) => (
                            <li key={`${i} ${one.address}`}>
                                <code>{one.address || t("replica.no_address")}</code>{" "}
                                {t("replica.follower_behind", { n: number(Math.max(0, replica.position - one.position)) })}
                            </li>
                        ))}
                    </ul>
                </>
            ) : null}
            {trouble ? (
                <p class="warning" role="alert">
                    {trouble}
                </p>
            ) : null}
        </section>
    );
}
