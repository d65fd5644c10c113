import assert from "node:assert";
import { test } from "node:test";
import { due } from "../src/invoice.ts";

test("due names both sums", () => {
  assert.equal(due(1000, 14), "10.00 EUR in 14 days, later 10.50 EUR");
});
