/** Pictures of one line each, drawn on 24 × 24. They say nothing that a text does not say. */
const shapes = {
    inbox: "M4 13l2.5-8h11L20 13v6H4zM4 13h5l1.5 2.5h3L15 13h5",
    hot: "M12 3c1 3.5 5 5.5 5 10a5 5 0 0 1-10 0c0-2 1-3 2-4 .5 1.5 1.5 2 2 2 .5-2.5-.5-5 1-8z",
    stories: "M4 5h6c1.5 0 2 .8 2 2v12c0-1.2-.8-2-2-2H4zM20 5h-6c-1.5 0-2 .8-2 2v12c0-1.2.8-2 2-2h6z",
    bell: "M6 17V11a6 6 0 0 1 12 0v6l1.5 1.5h-15zM10 20.5h4",
    history: "M4 12a8 8 0 1 0 2.5-5.8M4 4v4h4M12 8v4l3 2",
    user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5c1-4 4-5.5 7.5-5.5s6.5 1.5 7.5 5.5",
    people: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 19.5c.8-3.5 3.3-5 6.5-5s5.7 1.5 6.5 5M15.5 4.3a3.5 3.5 0 0 1 0 6.4M18 15c2 .8 3 2.3 3.5 4.5",
    operator: "M4 19V5M4 19h16M8 15l3-4 3 2 5-7",
    heart: "M12 20s-7.5-4.6-7.5-10A4.2 4.2 0 0 1 12 7.3 4.2 4.2 0 0 1 19.5 10c0 5.4-7.5 10-7.5 10z",
    star: "M12 4l2.5 5.2 5.7.8-4.1 4 1 5.6-5.1-2.7-5.1 2.7 1-5.6-4.1-4 5.7-.8z",
    comment: "M4 5h16v11h-9l-4 4v-4H4z",
    up: "M12 19V6M6 12l6-6 6 6",
    down: "M12 5v13M6 12l6 6 6-6",
    check: "M5 12.5l4.5 4.5L19 7",
    pen: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
    add: "M12 5v14M5 12h14",
    trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13",
    back: "M19 12H5M11 6l-6 6 6 6",
    close: "M6 6l12 12M18 6L6 18",
    help: "M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 18v.01",
    more: "M5 12h.01M12 12h.01M19 12h.01",
    eye: "M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
    window: "M4 5h16v14H4zM4 9h16",
    key: "M14.5 4a5.5 5.5 0 1 1-3.6 9.7L8.5 16H6.5v2h-2v2H2v-3l6.5-6.6A5.5 5.5 0 0 1 14.5 4zM16 8v.01",
    exit: "M14 4H5v16h9M10 12h10M16 8l4 4-4 4",
} as const;

export type IconName = keyof typeof shapes;

export function Icon({ name, filled = false }: { name: IconName; filled?: boolean }) {
    return (
        <svg class={filled ? "icon filled" : "icon"} viewBox="0 0 24 24" aria-hidden="true">
            <path d={shapes[name]} />
        </svg>
    );
}
