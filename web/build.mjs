// Builds the console: types from the OpenAPI document, type check, one script and one style sheet.
//
//   node build.mjs OUT          writes OUT/console.{html,js,css,svg} and OUT/console.d (what they depend on)
//   node build.mjs --check      only generates the types and checks
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(fileURLToPath(import.meta.url));
const document = resolve(web, "../docs/openapi.json");
const lock = join(web, "package-lock.json");
const installed = join(web, "node_modules/.package-lock.json");
const schema = join(web, "src/generated/openapi.ts");

function run(command, ...args) {
    const done = spawnSync(command, args, { cwd: web, encoding: "utf8" });
    if (done.error || done.status !== 0) {
        process.stderr.write(`${done.stdout ?? ""}${done.stderr ?? ""}${done.error ?? ""}\n`);
        console.error(`console: ${command} ${args.join(" ")} failed`);
        process.exit(1);
    }
}

/** Whether `made` is there and no older than any of `from`. */
function isFresh(made, ...from) {
    return existsSync(made) && from.every((file) => statSync(file).mtimeMs <= statSync(made).mtimeMs);
}

function install() {
    if (!isFresh(installed, lock))
        run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error");
}

/** The answers' and requests' types. Written only if they changed, so that the time of the file tells. */
async function generate() {
    if (isFresh(schema, document, lock, fileURLToPath(import.meta.url))) return;
    const { default: openapi, astToString } = await import("openapi-typescript");
    const text = astToString(await openapi(JSON.parse(readFileSync(document, "utf8")), { defaultNonNullable: false }));
    mkdirSync(dirname(schema), { recursive: true });
    writeFileSync(schema, text);
}

async function bundle(out) {
    const { build } = await import("esbuild");
    await build({
        absWorkingDir: web,
        entryPoints: { console: "src/main.tsx" },
        outdir: out,
        bundle: true,
        minify: true,
        format: "esm",
        target: ["es2022", "chrome110", "firefox110", "safari16"],
        jsx: "automatic",
        jsxImportSource: "preact",
        charset: "utf8",
        legalComments: "none",
        logLevel: "warning",
    });
    for (const kind of ["html", "svg"]) copyFileSync(join(web, `src/console.${kind}`), join(out, `console.${kind}`));
}

/** For ninja: which files the outputs come from. Types are among them, which no bundler lists. */
function writeDepfile(out) {
    const sources = readdirSync(join(web, "src"), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
        .filter((name) => name !== schema);
    const others = ["build.mjs", "package-lock.json", "tsconfig.json"].map((name) => join(web, name));
    const escape = (name) => relative(process.cwd(), name).replaceAll(" ", "\\ ");
    const all = [...sources, ...others, document].map(escape).join(" ");
    writeFileSync(join(out, "console.d"), `${relative(process.cwd(), join(out, "console.html"))}: ${all}\n`);
}

const out = process.argv[2];
if (!out) {
    console.error("usage: node build.mjs OUT | --check");
    process.exit(2);
}
install();
await generate();
run(process.execPath, "node_modules/typescript/bin/tsc", "--project", "tsconfig.json");
if (out !== "--check") {
    const to = resolve(out);
    mkdirSync(to, { recursive: true });
    await bundle(to);
    writeDepfile(to);
}
