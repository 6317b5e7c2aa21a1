// The script of /docs: examples name the address that the page came from, and every call can be tried with a token.
// The token is kept in the page's memory alone. Answers go into text nodes. Forms are made of /v1/openapi.json when one is opened.

const SHOWN_MAX = 200_000; // characters of an answer
const token = document.querySelector("#try-token");

for (const place of document.querySelectorAll(".origin")) place.textContent = location.origin;
document.querySelector("#try-bar").hidden = false;

// ---- The document, once ----

let asked = null;
const contract = () => (asked ??= fetch("/v1/openapi.json").then((answer) => answer.json()));

function resolved(doc, node) {
    while (node?.$ref) node = node.$ref.slice(2).split("/").reduce((at, step) => at[step], doc);
    return node;
}

function operationOf(doc, id) {
    for (const [path, item] of Object.entries(doc.paths))
        for (const method of ["get", "post", "put", "patch", "delete"])
            if (item[method]?.operationId === id) return { path, method: method.toUpperCase(), ...item[method] };
    throw new Error(`no operation ${id}`);
}

function exampleBody(content) {
    const media = content["application/json"];
    const value = media.example ?? Object.values(media.examples ?? {})[0]?.value ?? {};
    return JSON.stringify(value, null, 2);
}

// ---- A form ----

function element(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
}

function field(id, parameter) {
    const input = element("input", { id: `try-${id}-${parameter.name}`, autocomplete: "off", spellcheck: false });
    if (parameter.required) input.value = parameter.example ?? "";
    else input.placeholder = parameter.example ?? "";
    const kind = parameter.required ? parameter.in : `${parameter.in}, optional`;
    return { ...parameter, input, row: element("p", {}, element("label", { htmlFor: input.id }, `${parameter.name} (${kind})`), input) };
}

function requestOf(operation, fields, body) {
    let path = operation.path;
    const query = new URLSearchParams();
    const headers = {};
    for (const { name, in: place, input } of fields) {
        const value = input.value.trim();
        if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
        else if (value && place === "query") query.set(name, value);
        else if (value && place === "header") headers[name] = value;
    }
    if (operation.security.length && token.value.trim()) headers.Authorization = `Bearer ${token.value.trim()}`;
    if (body?.value.trim()) headers["Content-Type"] = "application/json";
    const url = path + (query.size ? `?${query}` : "");
    return [url, { method: operation.method, headers, body: body?.value.trim() || undefined, cache: "no-store", credentials: "omit" }];
}

function pretty(text, type) {
    if (!/json/.test(type)) return text;
    try {
        return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
        return text;
    }
}

/** Shows an answer while it comes: a stream has no end. */
async function show(output, answer) {
    const type = answer.headers.get("Content-Type") ?? "";
    const head = `${answer.status} ${answer.statusText}\n`;
    output.textContent = head;
    if (!answer.body) return;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        text += value;
        output.textContent = head + text.slice(0, SHOWN_MAX);
        if (text.length > SHOWN_MAX) return void reader.cancel();
    }
    output.textContent = head + pretty(text, type);
}

function formOf(doc, operation) {
    const id = operation.operationId;
    const fields = (operation.parameters ?? []).map((parameter) => field(id, resolved(doc, parameter)));
    const content = operation.requestBody?.content;
    const body = content && element("textarea", { id: `try-${id}-body`, rows: 6, spellcheck: false, value: exampleBody(content) });
    const output = element("pre", { tabIndex: 0, hidden: true });
    output.setAttribute("aria-live", "polite");
    const send = element("button", { type: "button", textContent: `Send ${operation.method}` });
    const stop = element("button", { type: "button", textContent: "Stop", hidden: true });
    let calling = null;
    stop.onclick = () => calling?.abort();
    send.onclick = async () => {
        calling?.abort();
        const mine = (calling = new AbortController());
        output.hidden = stop.hidden = false;
        output.textContent = "…";
        try {
            const [url, how] = requestOf(operation, fields, body);
            await show(output, await fetch(url, { ...how, signal: mine.signal }));
        } catch (error) {
            if (calling === mine) output.textContent += mine.signal.aborted ? "\nStopped." : `\nNo answer: ${error.message}`;
        }
        if (calling === mine) stop.hidden = true;
    };
    const form = element("div", { className: "form" }, ...fields.map(({ row }) => row));
    if (body) form.append(element("p", {}, element("label", { htmlFor: body.id }, "body"), body));
    form.append(element("p", {}, send, stop), output);
    return form;
}

for (const article of document.querySelectorAll("article")) {
    const details = element("details", { className: "try" }, element("summary", {}, "Try it"));
    details.ontoggle = async () => {
        if (!details.open || details.dataset.made) return;
        details.dataset.made = "yes";
        const doc = await contract();
        details.append(formOf(doc, operationOf(doc, article.getAttribute("aria-labelledby"))));
    };
    article.append(details);
}
