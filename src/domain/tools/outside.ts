/** What saving a tool looks at and touches beyond its own row: secrets, addresses, and the upstream of an mcp tool. */
import { invalidAt } from '../../core/errors.ts'
import { hashJson, type JsonObject } from '../../core/json.ts'
import type { Database } from '../../store/db/database.ts'
import type { Ctx, Services } from '../access/index.ts'
import { faultOfUse, secretNames } from '../secrets/index.ts'
import { dropUpstream, refreshUpstream, saveUpstream, secretsOf } from '../upstream/index.ts'
import { originOf } from './kinds/http-template.ts'
import type { McpToolConfig, Tool, ToolDefinition } from './tool.ts'

/**
 * Throws INVALID for what needs the project or the egress rules: secrets that do not exist or name other hosts, addresses
 * never reached. Action `secrets:Use` on every secret that is named.
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

/** Where a definition names secrets, and where they go from there; null where that is found out later. */
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

/** In the transaction that saves a tool: its upstream. */
export async function saveOutside(tx: Database, { id, projectId, mcp }: Tool): Promise<void> {
  if (!mcp) return
  const { url, headers, auth } = mcp
  await saveUpstream(tx, { id, projectId, config: { url, headers, auth } })
}

/** In the transaction that deletes a tool: its upstream, tokens included. */
export async function dropOutside(tx: Database, { id, mcp }: Tool): Promise<void> {
  if (mcp) await dropUpstream(tx, id)
}

/** So long somebody waits for the lists of an upstream, in milliseconds. */
const patienceMs = 5000

/** After the commit: a new or changed upstream is looked at, so that its tools are there when the tool is. */
export async function lookOutside(ctx: Ctx, tool: Tool, before: Tool | null): Promise<void> {
  if (!tool.mcp) return
  ctx.pubsub.publish([{ kind: 'work', table: 'upstreams' }])
  if (before?.mcp && hashJson(addressOf(before.mcp)) === hashJson(addressOf(tool.mcp))) return
  await lookAgain(ctx, tool.id)
}

/** Reads the lists of an upstream now, but waits for it no longer than a few seconds. Never throws. */
export async function lookAgain(services: Services, toolId: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, patienceMs)))
  const looking = refreshUpstream(services, toolId).catch((error: unknown) =>
    services.log.warn({ err: error, toolId }, 'an upstream could not be looked at'),
  )
  await Promise.race([looking, late]).finally(() => clearTimeout(timer))
}

function addressOf({ url, headers, auth }: McpToolConfig): JsonObject {
  return JSON.parse(JSON.stringify({ url, headers, auth })) as JsonObject
}
