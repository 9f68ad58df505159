/** The audit on the wire. */
import { listAudit } from '../../domain/access/index.ts'
import { connectionOf, listCost, page } from './connections.ts'
import type { Refs } from './refs.ts'

export function addAudit(refs: Refs): void {
  const { builder } = refs
  refs.AuditEntry.implement({
    description: 'What happened, by whom. Entries are never changed.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with aud_.' }),
      principalId: t.exposeID('principalId', { description: 'The key that did it, or "system".' }),
      action: t.exposeString('action', { description: 'The permission action, such as tools:Create.' }),
      resource: t.exposeString('resource', { description: 'What it was done to, such as tool/tool_….' }),
      outcome: t.exposeString('outcome', { description: 'ALLOWED, DENIED or EXECUTED.' }),
      details: t.expose('details', { type: 'JSONObject', description: 'More about it; never a secret.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
    }),
  })
  const connection = connectionOf(refs.AuditEntry, 'AuditEntry')
  builder.queryField('auditEntries', (t) =>
    t.field({
      type: connection,
      description: 'What happened in a project, newest first.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, ...args }, { ctx }) =>
        page(args, (p) => listAudit(ctx, { projectId, page: p })),
    }),
  )
}
