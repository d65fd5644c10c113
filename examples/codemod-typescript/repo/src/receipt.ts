import { format as show } from "tiny-money";

export function receipt(cents: number): string {
  return `Paid: ${show(cents, "EUR")}`;
}
