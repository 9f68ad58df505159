/** What the audit reads. */
import { graphql, type ResultOf } from '../../api/document.ts'
import { list } from '../../api/reads.ts'
import { principal } from '../../api/principal.ts'

const entry = graphql(
  `
    fragment AuditRow on AuditEntry {
      id
      action
      outcome
      principal {
        ...PrincipalParts
      }
      resource
      details
      createdAt
    }
  `,
  [principal],
)
export const auditQuery = list('auditEntries', entry, '$filter:AuditFilter')
export type Entry = ResultOf<typeof auditQuery>['auditEntries']['nodes'][number]
