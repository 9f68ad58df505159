/** Tools from the server.json of an MCP registry: pinned to its version, and served only after a person has read what it offers. */
import { z } from 'zod'
import { jsonObject, text } from '../../core/check.ts'
import { AppError, invalid, invalidAt } from '../../core/errors.ts'
import { hashJson } from '../../core/json.ts'
import { optional, part, scalar } from '../../core/shapes.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { tools } from '../../store/db/tables/tools.ts'
import { assertMay, inProject, operation, projectOf, type Ctx } from '../access/index.ts'
import { authInputOf, checkServer, remoteOf } from '../upstream/index.ts'
import { Tool } from './callable.ts'
import { runtimeName, toolFields } from './fields.ts'
import { mcpInputOf } from './kinds/mcp-config.ts'
import { createTool, updateTool } from './registry.ts'
import { changesOf, toolOf, versionChange } from './versions.ts'

const values = scalar(
  'JSONObject',
  z
    .custom<object>()
    .pipe(
      z
        .record(z.string(), text(4096))
        .refine((given) => Object.keys(given).length <= 100, 'must have at most 100 values'),
    ),
)

/**
 * NAME_TAKEN when the project has a tool of the name and `replace` is not set, or it is of another server. CONFLICT when the tool was
 * changed meanwhile. A replacement by what is there already changes nothing.
 */
export const importServer = operation({
  name: 'importServer',
  does:
    'Creates an mcp tool from the server.json of an MCP registry. It serves nothing until a person has read its upstream.tools and ' +
    'names them in allow, and every call needs approval; with replace, a later version takes its place and is reviewed again.',
  permission: ['tools:Create', ['tools:Update', 'a replacement']],
  input: z
    .object({
      ...inProject,
      server: jsonObject(256 * 1024, 20).describe('The server.json with one exact version, at most 256 KiB.'),
      name: optional(
        toolFields.name.shape.describe('The name of the tool.'),
        'the last part of the name of the server',
      ),
      values: optional(
        values.describe(
          'What the server asks for, by the name of the variable or header; a secret is given as {{secret:NAME}}.',
        ),
        'none',
      ),
      replace: optional(
        z.boolean().describe('Whether an imported tool of this server is replaced.'),
        'false',
      ),
    })
    .describe('The server to import, and the values that it asks for.'),
  payload: part('ServerImportPayload', 'The tool of an imported server.', {
    tool: Tool.describe('The tool; upstream.tools is what a person reads before naming any in allow.'),
    changes: z
      .array(versionChange)
      .describe(
        'What a replacement changed in the definition of the tool, at most 100 places; empty for a new tool.',
      ),
  }),
  refuses: ['NAME_TAKEN', 'NOT_FOUND', 'CONFLICT', 'LIMITED'],
  async run(ctx, { server: given, values: filled, name, replace, ...more }) {
    const projectId = await projectOf(ctx, more.projectId)
    await assertMay(ctx, 'tools:Create', projectId, 'tool/*')
    const server = checkServer(given)
    const { path, ...connection } = remoteOf(server, filled ?? {})
    const known = await findImport(ctx, projectId, server.name, name ?? null)
    if (known && replace !== true)
      throw new AppError(
        'NAME_TAKEN',
        `The tool ${known.name} is of this server: give replace: true to import this version in its place.`,
        { conflictingId: known.id },
      )
    const { title, description, name: entry, version } = server
    const own = { title, description, registryEntry: { name: entry, version } }
    const nothing = { ...connection, allow: [] }
    if (!known) {
      const made = { ...own, projectId, gate: { autoApprove: false }, config: { mcp: nothing } }
      const toolName = name ?? runtimeName([entry.slice(entry.indexOf('/') + 1)])
      return { ...(await atServer(path, createTool(ctx, { ...made, name: toolName }))), changes: [] }
    }
    await assertMay(ctx, 'tools:Update', projectId, `tool/${known.id}`)
    if (isSame(known, version, connection)) return { tool: known, changes: [] }
    const { gates, deny, url, auth, login } = known.mcp!
    // Credentials of one server are not for another.
    const mcp = {
      ...mcpInputOf({ ...nothing, gates, deny, trustHints: false, auth: null, ...(login ? { login } : {}) }),
      auth: url === connection.url ? authInputOf(auth) : null,
    }
    const change = { id: known.id, expectedVersion: known.version, ...own, config: { mcp } }
    const { tool } = await atServer(path, updateTool(ctx, change))
    return { tool, changes: changesOf(known, tool) }
  },
})

function isSame(
  { registryEntry, mcp }: Tool,
  version: string,
  { url, headers }: { url: string; headers: object },
) {
  return (
    registryEntry?.version === version && mcp!.url === url && hashJson(mcp!.headers) === hashJson(headers)
  )
}

/** The imported tool of this server, of this name when there is one. INVALID when several could be meant. */
async function findImport(
  ctx: Ctx,
  projectId: string,
  server: string,
  name: string | null,
): Promise<Tool | null> {
  const ofName = name === null ? sql`` : sql`and name = ${name}`
  const rows = await selectRows(
    ctx.db,
    tools,
    sql`where project_id = ${projectId} and kind = 'mcp' and definition->'registryEntry'->>'name' = ${server} ${ofName} limit 2`,
  )
  if (rows.length > 1)
    throw invalidAt(['input', 'name'], 'is required: this project has several tools of this server')
  return rows[0] ? toolOf(rows[0]) : null
}

/** Faults of the connection are told where the server.json has it. */
async function atServer<Made>(path: readonly string[], making: Promise<Made>): Promise<Made> {
  try {
    return await making
  } catch (error) {
    if (!(error instanceof AppError) || !error.details.issues) throw error
    throw invalid(
      error.details.issues.map((issue) => ({
        ...issue,
        path: issue.path[1] === 'config' ? [...path, ...issue.path.slice(3)] : issue.path,
      })),
    )
  }
}
