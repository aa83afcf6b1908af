// A program on the types that openapi-typescript has made: reads every letter, page by page, retries one and notes it.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };
const url: string = process.argv[2] ?? "";
const client = createClient<paths>({ baseUrl: url });
const letters: components["schemas"]["LetterItem"][] = [];
let cursor: string | undefined;
let total = 0;
do {
  const { data, error } = await client.GET("/api/v1/letters", { params: { query: { limit: 2, cursor } } });
  if (error !== undefined) throw new Error(error.detail);
  letters.push(...data.items);
  total = data.total;
  cursor = data.next_cursor ?? undefined;
} while (cursor !== undefined);
if (letters.length !== 5 || total !== 5) throw new Error(`${letters.length} of ${total}`);

const path = { id: letters[1]?.id ?? "" };
const header = { "Idempotency-Key": "twice" };
for (let n = 0; n < 2; n++) {
  const { data, error } = await client.POST("/api/v1/letters/{id}/retry", { params: { path, header }, body: { delay: "1h" } });
  if (error !== undefined) throw new Error(error.detail);
  // Nothing is told of it to a token that may not read.
  if (data?.status !== "scheduled") throw new Error(data?.status);
}
const wrong = await client.PATCH("/api/v1/letters/{id}", {
  params: { path, header: { "If-Match": '"stale"' } },
  body: { note: null, importance: "high" },
});
if (wrong.error?.code !== "changed_meanwhile") throw new Error(JSON.stringify(wrong));
console.log("done");
