import { core } from "./core";
import { notifications } from "./notifications";
import { operator } from "./operator";
import { stories } from "./stories";

export const en = { ...core, ...notifications, ...operator, ...stories } as const;
