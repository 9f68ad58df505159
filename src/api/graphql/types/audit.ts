/** The audit in GraphQL. */
import { listAudit } from '../../../domain/access/index.ts'
import { auditFilter } from '../../../domain/audit/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addList } from '../builder/queries.ts'

export function addAudit(refs: Refs): void {
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
  addList(refs, {
    name: 'auditEntries',
    type: connection,
    description: 'The audit of a project, newest first. Permission: audit:List.',
    args: {
      filter: auditFilter.nullish().describe('Only entries that match all given fields.'),
    },
    list: listAudit,
  })
}
