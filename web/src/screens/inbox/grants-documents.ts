/** What the inbox reads and does. */
import { command } from '../../api/command.ts'
import { graphql } from '../../api/document.ts'
import { principal } from '../../api/principal.ts'
import { question } from '../../parts/question/documents.ts'

export const pendingQuery = graphql(
  `
    query Pending($projectId: ID, $filter: ApprovalFilter, $after: String) {
      approvals(projectId: $projectId, filter: $filter, orderBy: EXPIRES_AT, first: 100, after: $after) {
        nodes {
          ...Question
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  `,
  [question],
)

export const grantsQuery = graphql(
  `
    query Grants($projectId: ID, $after: String) {
      grants(projectId: $projectId, active: true, first: 50, after: $after) {
        nodes {
          id
          toolName
          scope
          refuses
          uses
          maxUses
          expiresAt
          createdAt
          granter {
            ...PrincipalParts
          }
          agentId
          threadId
          requester {
            ...PrincipalParts
          }
          approval {
            id
          }
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

export const revokeMutation = command('revokeGrant')
