// A client of openapi-fetch, typed by what openapi-typescript generates: arguments are the site and a token.
// Each line of the input asks for an operation, and is answered in one line.

import { createInterface } from "node:readline";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Schemas = components["schemas"];
type RecipeFile = Schemas["RecipeFile"];
type Refusal = Schemas["Problem"] | Schemas["ReportProblem"];

const [baseUrl, token] = process.argv.slice(2);
const site = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

class RefusedError extends Error {}

/** What the site answered; throws in the words of its problem document if it refuses. */
function answered<T>({ data, error }: { data?: T; error?: Refusal }): T {
  if (error) {
    const reason = "reason" in error ? error.reason : "";
    throw new RefusedError(`${error.status} ${error.type} ${reason}`.trim());
  }
  if (data === undefined) throw new Error("the answer is empty");
  return data;
}

const operations = {
  async draft({ recipe }: { recipe: RecipeFile }) {
    const made = answered(await site.POST("/api/v1/recipes/", { body: recipe }));
    const listed = answered(await site.GET("/api/v1/recipes/drafts/"));
    if (listed.results.map((one) => one.number).join() !== `${made.number}`) throw new Error("it is not listed");
    return { number: made.number, reviewed: made.reviewed, recipe: made.recipe };
  },

  async review({ number }: { number: number }) {
    const read = answered(
      await site.GET("/api/v1/recipes/drafts/{number}/review/", { params: { path: { number } } }),
    );
    const { guarantees, closes_at } = read.expected!;
    const epsilons = Object.fromEntries(guarantees.map(({ model, epsilon }) => [model, epsilon]));
    return { publishable: read.publishable, epsilons, closes_at };
  },

  async publish({ number, reviewed }: { number: number; reviewed: string }) {
    const { id, status, document } = answered(
      await site.POST("/api/v1/recipes/{number}/publish/", { params: { path: { number } }, body: { reviewed } }),
    );
    return { id, status, document };
  },

  async report({ recipe, content }: { recipe: string; content: Schemas["Report"] }) {
    const path = { identifier: recipe };
    return answered(
      await site.POST("/api/v1/recipes/{identifier}/reports/", { params: { path }, body: content }),
    );
  },

  async close({ recipe }: { recipe: string }) {
    const path = { identifier: recipe };
    const { status } = answered(await site.POST("/api/v1/recipes/{identifier}/close/", { params: { path } }));
    return { status };
  },

  async read_result({ recipe }: { recipe: string }) {
    const path = { identifier: recipe };
    const { outcome, estimate, reports } = answered(
      await site.GET("/api/v1/recipes/{identifier}/result/", { params: { path } }),
    );
    return { outcome, estimate, reports };
  },

  async simulate({ recipe, workload }: { recipe: RecipeFile; workload: Schemas["Workload"] }) {
    const { id } = answered(await site.POST("/api/v1/simulations/", { body: { recipe, workload, public: true } }));
    return { id };
  },

  async follow({ number }: { number: string }) {
    const path = { simulation: number };
    const { state, recipe, result } = answered(
      await site.GET("/api/v1/simulations/{simulation}/", { params: { path } }),
    );
    return { state, recipe, result };
  },

  async tables() {
    const csv: string = answered(await site.GET("/api/v1/results.csv", { parseAs: "text" }));
    const file = answered(await site.GET("/api/v1/results.parquet", { parseAs: "arrayBuffer" }));
    return { csv, parquet: new TextDecoder().decode(file.slice(0, 4)) };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { operation, ...given } = JSON.parse(line);
  const asked = operations[operation as keyof typeof operations] as (given: unknown) => Promise<object>;
  try {
    console.log(JSON.stringify(await asked(given)));
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    console.log(JSON.stringify({ error: error.message }));
  }
}
