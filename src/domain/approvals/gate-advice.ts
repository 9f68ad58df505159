/**
 * Advice about a gate: which of the calls that it stops people have always approved as they were asked. It is computed from
 * verdicts and changes nothing.
 */
import { z } from 'zod'
import { compareNumbers } from '../../core/exact-schema.ts'
import {
  canonicalJson,
  isJsonNumber,
  isJsonObject,
  pointerOf,
  valueAt,
  writeJson,
  type Json,
  type JsonObject,
} from '../../core/json.ts'
import { refOf, resolveRef } from '../../core/schema-walk.ts'
import { choice, part } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import { query } from '../../store/db/database.ts'
import { maxPageBytes } from '../../store/db/lists.ts'
import { sql } from '../../store/db/sql.ts'
import { assertCost, assertMay, type Ctx } from '../access/index.ts'
import { judgeGate, type GatePolicy } from '../gates/index.ts'
import { findTool, maskAt, maskedPaths, ownGateOf, requireCallable, shownSchema } from '../tools/index.ts'
import { judgingCost, onTrial } from './gate-preview.ts'

/** The verdicts that are looked at: the newest ones of this time. */
const days = 30
const mostAsked = 1000
/** The fewest verdicts that say anything. */
const fewest = 20
/** The fields of a schema that are looked at, and how deep they may be. */
const mostFields = 50
const deepest = 4
/** Longer texts are no choice of a few. */
const longestText = 64
/** Drafts that are judged before there is no advice. */
const mostDrafts = 5

const adviceKind = choice('GateAdviceKind', 'Which calls an advice about a gate is about.', {
  AT_MOST: 'Calls with at most `value` in the field.',
  AT_LEAST: 'Calls with at least `value` in the field.',
  EQUAL: 'Calls with exactly `value` in the field.',
  EVERY: 'Every call of the tool or action.',
})

export const gateAdvice = part(
  'GateAdvice',
  'Calls that a gate stops and people always approved as they were asked, and the gate that would let them pass. Nothing ' +
    'applies it by itself.',
  {
    kind: adviceKind.describe('Which calls the advice is about.'),
    field: view.text('The JSON Pointer of the field in the arguments; null for every call.').nullable(),
    title: view.text('The title of the field, else its name; null for every call.').nullable(),
    value: view.json('The value that the field is compared with; null for every call.').nullable(),
    approved: view.int(
      'The number of these calls that people decided: all were approved, and none was edited.',
    ),
    since: view.date('The beginning of the time whose verdicts are all counted.'),
    sentence: view.text('The advice as a sentence.'),
  },
)
export interface GateAdvice extends z.output<typeof gateAdvice> {
  /** The gate of now with these calls let through. */
  gate: GatePolicy
}

/** An approval of the past. Its arguments have the presets merged in. */
export interface SettledCall {
  arguments: JsonObject
  masked: readonly string[][]
  /** The schema that people and models saw then; null when it is not known. */
  schema: JsonObject | null
  /** Whether a person approved exactly these arguments. */
  isApproved: boolean
}

/** What the gate of a tool could let pass. Actions `tools:Get` and `approvals:List`. */
export async function adviseGate(
  ctx: Ctx,
  input: { toolId: string; action?: string | null | undefined },
): Promise<GateAdvice | null> {
  const stored = await findTool(ctx, input.toolId)
  await assertMay(ctx, 'tools:Get', stored.projectId, `tool/${stored.id}`)
  await assertMay(ctx, 'approvals:List', stored.projectId, 'approval/*')
  // Each call is judged by the gate and by a draft.
  await assertCost(ctx, judgingCost + 2 * mostAsked)
  const tool = await requireCallable(ctx, stored, input.action ?? null, ['action'])
  // Some gates are those of other actions too, whose calls this one says nothing about; and arguments that nobody has agreed to
  // cannot be judged.
  if ((tool.platform && tool.platform.actions.length > 1) || tool.agreedSchema) return null
  const { calls, since, now } = await settledCalls(ctx, tool)
  const { projectId } = onTrial(tool)
  const trial = { schema: shownSchema(tool), gate: ownGateOf(tool), projectId }
  const masked = calls.map((one) => ({
    ...one,
    masked: [...one.masked, ...maskedPaths({ ...tool, projectId }, one.arguments)],
  }))
  const found = adviceFrom(trial, masked)
  return (
    found && {
      ...found,
      since,
      sentence: sentenceOf(found, Math.max(1, Math.round((now - since.getTime()) / 86_400_000))),
    }
  )
}

interface Row extends Omit<SettledCall, 'masked'> {
  masked: string[][] | null
  /** The definition that it was asked under, whose schema only its newest row has. */
  definition: string
  settledAt: number
  now: number
  refusals: boolean
  /** How many there are, also beyond what is read. */
  total: number
}

