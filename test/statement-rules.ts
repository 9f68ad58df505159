/** The rules of who writes which statements, and with what. */
import type { Rule } from './structure-rules.ts'

const drizzleTag = /import \{[^}]*\bsql\b[^}]*\} from 'drizzle-orm'/

/** The only files with statements that write tool_calls. store/work sets wake_at and epoch of any work row. */
const toolCallWriters = ['domain/tool-calls/inserts.ts', 'domain/tool-calls/sql.ts']
const toolCallWrites =
  /\b(?:update|insert\s+into|delete\s+from)\s+(?:"?tool_calls\b|\$\{toolCalls\})|\b(?:update|insert|delete|insertSelect)\(\s*toolCalls\b/i

/** A statement that makes upstreams due. Nothing in their rows tells whether somebody holds them. */
const upstreamWakes = /`[^`]*\bupdate upstreams\b[^`]*\bwake_at = now\(\)[^`]*`/g

export const statementRules: readonly Rule[] = [
  {
    name: 'statements are written with the tag of store/db/sql.ts; tables are declared with that of Drizzle',
    violations: (sources) =>
      sources
        .filter(({ path, text }) => !path.startsWith('store/db/tables/') && drizzleTag.test(text))
        .map(({ path }) => path),
    planted: {
      sources: [
        { path: 'domain/a.ts', text: "import { and, sql, type SQL } from 'drizzle-orm'" },
        { path: 'domain/b.ts', text: "import { and, type SQL } from 'drizzle-orm'" },
        { path: 'store/db/tables/c.ts', text: "import { sql } from 'drizzle-orm'" },
      ],
      found: ['domain/a.ts'],
    },
  },
  {
    name: 'only domain/tool-calls writes the table tool_calls',
    violations: (sources) =>
      sources
        .filter(({ path, text }) => !toolCallWriters.includes(path) && toolCallWrites.test(text))
        .map(({ path }) => path),
    planted: {
      sources: [
        { path: 'domain/calls/a.ts', text: 'sql`update tool_calls as t set status = 1`' },
        { path: 'domain/calls/b.ts', text: 'sql`insert into tool_calls (id) values (1)`' },
        { path: 'domain/calls/c.ts', text: 'sql`delete from tool_calls where true`' },
        { path: 'domain/calls/d.ts', text: 'tx.update(toolCalls).set({})' },
        { path: 'domain/calls/e.ts', text: 'tx.insert(toolCalls).values({})' },
        { path: 'domain/calls/f.ts', text: 'insertSelect(toolCalls, {})' },
        { path: 'domain/calls/g.ts', text: 'sql`update ${toolCalls} set status = 1`' },
        { path: 'domain/calls/read.ts', text: 'sql`select 1 from tool_calls for update`' },
        { path: 'domain/tool-calls/sql.ts', text: 'sql`update tool_calls set status = 1`' },
      ],
      found: ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => `domain/calls/${name}.ts`),
    },
  },
  {
    name: 'whoever makes an upstream due raises its epoch',
    violations: (sources) =>
      sources
        .filter(({ text }) => [...text.matchAll(upstreamWakes)].some(([made]) => !made.includes('epoch =')))
        .map(({ path }) => path),
    planted: {
      sources: [
        { path: 'domain/upstream/a.ts', text: 'sql`update upstreams set wake_at = now() where id = ${id}`' },
        { path: 'domain/upstream/b.ts', text: 'sql`update upstreams set ${madeDue}`' },
        {
          path: 'domain/upstream/c.ts',
          text: 'sql`update upstreams set epoch = epoch + 1, wake_at = now()`',
        },
      ],
      found: ['domain/upstream/a.ts'],
    },
  },
]
