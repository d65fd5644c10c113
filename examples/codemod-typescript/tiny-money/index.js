// Sums of money, in cents.
export function money(cents, currency) {
  return { text: () => `${(cents / 100).toFixed(2)} ${currency}` };
}

// Deprecated: money(cents, currency).text()
export function format(cents, currency) {
  return money(cents, currency).text();
}
