import assert from "node:assert";
import { test } from "node:test";
import { total } from "../src/basket.ts";

test("total adds the lines", () => {
  assert.equal(total([{ name: "tea", cents: 250 }, { name: "cup", cents: 399 }], "EUR"), "6.49 EUR");
});
