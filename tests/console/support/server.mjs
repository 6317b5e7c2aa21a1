// A real `tidings serve` in a directory of its own, on a free port, and calls to it as any user.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const program = process.env.TIDINGS_BIN ?? join(root, "build/tidings");
export const SECRET = "a secret of the console's tests, 32 bytes and more";
const START_MS = 30_000;

/** Each server has a directory, and a log in MySQL that it shares with those `beside` it. */
export const isReplica = process.env.TIDINGS_TEST_ENGINE === "replica";

/** How many servers a stage has, on the engine `replica`. */
export const servers = isReplica ? Number(process.env.TIDINGS_TEST_SERVERS ?? 1) : 1;

function run(...args) {
    const done = spawnSync(program, args, { env: { ...process.env, TIDINGS_JWT_SECRET: SECRET }, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`tidings ${args.join(" ")}: ${done.stderr}`);
    return done.stdout.trim();
}

/** An empty database, if there is none of the name. */
function makeDatabase(name) {
    const socket = /socket=([^&]*)/.exec(process.env.TIDINGS_TEST_MYSQL)[1];
    const done = spawnSync("mariadb", ["--no-defaults", `--socket=${socket}`, "--user=root", "--execute",
        `CREATE DATABASE IF NOT EXISTS ${name}`], { encoding: "utf8" });
    if (done.status !== 0) throw new Error(`no database: ${done.stderr}`);
}

/** How the program is told where its data is; `shared` names the database. */
function placeOf(dir, shared) {
    const data = ["--data", join(dir, "data")];
    if (!isReplica) return data;
    const name = `c_${createHash("sha256").update(shared).digest("hex").slice(0, 16)}`;
    const mysql = ["--mysql", process.env.TIDINGS_TEST_MYSQL.replace("/?", `/${name}?`)];
    makeDatabase(name);
    return [...data, ...mysql, "--freshness", "exact"];
}

const generous = ["--follow-burst", "100000", "--react-burst", "100000", "--comment-burst", "100000", "--publish-burst",
    "100000"];

export class Server {
    #child = null;
    #dir;
    #shared;
    #members = [this];
    #tokens = new Map();
    #log = "";
    port = 0;
    /** What `serve --dev` printed; empty without it. */
    link = "";

    /** `args` are further flags; it may be `beside` another, on the same database. */
    constructor({ dev = false, args = [], beside = null } = {}) {
        this.dev = dev;
        this.args = args;
        this.#dir = beside && !isReplica ? beside.#dir : mkdtempSync(join(tmpdir(), "tidings-console-"));
        this.#shared = beside ? beside.#shared : this.#dir;
        mkdirSync(this.backups, { recursive: true });
    }

    get origin() {
        return `http://127.0.0.1:${this.port}`;
    }

    /** Calls go to any of these from now on, at random, as long as they run. */
    joinedBy(others) {
        this.#members = [this, ...others];
    }

    /** Those that run. */
    get running() {
        return this.#members.filter((one) => one.#child);
    }

    get data() {
        return join(this.#dir, "data");
    }

    get backups() {
        return join(this.#dir, "backups");
    }

    /** Starts it, again on the same port if it ran before. */
    async start() {
        const place = placeOf(this.#dir, this.#shared);
        const places = [...place, "--backup-dir", this.backups];
        const how = ["--listen", `127.0.0.1:${this.port}`, ...(this.dev ? ["--dev"] : [])];
        const child = spawn(program, ["serve", ...places, ...how, ...generous, ...this.args], {
            env: { ...process.env, TIDINGS_JWT_SECRET: SECRET },
            stdio: ["ignore", "pipe", "pipe"],
        });
        this.#child = child;
        let out = "";
        await new Promise((done, fail) => {
            const timer = setTimeout(() => fail(new Error(`no server after ${START_MS} ms:\n${this.#log}`)), START_MS);
            const look = () => {
                const port = /listening on port (\d+)/.exec(this.#log)?.[1];
                const link = /http:\S+#dev=\S+/.exec(out)?.[0];
                if (!port || (this.dev && !link)) return;
                this.port = Number(port);
                this.link = link ?? "";
                clearTimeout(timer);
                done();
            };
            child.stdout.on("data", (data) => ((out += data), look()));
            child.stderr.on("data", (data) => ((this.#log += data), look()));
            child.on("error", fail);
            child.on("exit", (code) => fail(new Error(`the server ended with ${code}:\n${this.#log}`)));
        });
        return this;
    }

    /** Ends it, by its own pid; SIGKILL as a power failure would. */
    async stop(signal = "SIGTERM") {
        const child = this.#child;
        this.#child = null;
        if (!child || child.exitCode !== null) return;
        const ended = new Promise((done) => child.once("exit", done));
        child.kill(signal);
        await ended;
    }

    async close() {
        await this.stop();
        rmSync(this.#dir, { recursive: true, force: true });
    }

    token(user, role = "user") {
        const key = `${role} ${user}`;
        if (!this.#tokens.has(key)) {
            this.#tokens.set(key, run("token", "--user", String(user), "--role", role));
        }
        return this.#tokens.get(key);
    }

    /** With --dev the server has a key of its own, and the link has tokens of a service and of an administrator. */
    #headers(user, role) {
        if (!this.dev) return { Authorization: `Bearer ${this.token(user, role)}` };
        const tokens = new URLSearchParams(this.link.split("#")[1]);
        if (role === "admin") return { Authorization: `Bearer ${tokens.get("admin")}` };
        return { Authorization: `Bearer ${tokens.get("dev")}`, "X-User-Id": String(user) };
    }

    /** A call that must work; the answer. */
    async call(user, method, path, body, role = "user") {
        const running = this.running;
        const { origin } = running[Math.floor(Math.random() * running.length)] ?? this;
        const answer = await fetch(`${origin}${path}`, {
            method,
            headers: { ...this.#headers(user, role), "Content-Type": "application/json" },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const text = await answer.text();
        if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
        return text ? JSON.parse(text) : null;
    }

    /* ---- What tests begin with ----------------------------------------------------------------- */

    name(user, name, avatar = "") {
        return this.call(user, "PUT", "/v1/users/me", { name, avatar });
    }

    follow(fan, author) {
        return this.call(fan, "POST", "/v1/relation/follow", { user_id: author });
    }

    publish(author, title, body = "A text.", kind = "note") {
        return this.call(author, "POST", "/v1/posts", { kind, title, body });
    }

    comment(user, post, body, parent) {
        const answer = parent ? { parent_id: parent } : {};
        return this.call(user, "POST", `/v1/posts/${post}/comments`, { body, ...answer });
    }

    /** A story of the demo community, by how its title begins. */
    async demoStory(begins) {
        const { items } = await this.call(1, "GET", "/v1/hot?kind=story");
        return items.find((row) => row.title.startsWith(begins)).post_id;
    }

    scene(author, story, title, messages) {
        return this.call(author, "POST", `/v1/stories/${story}/scenes`, { title, messages });
    }
}
