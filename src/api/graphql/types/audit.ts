/** The audit in GraphQL. */
import { listAudit } from '../../../domain/access/index.ts'
import { auditFilter } from '../../../domain/audit/index.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'

export function addAudit(refs: Refs): void {
  const { builder } = refs
  refs.AuditEntry.implement({
    description: 'An entry of the audit: what a caller did or was denied. Entries never change.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the audit entry; it begins with aud_.' }),
      principalId: t.exposeID('principalId', {
        description: 'The id of the API key or person that acted, or "system".',
      }),
      action: t.exposeString('action', {
        description: 'The permission action of the operation, such as tools:Create.',
      }),
      resource: t.exposeString('resource', {
        description: 'The resource that the action applied to, such as tool/tool_… of a tool.',
      }),
      outcome: t.exposeString('outcome', {
        description: 'The outcome of the action: ALLOWED, DENIED or EXECUTED.',
      }),
      details: t.expose('details', {
        type: 'JSONObject',
        description: 'Further facts about the action, never a secret.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the action happened.' }),
    }),
  })
  const connection = connectionOf(refs.AuditEntry, 'AuditEntry')
  builder.queryField('auditEntries', (t) =>
    t.field({
      type: connection,
      description: 'The audit of a project, newest first. Permission: audit:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        filter: t.arg({
          type: refs.shapes.part(auditFilter),
          description: 'Only entries that match all given fields.',
        }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, filter, ...args }, { ctx }) =>
        page(args, (p) => listAudit(ctx, { projectId, filter, page: p })),
    }),
  )
}
