/** The search among an agent's tools, with which a model or MCP client finds those that it was not sent. Pure. */
import type { ToolResult } from '../../core/content.ts'
import { wordsOf } from '../../core/check.ts'
import { issuesIn } from '../../core/json-schema.ts'
import { jsonTooBig, writeJson, type Json, type JsonObject } from '../../core/json.ts'
import type { Issue } from '../../core/errors.ts'
import { shortText } from '../../core/text.ts'
import type { Callable } from './callable.ts'
import { argumentLimits } from './prepare.ts'

/** Of a description, in characters: what a result has, since the next request has all of it, and what is searched. */
const longest = { shown: 300, searched: 4000 }
const limits = { most: 20, otherwise: 5 }
/** Servers that a description names, and words that are suggested where nothing was found. */
const mostNamed = 20
/** Words of a query that count; the others are not looked at. */
const mostWords = 32

/** The name of a built-in tool: a tool of the agent keeps its name, and the built-in one gets underscores behind it. */
export function freeName(name: string, isTaken: (name: string) => boolean): string {
  return isTaken(name) ? freeName(`${name}_`, isTaken) : name
}

export const searchName = 'search_tools'
/** Whether a built-in search has, or once had, this name. */
export const isSearchName = (name: string) => /^search_tools_*$/.test(name)

/** The search as a tool among these. `next`: how a found one is called. */
export function searchDefinition(tools: readonly Callable[], next: string) {
  const named = tools.flatMap(({ name, action }) => (action === null ? [] : [name]))
  const groups = [...new Set(named)].slice(0, mostNamed).join(', ')
  return {
    description:
      `Finds tools by words of what they do. There are ${tools.length}, and most are not listed here` +
      `${groups ? `, such as those of ${groups}` : ''}. Search before you say that something cannot be done. ${next}`,
    inputSchema: searchSchema,
  }
}

const searchSchema: JsonObject = {
  type: 'object',
  properties: {
    query: { type: 'string', description: 'Words of names and descriptions, such as "create issue".' },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: limits.most,
      description: `The most tools to return. Default: ${limits.otherwise}.`,
    },
  },
  required: ['query'],
  additionalProperties: false,
}

/** The result of a search among `tools`, of each with `more`; the faults when the arguments are not those of a search. */
export function searchResult(
  tools: readonly Callable[],
  given: Json,
  projectId: string,
  more: (tool: Callable) => JsonObject = () => ({}),
): { ok: true; result: ToolResult } | { ok: false; issues: Issue[] } {
  const tooBig = jsonTooBig(given, argumentLimits)
  const issues = tooBig ? [{ path: [], message: tooBig }] : issuesIn(searchSchema, projectId, given)
  if (issues.length > 0)
    return { ok: false, issues: issues.map((one) => ({ ...one, path: ['arguments', ...one.path] })) }
  const { query, limit = limits.otherwise } = given as { query: string; limit?: number }
  const isNamed = namesIn(query)
  const named = tools.filter(isNamed)
  const others = rank(
    tools.filter((tool) => !isNamed(tool)),
    query,
  )
  // A tool that is asked for by its name is never cut off.
  const count = Math.min(limits.most, Math.max(limit, named.length))
  const found = [...named, ...others].slice(0, count)
  const value: JsonObject =
    found.length > 0 ? { tools: found.map((tool) => ({ ...shown(tool), ...more(tool) })) } : nothing(tools)
  const result = { content: [{ type: 'text' as const, text: writeJson(value) }], structuredContent: value }
  return { ok: true, result: { ...result, isError: false } }
}

/** The names of the tools that a result of a search has. */
export function namesFound(result: Json | undefined): string[] {
  const { tools } = (result ?? {}) as { tools?: unknown }
  const names = Array.isArray(tools) ? tools.map((one: { name?: unknown } | null) => one?.name) : []
  return names.filter((name) => typeof name === 'string')
}

function shown({ runtimeName, title, description }: Callable): JsonObject {
  return {
    name: runtimeName,
    ...(title ? { title } : {}),
    ...(description ? { description: shortText(description, longest.shown) } : {}),
  }
}

