/** What saving a tool checks and writes beyond its own row: secrets, URLs, and the upstream of an mcp tool. */
import { invalidAt } from '../../core/errors.ts'
import { hashJson, type JsonObject, readJson, writeJson } from '../../core/json.ts'
import type { Database } from '../../store/db/database.ts'
import type { Ctx, Services } from '../access/index.ts'
import { faultOfUse, secretNames } from '../secrets/index.ts'
import { dropUpstream, refreshUpstream, saveUpstream, secretsOf } from '../upstream/index.ts'
import { originOf } from './kinds/http-config.ts'
import type { ToolDefinition } from './fields.ts'
import type { McpToolConfig } from './kinds/mcp-config.ts'
import type { Tool } from './callable.ts'

/**
 * Checks what needs the project or the egress rules. Throws INVALID for secrets that do not exist or allow only other
 * hosts, and for URLs that are never reached. Action `secrets:Use` on every secret in the definition.
 */
export async function checkOutside(ctx: Ctx, projectId: string, definition: ToolDefinition): Promise<void> {
  const root = ['input', 'config', definition.kind]
  const refusal = definition.http ? ctx.egress.checkUrl(definition.http.url) : null
  if (refusal) throw invalidAt([...root, 'url'], refusal)
  for (const { path, names, address } of placesOf(definition)) {
    const fault = await faultOfUse(ctx, projectId, names, address)
    if (fault) throw invalidAt([...root, ...path], fault)
  }
}

/** Where a definition uses secrets, and the URL they are sent to; null when that is known only later. */
function placesOf({
  http,
  mcp,
}: ToolDefinition): { path: string[]; names: string[]; address: string | null }[] {
  const { url, headers } = http ?? mcp ?? { url: '', headers: {} }
  const address = originOf({ url })
  const places = [
    { path: ['url'], names: secretNames(url), address },
    ...Object.entries(headers).map(([name, value]) => ({
      path: ['headers', name],
      names: secretNames(value),
      address,
    })),
  ]
  const here = new Set(places.flatMap(({ names }) => names))
  const more = mcp ? secretsOf(mcp).filter((name) => !here.has(name)) : []
  return [...places, { path: ['auth'], names: more, address: null }]
}

/** The names of all secrets in a definition, some more than once. */
export function secretsOfDefinition(definition: ToolDefinition): string[] {
  return placesOf(definition).flatMap(({ names }) => names)
}

/** Saves a tool's upstream, in the transaction that saves the tool. */
export async function saveOutside(tx: Database, { id, projectId, mcp }: Tool): Promise<void> {
  if (!mcp) return
  const { url, headers, auth, login } = mcp
  await saveUpstream(tx, { id, projectId, config: { url, headers, auth, ...(login && { login }) } })
}

/** Deletes a tool's upstream and its tokens, in the transaction that deletes the tool. */
export async function dropOutside(tx: Database, { id, mcp }: Tool): Promise<void> {
  if (mcp) await dropUpstream(tx, id)
}

/** Limit for waiting on an upstream's lists, in milliseconds. */
const maxWaitMs = 5000

/** After the commit: refreshes a new or changed upstream, so that its tools exist when the mutation returns. */
export async function refreshOutside(ctx: Ctx, tool: Tool, before: Tool | null): Promise<void> {
  if (!tool.mcp) return
  ctx.pubsub.publish([{ kind: 'work', table: 'upstreams' }])
  if (before?.mcp && hashJson(addressOf(before.mcp)) === hashJson(addressOf(tool.mcp))) return
  await refreshNow(ctx, tool.id)
}

/** Reads the lists of an upstream now, but waits at most five seconds. Never throws. */
export async function refreshNow(services: Services, toolId: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, maxWaitMs)))
  const refreshing = refreshUpstream(services, toolId).catch((error: unknown) =>
    services.log.warn({ err: error, toolId }, 'could not refresh an upstream'),
  )
  await Promise.race([refreshing, late]).finally(() => clearTimeout(timer))
}

function addressOf({ url, headers, auth }: McpToolConfig): JsonObject {
  return readJson(writeJson({ url, headers, auth })) as JsonObject
}
