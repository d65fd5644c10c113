import { format } from "tiny-money";

export interface Line {
  name: string;
  cents: number;
}

export function total(lines: Line[], currency: string): string {
  const cents = lines.reduce((sum, line) => sum + line.cents, 0);
  return format(cents, currency);
}
