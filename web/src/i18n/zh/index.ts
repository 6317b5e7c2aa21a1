import type { Dictionary } from "..";
import { core } from "./core";
import { notifications } from "./notifications";
import { operator } from "./operator";
import { stories } from "./stories";

export const zh: Dictionary = { ...core, ...notifications, ...operator, ...stories };
