/** What the list of waiting requests is narrowed to, sorted and grouped by, as the address has it. Pure. */
import { sentenceText } from '../../parts/sentence.tsx'
import { t } from '../../texts/texts.tsx'
import type { PendingRow } from './pending.ts'

export interface WaitingView {
  search: string
  tool: string | null
  agent: string | null
  requester: string | null
  /** `newest`, or a number: `most:amount` for the largest first, `least:amount`; null: the soonest deadline first. */
  sort: string | null
  /** `tool`, `agent`, `requester`, `sentence`, or an argument: `value:reason`; null: none. */
  group: string | null
}

const filters = ['q', 'tool', 'agent', 'requester'] as const

/** The members of the address without a filter; order and groups stay. */
export const noFilter = Object.fromEntries(filters.map((name) => [name, null]))

export function viewOf(params: URLSearchParams): WaitingView {
  const word = (name: string) => params.get(name)?.trim() || null
  return {
    search: params.get('q') ?? '',
    tool: word('tool'),
    agent: word('agent'),
    requester: word('requester'),
    sort: word('sort'),
    group: word('group'),
  }
}

/** The view as the query of an address; empty when nothing is chosen. */
export function queryOf(params: URLSearchParams): string {
  const own = [...params].filter(
    ([name]) => name === 'sort' || name === 'group' || filters.some((one) => one === name),
  )
  const query = new URLSearchParams(own).toString().replaceAll('+', '%20')
  return query === '' ? '' : `?${query}`
}

export const isNarrowed = (view: WaitingView) =>
  view.search.trim() !== '' || view.tool !== null || view.agent !== null || view.requester !== null

/** The id of direct calls, where agents are chosen. */
const noAgent = 'none'

const partsOf = {
  tool: ({ toolName }: PendingRow) => ({ id: toolName, name: toolName }),
  agent: ({ agent }: PendingRow) => agent ?? { id: noAgent, name: t('direct call') },
  requester: ({ requester: { id, name } }: PendingRow) => ({ id, name: name ?? id }),
}
export type Part = keyof typeof partsOf

const isOf = (row: PendingRow, part: Part, wanted: string | null) =>
  wanted === null || partsOf[part](row).id === wanted || (part === 'tool' && row.tool?.id === wanted)

/** The rows that the view shows, in its order. `found`: what its search finds. */
export function rowsOf(
  rows: ReadonlyMap<string, PendingRow>,
  view: WaitingView,
  found: ReadonlySet<string> | null,
): PendingRow[] {
  const shown = [...rows.values()].filter(
    (row) =>
      (found === null || found.has(row.id)) &&
      isOf(row, 'tool', view.tool) &&
      isOf(row, 'agent', view.agent) &&
      isOf(row, 'requester', view.requester),
  )
  const [way, name] = split(view.sort)
  const sign = way === 'most' ? -1 : 1
  const keys = new Map(
    shown.map((row) => {
      const value = name === null ? 0 : numberOf(row, name)
      // What has no such number comes last.
      const first = value === null ? Infinity : sign * value
      return [row.id, [first, way === 'newest' ? -Date.parse(row.createdAt) : Date.parse(row.expiresAt)]]
    }),
  )
  return shown.toSorted((a, b) => {
    const [one, two] = [keys.get(a.id)!, keys.get(b.id)!]
    // Infinity less Infinity is no number.
    return (one[0] === two[0] ? 0 : one[0]! - two[0]!) || one[1]! - two[1]! || (a.id < b.id ? -1 : 1)
  })
}

function split(choice: string | null): [way: string | null, name: string | null] {
  const at = choice?.indexOf(':') ?? -1
  return choice === null || at < 0 ? [choice, null] : [choice.slice(0, at), choice.slice(at + 1)]
}

function numberOf({ arguments: values }: PendingRow, name: string): number | null {
  const value = Object.hasOwn(values, name) ? values[name] : null
  return typeof value === 'number' ? value : null
}

export interface Option {
  value: string
  name: string
}

/** Those of all that wait, with their numbers. */
export function partOptions(rows: Iterable<PendingRow>, part: Part): Option[] {
  const counts = new Map<string, { name: string; count: number }>()
  for (const row of rows) {
    const { id, name } = partsOf[part](row)
    counts.set(id, { name, count: (counts.get(id)?.count ?? 0) + 1 })
  }
  return [...counts]
    .toSorted(([, a], [, b]) => b.count - a.count || a.name.localeCompare(b.name))
    .map(([value, { name, count }]) => ({ value, name: t('{name} ({count})', { name, count }) }))
}

/** The most arguments by which a list can be sorted or grouped. */
const mostNames = 12

/** The arguments that are numbers, where all rows are of one tool. */
export function numberNames(rows: readonly PendingRow[]): string[] {
  const tool = rows[0]?.toolName
  if (rows.some(({ toolName }) => toolName !== tool)) return []
  const names = new Set(rows.flatMap(({ arguments: values }) => Object.keys(values)))
  return [...names].filter((name) => rows.some((row) => numberOf(row, name) !== null)).slice(0, mostNames)
}

/** The arguments of which several calls of a tool have the same text. */
export function repeatedNames(rows: readonly PendingRow[]): string[] {
  const seen = new Set<string>()
  const names = new Set<string>()
  for (const { toolName, arguments: values } of rows)
    for (const [name, value] of Object.entries(values)) {
      if (typeof value !== 'string') continue
      const key = `${toolName} ${name} ${value}`
      if (seen.has(key)) names.add(name)
      seen.add(key)
    }
  return [...names].slice(0, mostNames)
}

export interface Group {
  key: string
  name: string
  rows: PendingRow[]
}

/** One line of the list. */
export type Item = { key: string; group: Group } | { key: string; row: PendingRow }

/** The lines of the list: groups where their first row stands, with their rows when they are open. One row is no group. */
export function itemsOf(
  rows: readonly PendingRow[],
  by: string | null,
  isOpen: (group: Group) => boolean,
): Item[] {
  const single = (row: PendingRow): Item => ({ key: row.id, row })
  if (by === null) return rows.map(single)
  const groups = new Map<string, Group>()
  for (const row of rows) {
    const { id, name } = groupOf(row, by) ?? { id: row.id, name: '' }
    const key = `${by} ${id}`
    const group = groups.get(key)
    if (group) group.rows.push(row)
    else groups.set(key, { key, name, rows: [row] })
  }
  return [...groups.values()].flatMap((group): Item[] => {
    if (group.rows.length === 1) return group.rows.map(single)
    return [{ key: group.key, group }, ...(isOpen(group) ? group.rows.map(single) : [])]
  })
}

/** What the row is grouped by; null when it has nothing of the kind. */
function groupOf(row: PendingRow, by: string): Named | null {
  if (by === 'sentence') return { id: sentenceText(row.summary), name: sentenceText(row.summary) }
  if (Object.hasOwn(partsOf, by)) return partsOf[by as Part](row)
  const [, name] = split(by)
  const value = name !== null && Object.hasOwn(row.arguments, name) ? row.arguments[name] : null
  return typeof value === 'string'
    ? { id: `${row.toolName} ${value}`, name: `${row.toolName}: ${value}` }
    : null
}

interface Named {
  id: string
  name: string
}