/** The newest settled approvals of the tool; none while a refusal that covers more than equal calls stood in that time. */
async function settledCalls(
  { db }: Ctx,
  { id, action }: { id: string; action: string | null },
): Promise<{ calls: SettledCall[]; since: Date; now: number }> {
  const from = sql`now() - interval '${sql.raw(String(days))} days'`
  const rows = await query<Row>(
    db,
    sql`select arguments, masked, definition, "isApproved", "settledAt",
        case when row_number() over (partition by definition order by place) = 1 then schema end as schema,
        (extract(epoch from now()) * 1000)::float8 as now,
        exists (
          select 1 from grants
          where tool_id = ${id} and max_uses = 0 and scope <> 'EXACT' and expires_at > ${from}
        ) as refusals,
        total
      from (
        select *,
          sum(octet_length(arguments::text)) over (order by place) as bytes,
          (count(*) over ())::int as total
        from (
          select arguments, masked, question->'inputSchema' as schema,
            concat(tool_version, ' ', definition_hash) as definition,
            status = 'APPROVED' and edited_arguments is null and jsonb_array_length(votes) > 0 as "isApproved",
            (extract(epoch from settled_at) * 1000)::float8 as "settledAt",
            row_number() over (order by settled_at desc, id desc) as place
          from approvals
          where tool_id = ${id} and settled_at > ${from} and requirement->>'loginOf' is null
            and ${action === null ? sql`action is null` : sql`action = ${action}`}
          order by settled_at desc, id desc
          limit ${mostAsked}
        ) as newest
      ) as asked
      where bytes < ${maxPageBytes}
      order by place`,
  )
  const now = rows[0]?.now ?? 0
  const schemas = new Map(rows.map((row) => [row.definition, row.schema] as const).toReversed())
  const calls = rows.map((row) => ({
    ...row,
    masked: row.masked ?? [],
    schema: schemas.get(row.definition) ?? null,
  }))
  const isWhole = rows.length === (rows[0]?.total ?? 0) && rows.length < mostAsked
  const since = isWhole ? now - days * 86_400_000 : rows.at(-1)!.settledAt
  return { calls: rows[0]?.refusals ? [] : calls, since: new Date(since), now }
}

interface Field {
  path: readonly string[]
  title: string
  /** The value of the keyword `type`, as text. */
  type: string
  kind: 'number' | 'value'
}

/** Calls of which a field says that they belong together. */
interface Region {
  kind: GateAdvice['kind']
  field: Field | null
  value: Json
  holds(args: JsonObject): boolean
  /** What the gate stops of the field beside them; null: nothing is stopped. */
  rest: JsonObject | null
}

interface Trial {
  /** The arguments as people and models see them. */
  schema: JsonObject
  gate: GatePolicy
  projectId: string
}

/**
 * The calls that may pass, and the gate that lets them: of numbers the longest range from either end, else one value of a field,
 * else every call. No call that was not approved as it was asked is among them, whatever was asked when. Null: there are none,
 * or they are too few. Pure.
 */
export function adviceFrom(
  { schema, gate, projectId }: Trial,
  settled: readonly SettledCall[],
): Omit<GateAdvice, 'since' | 'sentence'> | null {
  const known = new Map<JsonObject | null, Map<string, string>>()
  const typesOf = (one: JsonObject | null) => {
    const types = known.get(one) ?? new Map(fieldsOf(one).map(({ path, type }) => [pointerOf(path), type]))
    known.set(one, types)
    return types
  }
  const isStopped = (policy: GatePolicy, args: JsonObject) => judgeGate([policy], args, projectId) !== null
  const calls = settled.map((one) => {
    const args = maskAt(one.arguments, [...one.masked])
    return { ...one, args, isStopped: isStopped(gate, args) }
  })
  const counts = ({ isApproved, isStopped: isAsked, ...one }: (typeof calls)[number], field: Field | null) =>
    isApproved && isAsked && (!field || typesOf(one.schema).get(pointerOf(field.path)) === field.type)
  const fields = fieldsOf(schema).filter(({ path }) =>
    calls.every(({ masked }) => masked.every((hidden) => hidden.some((name, at) => name !== path[at]))),
  )
  const found = [...fields.flatMap((field) => regionsOf(field, calls, counts)), every].flatMap((region) => {
    const inside = calls.filter(({ args }) => region.holds(args))
    const approved = inside.filter((one) => counts(one, region.field)).length
    return approved < fewest || inside.some((one) => !one.isApproved) ? [] : [{ region, approved }]
  })
  const best = found.toSorted((a, b) => rankOf(a.region) - rankOf(b.region) || b.approved - a.approved)
  for (const { region, approved } of best.slice(0, mostDrafts)) {
    const draft = draftOf(gate, region)
    // The draft itself is judged, so that nothing passes but what the advice says.
    if (calls.every((one) => isStopped(draft, one.args) === (one.isStopped && !region.holds(one.args)))) {
      const { kind, field, value } = region
      const about = field
        ? { field: pointerOf(field.path), title: field.title }
        : { field: null, title: null }
      return { kind, ...about, value, approved, gate: draft }
    }
  }
  return null
}

const every: Region = { kind: 'EVERY', field: null, value: null, holds: () => true, rest: null }

/** The narrower one first: what it does not cover is asked about as before. */
const rankOf = ({ field }: Region): number => (field ? (field.kind === 'number' ? 0 : 1) : 2)