function nothing(tools: readonly Callable[]): JsonObject {
  const counts = new Map<string, number>()
  for (const tool of tools)
    for (const word of fieldsOf(tool)[0]!) counts.set(word, (counts.get(word) ?? 0) + 1)
  const frequent = [...counts].toSorted((a, b) => b[1] - a[1]).slice(0, mostNamed)
  const words = frequent.map(([word]) => word).join(', ')
  const hint = `None of the ${tools.length} tools matches. Try other words${words ? `; many names have: ${words}` : ''}.`
  return { tools: [], total: tools.length, hint }
}

/** Whether a query has the name of a tool, or that of its action, as a word. */
function namesIn(query: string): (tool: Callable) => boolean {
  const words = new Set(query.toLowerCase().match(/[^\s,;"'`]+/g))
  return ({ runtimeName, action }) =>
    words.has(runtimeName.toLowerCase()) || words.has((action ?? runtimeName).toLowerCase())
}

/** What a word counts in name, title and description. */
const weights = [4, 2, 1]
/** A tool with less than this part of the best one's points is not returned. */
const leastPart = 0.25

/**
 * The tools that have words of the query, best first: rare words count more, names more than descriptions, and the beginning
 * of a word half. Of equal ones that with the shorter name comes first, then the agent's order.
 */
function rank(tools: readonly Callable[], query: string): Callable[] {
  const asked = [...new Set(wordsIn(query))].slice(0, mostWords)
  const likenesses = likenessesTo(asked)
  const points = tools.map((tool) => {
    const own = asked.map(() => 0)
    for (const [field, words] of fieldsOf(tool).entries()) {
      const best = asked.map(() => 0)
      for (const word of words)
        for (const { at, likeness } of likenesses(word)) best[at] = Math.max(best[at]!, likeness)
      for (const [at, likeness] of best.entries()) own[at]! += likeness * weights[field]!
    }
    return own
  })
  const rarities = asked.map((_word, at) =>
    Math.log((tools.length + 1) / Math.max(1, points.filter((own) => own[at]! > 0).length)),
  )
  const scored = tools.map((tool, i) => ({
    tool,
    score: points[i]!.reduce((sum, own, at) => sum + own * rarities[at]!, 0),
    length: fieldsOf(tool)[0]!.length,
  }))
  const best = scored.reduce((most, { score }) => Math.max(most, score), 0)
  return scored
    .filter(({ score }) => score > 0 && score >= best * leastPart)
    .toSorted((a, b) => b.score - a.score || a.length - b.length)
    .map(({ tool }) => tool)
}

/** For a word of a tool, the words of the query that are its own, its beginning, or a longer form; each word is compared once. */
function likenessesTo(asked: readonly string[]) {
  const known = new Map<string, { at: number; likeness: number }[]>()
  const begins = (word: string, one: string) => one.length > 2 && word.startsWith(one)
  const isForm = (one: string, word: string) =>
    begins(one, word) && (one.length - word.length) * 2 <= word.length
  return (word: string) => {
    const found = known.get(word)
    if (found) return found
    const own = asked.flatMap((one, at) => {
      if (one === word) return [{ at, likeness: 1 }]
      return begins(word, one) || isForm(one, word) ? [{ at, likeness: 0.5 }] : []
    })
    known.set(word, own)
    return own
  }
}

/** The words of names as well: they end at underscores, and at a capital within. */
const wordsIn = (text: string) =>
  wordsOf(text.replace(/([\p{Ll}\p{N}])(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, '$1$2 '))

/** The callables of a catalog stay the same objects. */
const read = new WeakMap<Callable, string[][]>()

function fieldsOf(tool: Callable): string[][] {
  const known = read.get(tool)
  if (known) return known
  const { runtimeName, title, description } = tool
  const texts = [runtimeName, title ?? '', (description ?? '').slice(0, longest.searched)]
  const fields = texts.map((text) => [...new Set(wordsIn(text))])
  read.set(tool, fields)
  return fields
}
