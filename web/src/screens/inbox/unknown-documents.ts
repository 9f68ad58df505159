/** What the list of unknown calls reads. */
import { graphql, type ResultOf } from '../../api/document.ts'
import { voteParts } from '../../parts/votes.tsx'

export const unknownQuery = graphql(
  `
    query UnknownCalls($projectId: ID, $filter: ToolCallFilter, $after: String) {
      toolCalls(projectId: $projectId, filter: $filter, first: 50, after: $after) {
        nodes {
          id
          name
          arguments
          createdAt
          startedAt
          errorCode
          summary {
            parts {
              text
              isValue
            }
          }
          generation {
            id
          }
          approval {
            id
            status
            summary {
              parts {
                text
                isValue
              }
            }
            votes {
              ...VoteParts
            }
          }
          attempts {
            attempt
            startedAt
            outcome
            errorCode
            idempotencyKey
          }
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  `,
  [voteParts],
)

export type UnknownRow = ResultOf<typeof unknownQuery>['toolCalls']['nodes'][number]
