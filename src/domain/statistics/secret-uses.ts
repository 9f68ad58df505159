/** What refers to a secret: the tools, upstreams and model providers that stop working without it. */
import type { z } from 'zod'
import { part, choice } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import { query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { allows, type Ctx } from '../access/index.ts'
import { secretsOfDefinition, type ToolDefinition } from '../tools/index.ts'

const secretUserKind = choice('SecretUserKind', 'The kind of an object that refers to a secret.', {
  TOOL: 'An http tool sends the secret.',
  UPSTREAM: 'The server behind an mcp tool is sent the secret.',
  PROVIDER: 'A model provider has the secret as its API key.',
})

/** One of them. An upstream has the id of its tool. */
export const secretUse = part('SecretUse', 'An object that refers to a secret, and fails without it.', {
  kind: secretUserKind.describe('The kind of the object.'),
  id: view.id('The id of the tool or model provider; for an upstream server, of its mcp tool.'),
  name: view.text('The name of the tool or model provider.'),
})
export type SecretUse = z.output<typeof secretUse>

/** The most uses that are returned of one secret. */
const mostUses = 100

interface Found {
  table: 'tools' | 'providers'
  id: string
  name: string
  /** Of a tool. */
  definition: ToolDefinition | null
  /** Of a provider. */
  secretName: string | null
}

/**
 * What uses each of these secrets, in the order of the secrets, at most `mostUses` each, by name. Only what the caller may
 * read: actions `tools:Get` and `providers:List` of the policy, without an audit entry. One statement for all secrets of
 * a project. The secrets themselves must have been authorised.
 */
export async function usesOfSecrets(
  ctx: Ctx,
  secrets: readonly { projectId: string; name: string }[],
): Promise<SecretUse[][]> {
  const byProject = new Map<string, Map<string, SecretUse[]>>()
  for (const projectId of new Set(secrets.map((secret) => secret.projectId)))
    byProject.set(projectId, await usesIn(ctx, projectId))
  return secrets.map(({ projectId, name }) => (byProject.get(projectId)!.get(name) ?? []).slice(0, mostUses))
}

async function usesIn(ctx: Ctx, projectId: string): Promise<Map<string, SecretUse[]>> {
  // Only definitions that can name a secret are read: in a template, or in the authorization of an upstream.
  const rows = await query<Found>(
    ctx.db,
    sql`select 'tools' as table, id, name, definition, null as "secretName"
      from tools
      where project_id = ${projectId}
        and (definition::text like '%{{secret:%' or jsonb_typeof(definition->'mcp'->'auth') = 'object')
      union all
      select 'providers', id, name, null, secret_name
      from providers
      where project_id = ${projectId} and secret_name is not null
      order by name, id`,
  )
  const { policy } = ctx.principal
  const mayListProviders = allows(policy, 'providers:List', 'provider/*')
  const uses = new Map<string, SecretUse[]>()
  for (const { table, id, name, definition, secretName } of rows) {
    if (table === 'tools' ? !allows(policy, 'tools:Get', `tool/${id}`) : !mayListProviders) continue
    const kind = table === 'providers' ? 'PROVIDER' : definition!.mcp ? 'UPSTREAM' : 'TOOL'
    const names = definition ? secretsOfDefinition(definition) : [secretName!]
    for (const secret of new Set(names)) uses.set(secret, [...(uses.get(secret) ?? []), { kind, id, name }])
  }
  return uses
}
