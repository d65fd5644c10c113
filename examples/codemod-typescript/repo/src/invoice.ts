import { format } from "tiny-money";

export function due(cents: number, days: number): string {
  return `${format(cents, "EUR")} in ${days} days, later ${format(Math.round(cents * 1.05), "EUR")}`;
}
