// Runs the recipes of a guide on a run directory, or on that of a comparison, with DuckDB,
// and holds each figure against the report's JSON. Prints what was compared as JSON, and
// ends with status 1 if anything differs.
//
//   node recipes.mjs GUIDE DIR REPORT.json
//
// A recipe is a block of SQL whose first line is `-- views`, or `-- report: PATH`, with a
// remark in parentheses: `(within 0.2 %)` for rounded figures, `(all but a, b)` or `(of a)`
// where it has not all objects, `(rows)` where spans, if there are any, tell instead. PATH is that of an object in the
// report: `metrics[metric]` are those in metrics that the column `metric` finds, by the
// key or by the value that they have of the same name. All other columns are keys of it,
// and dots lead further in. A block about files or views that the directory has not is
// left out.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

const [guide, dir, reportName] = process.argv.slice(2);
if (!reportName) {
  console.error('usage: node recipes.mjs GUIDE DIR REPORT.json');
  process.exit(2);
}
const report = JSON.parse(readFileSync(reportName, 'utf8'));
const db = await (await DuckDBInstance.create(':memory:')).connect();

// blocks are the recipes, each with the heading that it stands under.
function blocks(text) {
  const out = [];
  let heading = '';
  let block = null;
  for (const line of text.split('\n')) {
    if (block) {
      if (line === '```') {
        out.push({ heading, first: block[0] ?? '', sql: block.join('\n') });
        block = null;
      } else block.push(line);
    } else if (line.startsWith('## ')) heading = line.slice(3);
    else if (line === '```sql') block = [];
  }
  return out;
}

// missing is a file that a recipe reads and the directory has not.
function missing(sql) {
  for (const [, kind, pattern] of sql.matchAll(/'(RUN|CMP)\/([^']+)'/g)) {
    if (kind === 'CMP' ? !existsSync(join(dir, 'compare.json')) : existsSync(join(dir, 'compare.json'))) return pattern;
    if (pattern.includes('/')) continue; // below an arm's folder
    if (pattern.startsWith('requests') && existsSync(join(dir, 'trials.parquet'))) return pattern; // of a sweep it is empty
    const [start, end] = pattern.split('*');
    if (!readdirSync(dir).some((n) => n.startsWith(start) && n.endsWith(end ?? ''))) return pattern;
  }
  return '';
}

// find is the part of the report that a row is about.
function find(path, row) {
  let at = report;
  for (const [, name, keys] of path.matchAll(/([^.[\]]+)(?:\[([^\]]+)\])?/g)) {
    at = at?.[name];
    if (!keys || at == null) continue;
    const wanted = keys.split(',');
    if (!Array.isArray(at)) at = at[row[wanted[0]]];
    else at = at.find((x) => wanted.every((k) => same(row[k], x[k], 1e-12)));
  }
  return at;
}

// size is the number of objects that a path leads to, without the keys that are left out
// and those of nothing.
function size(path, without) {
  const whole = path.match(/^([^[]+)\[[^\]]+\]$/);
  if (!whole) return null;
  let at = report;
  for (const name of whole[1].split('.')) at = at?.[name];
  return Object.entries(at ?? {}).filter(([k, x]) => !without.includes(k) && !(x === 0 || x?.n === 0 || x?.requests === 0)).length;
}

function same(got, want, tolerance) {
  if (got == null || want == null) return got == null && want == null;
  if (typeof want !== 'number') return String(got) === String(want);
  const v = Number(got);
  return Math.abs(v - want) <= tolerance * Math.max(Math.abs(v), Math.abs(want)) + 1e-12;
}

const rows = async (sql) => (await db.runAndReadAll(sql)).getRowObjectsJson();
const out = { recipes: {}, figures: 0, wrong: [] };
const viewed = new Set(); // views that there are
const all = blocks(readFileSync(guide, 'utf8'));
const views = new Set(all.flatMap((b) => [...b.sql.matchAll(/CREATE OR REPLACE VIEW (\w+)/g)].map((m) => m[1])));

for (const { heading, first, sql } of all) {
  const kind = first.match(/^-- (?:views$|report: (\S+)(?: \((.*)\))?$)/);
  if (!kind) {
    out.wrong.push(`${heading}: a block does not say what it is: ${first}`);
    continue;
  }
  const [, path, remark] = kind;
  const made = [...sql.matchAll(/CREATE OR REPLACE VIEW (\w+)/g)].map((m) => m[1]);
  const used = [...views].filter((v) => !made.includes(v) && new RegExp(`(FROM|JOIN|,) ${v}\\b`).test(sql));
  if (missing(sql) || used.some((v) => !viewed.has(v)) || (remark === 'rows' && !missing("'RUN/spans-*.parquet'"))) continue;
  const text = sql.replaceAll(/(RUN|CMP)\//g, dir.replaceAll("'", "''") + '/');
  let result;
  try {
    if (!path) {
      await db.run(text);
      made.forEach((v) => viewed.add(v));
      continue;
    }
    result = await rows(text);
  } catch (e) {
    out.wrong.push(`${heading}: ${e.message}`);
    continue;
  }
  const id = `${path}${remark && !remark.startsWith('within') ? ` (${remark})` : ''}`;
  const tolerance = remark?.startsWith('within') ? parseFloat(remark.split(' ')[1]) / 100 : 1e-9;
  const keys = new Set([...path.matchAll(/\[([^\]]+)\]/g)].flatMap((m) => m[1].split(',')));
  let found = 0;
  for (const row of result) {
    const at = path === '.' ? report : find(path, row);
    const where = `${heading}: ${path} ${[...keys].map((k) => row[k]).join(' ')}`;
    if (at === undefined || at === null) {
      out.wrong.push(`${where}: the report has no such thing`);
      continue;
    }
    found++;
    for (const [name, got] of Object.entries(row)) {
      if (keys.has(name)) continue;
      // Names may have dots themselves.
      const want = typeof at === 'object' ? (name in at ? at[name] : name.split('.').reduce((x, k) => x?.[k], at)) : at;
      out.figures++;
      if (want === undefined) out.wrong.push(`${where}: the report has no ${name}`);
      else if (!same(got, want, tolerance)) out.wrong.push(`${where} ${name}: DuckDB ${got}, report ${want}`);
    }
  }
  out.recipes[`${heading}: ${id}`] = Math.max(found, out.recipes[`${heading}: ${id}`] ?? 0);
  const n = size(path, remark?.startsWith('all but ') ? remark.slice('all but '.length).split(', ') : []);
  if (n !== null && n > found && !remark?.startsWith('of ')) out.wrong.push(`${heading}: ${path}: the report has ${n} of them, DuckDB ${found}`);
}
console.log(JSON.stringify(out, null, 1));
process.exit(out.wrong.length > 0 ? 1 : 0);
