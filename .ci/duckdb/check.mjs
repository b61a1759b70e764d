// Prints what DuckDB finds in the requests of a run, as JSON: row count, column
// types, and the aggregates that the report prints too.
import { DuckDBInstance } from '@duckdb/node-api';

const dir = process.argv[2];
if (!dir) {
  console.error('usage: node check.mjs RUN');
  process.exit(2);
}
const files = `'${dir.replaceAll("'", "''")}/requests-*.parquet'`;
const db = await (await DuckDBInstance.create(':memory:')).connect();
const rows = async (sql) => (await db.runAndReadAll(sql)).getRowObjectsJson();

const types = {};
for (const c of await rows(`describe select * from ${files}`)) types[c.column_name] = c.column_type;
const [figures] = await rows(`
  select count(*)::int as n,
         count(distinct seq)::int as distinct_seq,
         (count(*) filter (outcome = 'ok'))::int as ok,
         quantile_disc(ttft, 0.95) filter (outcome = 'ok') / 1e6 as ttft_p95_ms,
         avg(tpot) filter (outcome = 'ok') / 1e6 as tpot_mean_ms,
         max(e2e) / 1e6 as e2e_max_ms,
         (sum(output_tokens) filter (outcome = 'ok'))::int as output_tokens,
         (sum(len(token_gaps_us)) filter (outcome = 'ok'))::int as gaps
  from ${files}`);
console.log(JSON.stringify({ types, ...figures }));
