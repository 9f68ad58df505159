/** The audit in GraphQL. */
import { listAudit } from '../../../domain/access/index.ts'
import { auditFilter, auditEntry } from '../../../domain/audit/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addList } from '../builder/queries.ts'

export function addAudit(refs: Refs): void {
  refs.shapes.implement(refs.AuditEntry, auditEntry)
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
