/** What the inbox reads and does. */
import { command } from '../../api/command.ts'
import { graphql } from '../../api/document.ts'
import { principal } from '../../api/principal.ts'

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
