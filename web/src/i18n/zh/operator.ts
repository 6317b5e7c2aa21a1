import type { operator as en } from "../en/operator";

export const operator: Record<keyof typeof en, string> = {
    "nav.operator": "运维",
};