type Counted = SettledCall & { args: JsonObject; isStopped: boolean }

function regionsOf<Call extends Counted>(
  field: Field,
  calls: readonly Call[],
  counts: (call: Call, field: Field) => boolean,
): Region[] {
  const values = calls.flatMap((call) => {
    const value = valueAt(call.args, field.path)
    return value === undefined ? [] : [{ value, call }]
  })
  if (field.kind === 'number')
    return ([1, -1] as const).flatMap((sign) => {
      const order = (a: Json, b: Json) => sign * compareNumbers(a, b)
      const [numbers, bad] = [[] as Json[], [] as Json[]]
      for (const { value, call } of values) {
        if (!isJsonNumber(value)) continue
        if (!call.isApproved) bad.push(value)
        else if (counts(call, field)) numbers.push(value)
      }
      const end = bad.toSorted(order)[0]
      const limit = numbers
        .filter((one) => end === undefined || order(one, end) < 0)
        .toSorted(order)
        .at(-1)
      if (limit === undefined) return []
      const holds = (args: JsonObject) => {
        const value = valueAt(args, field.path)
        return value !== undefined && isJsonNumber(value) && order(value, limit) <= 0
      }
      const rest: JsonObject = sign > 0 ? { exclusiveMinimum: limit } : { exclusiveMaximum: limit }
      return [
        { kind: sign > 0 ? ('AT_MOST' as const) : ('AT_LEAST' as const), field, value: limit, holds, rest },
      ]
    })
  const texts = new Map<string, Json>()
  for (const { value, call } of values)
    if (isChoice(value) && counts(call, field)) texts.set(canonicalJson(value), value)
  return [...texts].map(([text, value]) => ({
    kind: 'EQUAL' as const,
    field,
    value,
    holds: (args: JsonObject) => canonicalJson(valueAt(args, field.path) ?? null) === text,
    rest: { not: { const: value } },
  }))
}

const isChoice = (value: Json): boolean =>
  typeof value === 'string' ? value.length <= longestText : typeof value === 'boolean' || isJsonNumber(value)

/** The fields of a schema that an advice can be about. A number that names something is no amount. */
function fieldsOf(root: JsonObject | null): Field[] {
  const found: Field[] = []
  const visit = (given: Json | undefined, path: readonly string[]): void => {
    const ref = isJsonObject(given) ? refOf(given) : null
    const schema = ref ? resolveRef(root!, ref.ref) : given
    if (!isJsonObject(schema) || found.length >= mostFields || path.length > deepest) return
    const { type, title, properties } = schema
    const types = (Array.isArray(type) ? type : [type]).filter((one) => one !== 'null')
    const name = path.at(-1) ?? ''
    const isChoiceOfFew = Array.isArray(schema['enum'])
    const isNumber = types.length === 1 && (types[0] === 'number' || types[0] === 'integer') && !isChoiceOfFew
    const isValue = isChoiceOfFew || (types.length === 1 && (types[0] === 'string' || types[0] === 'boolean'))
    if (isValue || (isNumber && !/(?:^|[_-])id$|I[dD]$/.test(name)))
      found.push({
        path,
        title: typeof title === 'string' && title !== '' && title.length <= longestText ? title : name,
        type: canonicalJson(type ?? null),
        kind: isNumber ? 'number' : 'value',
      })
    if (isJsonObject(properties))
      for (const [key, one] of Object.entries(properties)) visit(one, [...path, key])
  }
  visit(root ?? undefined, [])
  return found
}

function draftOf(gate: GatePolicy, { field, rest }: Region): GatePolicy {
  if (!field || !rest) return { ...gate, mode: 'NEVER', when: null }
  return { ...gate, mode: 'WHEN', when: withRest(gate.when ?? {}, field.path, rest) }
}

/** The condition that a call must meet as well, at the place in the schema where such conditions are written. */
function withRest(when: JsonObject, path: readonly string[], rest: JsonObject): JsonObject {
  const [name, ...more] = path
  if (name === undefined) {
    const isLimit = !('not' in rest)
    // A limit of now stops less than the new one: these calls are stopped.
    return isLimit || !('not' in when)
      ? { ...when, ...rest }
      : { ...when, allOf: [...listOf(when['allOf']), rest] }
  }
  const properties = isJsonObject(when['properties']) ? when['properties'] : {}
  const inner = Object.hasOwn(properties, name) ? properties[name]! : {}
  if (!isJsonObject(inner)) return { ...when, allOf: [...listOf(when['allOf']), withRest({}, path, rest)] }
  return { ...when, properties: { ...properties, [name]: withRest(inner, more, rest) } }
}

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])

function sentenceOf(
  { kind, title, value, approved }: Omit<GateAdvice, 'since' | 'sentence'>,
  over: number,
): string {
  const words = { AT_MOST: 'at most ', AT_LEAST: 'at least ', EQUAL: '', EVERY: '' }[kind]
  const which = title === null ? '' : ` with ${title} ${words}${writeJson(value)}`
  return `${approved} of ${approved} calls${which} were approved in the last ${over === 1 ? 'day' : `${over} days`}.`
}
