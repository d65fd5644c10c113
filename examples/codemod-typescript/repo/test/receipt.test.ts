import assert from "node:assert";
import { test } from "node:test";
import { receipt } from "../src/receipt.ts";

test("receipt names the sum", () => {
  assert.equal(receipt(99), "Paid: 0.99 EUR");
});
