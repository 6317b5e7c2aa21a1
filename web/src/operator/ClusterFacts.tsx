/** In a cluster: the database, the servers that share it, and what waits on this one. */
import type { ClusterStatus } from "../api/types";
import { t } from "../i18n";
import { number } from "../ui/format";
import { Fact } from "./Fact";
import { duration, seconds } from "./units";

/** Who is so far behind makes people wait for what others did. */
const LAG_MS = 1000;
const QUEUE = 1000;
const KAFKA_MS = 60_000;

/** How far Kafka is behind, and why if it cannot be told. */
function KafkaFacts({ kafka }: { kafka: NonNullable<ClusterStatus["kafka"]> }) {
    return (
        <>
            <Fact
                name="cluster.kafka"
                value={kafka.trouble || seconds(kafka.oldest_ms_ago / 1000)}
                bad={kafka.trouble !== "" || kafka.oldest_ms_ago > KAFKA_MS}
            />
            <Fact name="cluster.dead" value={number(kafka.dead)} bad={kafka.dead > 0} />
        </>
    );
}

function sum(numbers: number[]): number {
    return numbers.reduce((all, one) => all + one, 0);
}

function Servers({ servers }: { servers: ClusterStatus["servers"] }) {
    return (
        <div class="table" role="region" aria-label={t("cluster.servers")} tabIndex={0}>
            <table>
                <thead>
                    <tr>
                        <th scope="col">{t("cluster.server")}</th>
                        <th scope="col">{t("cluster.state")}</th>
                        <th scope="col">{t("cluster.seen")}</th>
                    </tr>
                </thead>
                <tbody>
                    {servers.map((server) => (
                        <tr key={server.slot}>
                            <th scope="row">{t(server.own ? "cluster.this" : "cluster.slot", { n: number(server.slot) })}</th>
                            <td class={server.running ? "" : "bad"}>{t(server.running ? "cluster.running" : "cluster.silent")}</td>
                            <td>{t("cluster.ago", { time: duration(server.seen_ms_ago) })}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

export function ClusterFacts({ cluster }: { cluster: ClusterStatus }) {
    const { mysql, servers, news, queues } = cluster;
    return (
        <section aria-label={t("cluster.title")}>
            <h3>{t("cluster.title")}</h3>
            <dl class="facts">
                <Fact
                    name="cluster.database"
                    value={t(mysql.reachable ? "cluster.answers" : "cluster.no_answer")}
                    bad={!mysql.reachable}
                />
                <Fact name="cluster.version" value={mysql.version} />
                <Fact name="cluster.tables" value={number(mysql.tables)} />
                <Fact name="cluster.round_trip" value={seconds(mysql.round_trip_us / 1e6)} />
                <Fact name="cluster.servers" value={number(servers.filter((server) => server.running).length)} />
                <Fact name="cluster.lag" value={seconds(news.lag_ms / 1000)} bad={news.lag_ms > LAG_MS} />
                <Fact name="cluster.lanes" value={number(sum(queues.lanes))} bad={sum(queues.lanes) > QUEUE} />
                <Fact name="cluster.readers" value={number(queues.readers)} bad={queues.readers > QUEUE} />
                {cluster.kafka && <KafkaFacts kafka={cluster.kafka} />}
            </dl>
            <Servers servers={servers} />
        </section>
    );
}
