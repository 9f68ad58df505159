/** What the audit reads. */
import { graphql, type ResultOf } from '../../api/document.ts'
import { principal } from '../../api/principal.ts'

export const auditQuery = graphql(
  `
    query Audit($projectId: ID, $filter: AuditFilter, $first: Int!, $after: String) {
      auditEntries(projectId: $projectId, filter: $filter, first: $first, after: $after) {
        nodes {
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
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  `,
  [principal],
)
export type Entry = ResultOf<typeof auditQuery>['auditEntries']['nodes'][number]
